/** A part in a stream that runs for somebody else: what it says goes to this caller, too. */
import type { ServerResponse } from 'node:http';
import { GatewayError } from '../errors.ts';
import type { StreamOutcome } from '../stream/stream-terms.ts';
import type { Landed } from './recalled-answer.ts';

/** Bytes that may wait for a caller who reads slowly: they are the stream's own, kept once for all who take part. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

type End = { readonly landed: Landed } | { readonly error: GatewayError };

export class SharedStream {
  readonly #leave: () => void;
  #waiting: (Buffer | string)[] = [];
  #response: ServerResponse | undefined;
  #errorEvent: ((error: GatewayError) => string) | undefined;
  #onSettled: ((outcome: StreamOutcome, landed: Landed | undefined) => void) | undefined;
  #end: End | undefined;

  /** `leave`: this caller takes part no longer. */
  constructor(leave: () => void) {
    this.#leave = leave;
  }

  /** undefined: a part is gone that this caller has not had. */
  push(chunks: readonly (Buffer | string)[] | undefined): void {
    if (this.#end !== undefined) return;
    if (chunks === undefined)
      return this.#breakOff(new GatewayError('upstream_cut', 'The stream went on without you.'));
    this.#waiting.push(...chunks);
    this.#flush();
  }

  /** Nothing follows. */
  end(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#flush();
  }

  /** Hands the stream to the caller. `onSettled` is called once. */
  pipe(
    response: ServerResponse,
    errorEvent: (error: GatewayError) => string,
    onSettled: (outcome: StreamOutcome, landed: Landed | undefined) => void,
  ): void {
    this.#response = response;
    this.#errorEvent = errorEvent;
    this.#onSettled = onSettled;
    this.#flush();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#leave();
    this.#settle({ error: undefined, clientGone: true }, undefined);
  }

  /** Ends this part of the stream with an error event. */
  cut(error: GatewayError): void {
    if (this.#end === undefined) this.#breakOff(error);
  }

  #breakOff(error: GatewayError): void {
    this.#leave();
    this.end({ error });
  }

  #flush(): void {
    const response = this.#response;
    if (response === undefined || response.destroyed) return;
    for (const chunk of this.#waiting) response.write(chunk);
    this.#waiting = [];
    if (this.#end === undefined) {
      if (response.writableLength > MAX_WAITING_BYTES) response.destroy();
    } else if ('landed' in this.#end) {
      response.end();
      this.#settle({ error: undefined, clientGone: false }, this.#end.landed);
    } else this.#endWith(response, this.#end.error);
  }

  /** The one error event, no end marker, and the connection is closed. */
  #endWith(response: ServerResponse, error: GatewayError): void {
    const { socket } = response;
    response.end(this.#errorEvent?.(error) ?? '', () => socket?.destroySoon());
    this.#settle({ error, clientGone: false }, undefined);
  }

  #settle(outcome: StreamOutcome, landed: Landed | undefined): void {
    const onSettled = this.#onSettled;
    this.#onSettled = undefined;
    onSettled?.(outcome, landed);
  }
}

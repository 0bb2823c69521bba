/**
 * A stream on its way to the caller. It is committed, that is offered as the answer of its attempt, once the first whole
 * event is there (live) or once all of it is there (whole); until then any fault is an ordinary failure of the attempt.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { asGatewayError, GatewayError } from '../errors.ts';
import type { Attempt } from '../exchange.ts';
import type { Usage } from '../providers/provider.ts';
import type { CallEvents, UpstreamCall } from '../upstream/call.ts';
import { Deadline, type Deadlines } from '../upstream/deadlines.ts';
import { withoutCredential } from '../upstream/without-credential.ts';
import { ChunkWriter } from './chunk-writer.ts';
import type { StreamListener, StreamOutcome, StreamTerms } from './stream-terms.ts';
import type { StreamTransform } from './transform.ts';

/** Bytes held for a caller that is not attached yet or reads slowly. */
const MAX_HELD_BYTES = 64 * 1024;
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
/** How long an upstream has to end its body after its end marker, so that its connection can be used again. */
const TAIL_MS = 1_000;

export class StreamAnswer implements CallEvents {
  private readonly call: UpstreamCall;
  private readonly transform: StreamTransform;
  private readonly terms: StreamTerms;
  private readonly attempt: Attempt;
  private readonly deadlines: Deadlines;
  private readonly idle: Deadline;
  private readonly onCommit: (failure: GatewayError | undefined) => void;
  private held: (Buffer | string)[] = [];
  private heldBytes = 0;
  private committed = false;
  private ended = false;
  /** The upstream has finished; whether the caller hears of it is being asked. */
  private closing = false;
  private abandoned = false;
  private failure: GatewayError | undefined;
  private response: ServerResponse | undefined;
  private writer: ChunkWriter | undefined;
  private errorEvent: ((error: GatewayError) => string) | undefined;
  private onSettled: ((outcome: StreamOutcome) => void) | undefined;
  private blocked = false;
  private listener: StreamListener | undefined;
  /** It runs on though its caller left. */
  private unheard = false;

  constructor(
    call: UpstreamCall,
    transform: StreamTransform,
    terms: StreamTerms,
    attempt: Attempt,
    deadlines: Deadlines,
    onCommit: (failure: GatewayError | undefined) => void,
  ) {
    this.call = call;
    this.transform = transform;
    this.terms = terms;
    this.attempt = attempt;
    this.deadlines = deadlines;
    this.onCommit = onCommit;
    this.idle = new Deadline(Number.POSITIVE_INFINITY, this.onIdle);
  }

  get usage(): Usage | undefined {
    return this.transform.usage;
  }

  /** Events so far that held a part of the answer. */
  get contentEvents(): number {
    return this.transform.contentEvents;
  }

  get model(): string | undefined {
    return this.transform.model;
  }

  onHead(_status: number, _headers: IncomingHttpHeaders): void {}

  onBytes(chunk: Buffer): void {
    if (this.isOver) return;
    if (this.idle.at === Number.POSITIVE_INFINITY) this.deadlines.add(this.idle);
    this.idle.at = performance.now() + this.terms.idleTimeoutMs;
    let out: Buffer | string | undefined;
    try {
      out = this.transform.push(chunk);
    } catch (error) {
      this.call.abort();
      return this.failWith(error);
    }
    if (out !== undefined) this.deliver(out);
    if (this.transform.finished) this.endByMarker();
  }

  onEnd(): void {
    if (this.isOver) this.deadlines.delete(this.idle);
    else this.end();
  }

  onFailure(error: GatewayError): void {
    if (this.isOver) this.deadlines.delete(this.idle);
    else this.fail(error);
  }

  /** Nothing that the upstream does matters any more. */
  private get isOver(): boolean {
    return this.ended || this.closing;
  }

  /** Hands the stream to the caller. `onSettled` is called once, when the last byte was handed over or the caller left. */
  pipe(
    response: ServerResponse,
    errorEvent: (error: GatewayError) => string,
    onSettled: (outcome: StreamOutcome) => void,
    listener?: StreamListener,
  ): void {
    this.listener = listener;
    this.response = response;
    this.errorEvent = errorEvent;
    this.onSettled = onSettled;
    if (this.failure !== undefined) return this.breakOff(this.failure);
    if (this.ended) return this.finish(response);
    this.writer = new ChunkWriter(response, this.pause, this.onDrain);
    this.flush(this.writer);
  }

  /** The caller is gone, but others take part in it. `onSettled`: where it was not handed to the caller before. */
  runOn(listener: StreamListener, onSettled?: (outcome: StreamOutcome) => void): void {
    if (this.unheard) return;
    this.unheard = true;
    this.listener = listener;
    this.onSettled ??= onSettled;
    this.writer?.release();
    this.writer = undefined;
    this.response = undefined;
    this.blocked = false;
    if (this.failure !== undefined || this.ended) return this.endUnheard();
    this.tellHeld(listener);
    if (this.closing) return;
    this.idle.at = performance.now() + this.terms.idleTimeoutMs;
    this.deadlines.delete(this.idle);
    this.deadlines.add(this.idle);
    this.call.resume();
  }

  /** All of a stream that finished before it was handed over; undefined for any other. */
  takeWhole(): Buffer | string | undefined {
    return this.ended && this.failure === undefined ? (this.taken() ?? '') : undefined;
  }

  /** The caller is gone, or nobody wants this stream any more. */
  abandon(): void {
    this.abandoned = true;
    this.close();
    this.call.abort();
    this.settle({ error: undefined, clientGone: true });
  }

  /** Ends a running stream with an error event. */
  cut(error: GatewayError): void {
    if (this.ended || this.failure !== undefined) return;
    this.call.abort();
    this.fail(error);
  }

  private end(): void {
    const waiting = this.transform.closing?.();
    if (waiting === undefined) return this.endNow();
    this.closing = true;
    this.deadlines.delete(this.idle);
    void waiting.then(() => {
      if (!this.abandoned && this.failure === undefined) this.endNow();
    });
  }

  private endNow(): void {
    try {
      const out = this.transform.end();
      this.close();
      if (out !== undefined) this.hold(out);
    } catch (error) {
      return this.failWith(error);
    }
    this.ended = true;
    if (!this.committed) this.commit();
    else if (this.response !== undefined) this.finish(this.response);
    else if (this.unheard) this.endUnheard();
  }

  /** The caller has all of it, whatever becomes of the rest of the upstream's body. */
  private endByMarker(): void {
    this.end();
    if (!this.ended) return this.call.abort();
    this.idle.at = performance.now() + TAIL_MS;
    this.deadlines.add(this.idle);
    this.call.resume();
  }

  private deliver(out: Buffer | string): void {
    if (this.unheard) this.listener?.push(out);
    else if (this.writer !== undefined && this.heldBytes === 0) this.say(this.writer, out);
    else this.hold(out);
    if (!this.committed && this.terms.delivery === 'live' && this.transform.begun) this.commit();
  }

  private hold(out: Buffer | string): void {
    this.held.push(out);
    this.heldBytes += out.length;
    if (this.terms.delivery === 'whole' && !this.committed) {
      if (this.heldBytes > MAX_WHOLE_BYTES) this.overflow();
    } else if (this.heldBytes > MAX_HELD_BYTES) this.pause();
  }

  private overflow(): void {
    this.call.abort();
    this.fail(
      new GatewayError('upstream_invalid', `The stream is longer than the ${MAX_WHOLE_BYTES} bytes that can be held.`, {
        provider: this.terms.provider,
      }),
    );
  }

  private commit(): void {
    this.committed = true;
    this.onCommit(undefined);
  }

  private flush(writer: ChunkWriter): void {
    const out = this.taken();
    if (out !== undefined) this.say(writer, out);
    if (!this.blocked) this.call.resume();
  }

  private say(writer: ChunkWriter, out: Buffer | string): void {
    this.listener?.push(out);
    writer.write(out);
  }

  private tellHeld(listener: StreamListener | undefined): void {
    const out = this.taken();
    if (out !== undefined) listener?.push(out);
  }

  private endUnheard(): void {
    this.tellHeld(this.listener);
    if (this.failure === undefined) this.listener?.end();
    this.settle({ error: this.failure, clientGone: true });
  }

  private taken(): Buffer | string | undefined {
    const held = this.held;
    if (held.length === 0) return undefined;
    this.held = [];
    this.heldBytes = 0;
    if (held.length === 1) return held[0];
    return Buffer.concat(held.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  }

  private readonly pause = (): void => {
    this.blocked = true;
    this.call.pause();
    if (this.response !== undefined) this.idle.at = performance.now() + this.terms.writeIdleMs;
  };

  private readonly onDrain = (): void => {
    if (!this.blocked || this.writer === undefined) return;
    this.blocked = false;
    this.idle.at = performance.now() + this.terms.idleTimeoutMs;
    this.flush(this.writer);
  };

  private readonly onIdle = (): void => {
    if (!this.ended && this.blocked && this.response !== undefined) return this.dropCaller(this.response);
    this.call.abort();
    if (this.ended) return;
    const message = `${this.terms.provider} sent nothing for ${this.terms.idleTimeoutMs} ms.`;
    this.fail(new GatewayError('upstream_stalled', message, { provider: this.terms.provider }));
  };

  /** It takes nothing any more. */
  private dropCaller(response: ServerResponse): void {
    response.destroy();
    if (this.listener?.goesOn() === true) return this.runOn(this.listener);
    this.call.abort();
    this.settle({ error: undefined, clientGone: true });
  }

  /** What was whole before the fault is not lost with it, once the caller has seen a beginning. */
  private failWith(thrown: unknown): void {
    const out = this.committed ? this.transform.taken() : undefined;
    if (out !== undefined) this.hold(out);
    this.fail(this.told(thrown));
  }

  private told(thrown: unknown): GatewayError {
    const error = asGatewayError(thrown);
    const message = withoutCredential(error.message, this.terms.secrets);
    return message === error.message ? error : new GatewayError(error.code, message, error.details);
  }

  private fail(error: GatewayError): void {
    this.close();
    this.failure = error;
    this.attempt.errorCode = error.code;
    if (!this.committed) {
      this.committed = true;
      this.onCommit(error);
    } else if (this.response !== undefined) this.breakOff(error);
    else if (this.unheard) this.endUnheard();
  }

  /** What came whole goes out, then the one error event, and the connection is closed: no end marker. */
  private breakOff(error: GatewayError): void {
    const response = this.response;
    if (response === undefined) return;
    const out = this.taken();
    if (out !== undefined) {
      this.listener?.push(out);
      response.write(out);
    }
    const event = this.errorEvent?.(error) ?? '';
    // Asked for now: a response that has ended has no socket any more.
    const { socket } = response;
    response.end(event, () => socket?.destroySoon());
    this.settle({ error, clientGone: false });
  }

  private finish(response: ServerResponse): void {
    const out = this.taken();
    if (out === undefined) response.end();
    else {
      this.listener?.push(out);
      response.end(out);
    }
    this.listener?.end();
    this.settle({ error: undefined, clientGone: false });
  }

  private close(): void {
    this.writer?.release();
    this.writer = undefined;
    this.deadlines.delete(this.idle);
    this.attempt.endedAt ??= performance.now();
  }

  private settle(outcome: StreamOutcome): void {
    const onSettled = this.onSettled;
    this.onSettled = undefined;
    onSettled?.(outcome);
  }
}

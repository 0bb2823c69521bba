/** One request and its answer, as the client sees them: it may be given up, and its connection may break. */
import type { ApiRequest, ApiResponse } from '#crds/api/transport.ts';
import { ByteStream, textStream } from './byte-stream.ts';
import { reset } from './request-faults.ts';
import type { Answer } from './requests.ts';

export class Exchange {
  readonly who: string;
  readonly request: ApiRequest;
  readonly #broken = Promise.withResolvers<never>();
  readonly #onOver: (exchange: Exchange) => void;
  readonly #giveUp = () => this.cut(reasonOf(this.request));
  #stream: ByteStream | undefined;
  #isOver = false;

  /** `onOver`: answered whole, given up, or broken. */
  constructor(who: string, request: ApiRequest, onOver: (exchange: Exchange) => void) {
    this.who = who;
    this.request = request;
    this.#onOver = onOver;
    this.#broken.promise.catch(() => {});
    if (request.signal?.aborted) this.#giveUp();
    else request.signal?.addEventListener('abort', this.#giveUp, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What is waited for, unless the connection breaks before. */
  unlessBroken<T>(waitedFor: Promise<T>): Promise<T> {
    return Promise.race([this.#broken.promise, waitedFor]);
  }

  /** Breaks the connection, whatever it is at. */
  cut(error: Error): void {
    if (this.#isOver) return;
    this.#broken.reject(error);
    this.#stream?.fail(error);
    this.end();
  }

  /** `cutAfterBytes`: the connection breaks there. */
  respond({ status, headers, body }: Answer, cutAfterBytes: number | undefined): ApiResponse {
    const stream = body instanceof ByteStream ? body : textStream(`${JSON.stringify(body)}\n`);
    if (cutAfterBytes !== undefined) stream.cutAfter(cutAfterBytes, reset());
    this.#stream = stream;
    stream.onOver(() => this.end());
    return { status, headers, body: stream };
  }

  /** Nothing is left that could break. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.request.signal?.removeEventListener('abort', this.#giveUp);
    this.#onOver(this);
  }
}

function reasonOf({ signal }: ApiRequest): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('aborted');
}

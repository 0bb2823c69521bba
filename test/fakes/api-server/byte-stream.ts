/** The bytes of an answer, as they are made. */

interface Waiting {
  readonly resolve: (result: IteratorResult<Uint8Array>) => void;
  readonly reject: (error: Error) => void;
}

export class ByteStream implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  readonly #listeners: (() => void)[] = [];
  #waiting: Waiting | undefined;
  #isOver = false;
  #error: Error | undefined;
  #budget = Number.POSITIVE_INFINITY;
  #overdrawn: Error | undefined;

  /** Nothing is added any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Called once, whoever ends it. */
  onOver(listener: () => void): void {
    if (this.#isOver) listener();
    else this.#listeners.push(listener);
  }

  push(chunk: Uint8Array): void {
    if (this.#isOver) return;
    const part = chunk.subarray(0, Math.min(chunk.length, this.#budget));
    this.#budget -= part.length;
    if (part.length > 0) this.#give(part);
    if (part.length < chunk.length && this.#overdrawn !== undefined) this.#break(this.#overdrawn);
  }

  /** Breaks after so many bytes of what is not read yet. */
  cutAfter(bytes: number, error: Error): void {
    const queued = this.#chunks.splice(0);
    const wasOver = this.#isOver;
    this.#isOver = false;
    this.#budget = bytes;
    this.#overdrawn = error;
    for (const chunk of queued) this.push(chunk);
    this.#isOver ||= wasOver;
  }

  /** What was pushed is still read. */
  end(): void {
    this.#finish();
    this.#waiting?.resolve({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  /** What was pushed and not read is lost. */
  fail(error: Error): void {
    this.#chunks.length = 0;
    this.#break(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.#chunks.length = 0;
        this.end();
        return { done: true, value: undefined };
      },
    };
  }

  #give(chunk: Uint8Array): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#chunks.push(chunk);
    else waiting.resolve({ done: false, value: chunk });
  }

  #break(error: Error): void {
    this.#error = error;
    this.#finish();
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

/** A whole answer. */
export function textStream(text: string): ByteStream {
  const stream = new ByteStream();
  stream.push(Buffer.from(text));
  stream.end();
  return stream;
}

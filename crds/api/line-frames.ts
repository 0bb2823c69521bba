/** Bytes as they come -> whole lines, wherever the bytes were cut. */
import { ApiError } from './api-error.ts';

/** Above what any API server stores as one object. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

export class LineFrames {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** Whether a line has begun that did not end. */
  get isInside(): boolean {
    return this.#bytes > 0;
  }

  /** The lines that end in `chunk`, blank ones excepted. Throws ApiError `TooLarge`, or `BrokenLine` for bytes that are no UTF-8. */
  *push(chunk: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#take();
      if (line.trim() !== '') yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > MAX_LINE_BYTES) {
      throw new ApiError(`a watch event is larger than ${MAX_LINE_BYTES} bytes`, { status: 0, reason: 'TooLarge' });
    }
    this.#parts.push(part);
  }

  #take(): string {
    const bytes = Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    try {
      return this.#decoder.decode(bytes);
    } catch (cause) {
      throw new ApiError('a watch event is no UTF-8', { status: 0, reason: 'BrokenLine' }, { cause });
    }
  }
}

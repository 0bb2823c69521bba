import { GatewayError } from '../errors.ts';
import type { ServerSentEvent } from '../providers/provider.ts';

const LF = 0x0a;
const CR = 0x0d;
const BLANK_LINE = Buffer.from('\n\n');
const NOTHING = Buffer.alloc(0);

export interface SseParserOptions {
  /** Largest event, in bytes between two blank lines, with line ends counted as one byte. */
  readonly maxEventBytes: number;
}

/**
 * Cuts a byte stream into server-sent events, wherever the chunks are split. Bytes are decoded an event at a time, so a
 * character is never torn. Throws GatewayError `upstream_invalid` for an event larger than `maxEventBytes`.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  /** Bytes of the event that has no end yet; joined only once the end is seen, so that a large event is copied once. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #endsWithLf = false;
  #endsWithCr = false;
  #atStart = true;

  constructor(options: SseParserOptions) {
    this.#maxEventBytes = options.maxEventBytes;
  }

  /** Reads one chunk and reports every event that it completes, in order. The chunk may be kept until the event ends. */
  push(chunk: Buffer, onEvent: (event: ServerSentEvent) => void): void {
    const bytes = this.#withLineFeeds(chunk);
    if (bytes.length === 0) return;
    if (this.#pendingBytes > 0 && !this.#completes(bytes)) {
      this.#keep(bytes);
      return;
    }
    this.#drain(this.#joined(bytes), onEvent);
  }

  /** The body ended: an event without its final blank line counts if it had data. */
  end(onEvent: (event: ServerSentEvent) => void): void {
    const bytes = this.#joined(NOTHING);
    if (bytes.length > 0) this.#report(bytes, 0, bytes.length, onEvent);
  }

  /** One kind of line end from here on. A CR at the end of a chunk counts at once; an LF that follows it is dropped. */
  #withLineFeeds(chunk: Buffer): Buffer {
    const bytes = this.#endsWithCr && chunk[0] === LF ? chunk.subarray(1) : chunk;
    if (chunk.length > 0) this.#endsWithCr = chunk[chunk.length - 1] === CR;
    if (!bytes.includes(CR)) return bytes;
    const copy = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? LF;
      if (byte === LF && bytes[at - 1] === CR) continue;
      copy[length++] = byte === CR ? LF : byte;
    }
    return copy.subarray(0, length);
  }

  #completes(bytes: Buffer): boolean {
    return (this.#endsWithLf && bytes[0] === LF) || bytes.includes(BLANK_LINE);
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#endsWithLf = bytes[bytes.length - 1] === LF;
    // The last line's own end may be among the pending bytes; it does not belong to the event.
    if (this.#pendingBytes > this.#maxEventBytes + 1) this.#refuse();
  }

  #joined(bytes: Buffer): Buffer {
    if (this.#pendingBytes === 0) return bytes;
    const whole = Buffer.concat([...this.#pending, bytes]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return whole;
  }

  #drain(bytes: Buffer, onEvent: (event: ServerSentEvent) => void): void {
    let from = 0;
    for (;;) {
      const end = bytes.indexOf(BLANK_LINE, from);
      if (end < 0) break;
      this.#report(bytes, from, end, onEvent);
      from = end + BLANK_LINE.length;
    }
    this.#keep(from === 0 ? bytes : bytes.subarray(from));
  }

  #report(bytes: Buffer, from: number, end: number, onEvent: (event: ServerSentEvent) => void): void {
    if (end - from > this.#maxEventBytes) this.#refuse();
    let text = bytes.toString('utf8', from, end);
    if (this.#atStart) {
      this.#atStart = false;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    const event = parseEvent(text);
    if (event !== undefined) onEvent(event);
  }

  #refuse(): never {
    throw new GatewayError('upstream_invalid', `The provider sent an event of more than ${this.#maxEventBytes} bytes.`);
  }
}

/** undefined for a block without data: comments, a lone `event:` line. */
function parseEvent(text: string): ServerSentEvent | undefined {
  if (text.startsWith('data: ') && !text.includes('\n')) return { event: undefined, data: text.slice(6) };
  let event: string | undefined;
  let data: string | undefined;
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    if (name === 'data') data = data === undefined ? fieldValue(line, colon) : `${data}\n${fieldValue(line, colon)}`;
    else if (name === 'event') event = fieldValue(line, colon);
  }
  return data === undefined ? undefined : { event, data };
}

function fieldValue(line: string, colon: number): string {
  if (colon < 0) return '';
  return line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
}

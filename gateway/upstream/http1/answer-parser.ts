/**
 * Reads one HTTP/1.1 answer (RFC 9112) from the bytes of a connection, however they are cut. Strict where leniency would
 * let two readers disagree on where an answer ends: anything doubtful is a fault, never a guess.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { readAnswerHead } from './answer-head.ts';
import { HttpFault } from './http-fault.ts';

export interface AnswerParts {
  /** Once, after any 1xx. */
  onHead(status: number, headers: IncomingHttpHeaders): void;
  onBytes(chunk: Buffer): void;
  /** `reusable`: the connection may carry another exchange. */
  onEnd(reusable: boolean): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
/** A chunk's size with its extensions, or a line of the trailers. */
const MAX_LINE_BYTES = 4 * 1024;
const MAX_TRAILER_LINES = 64;
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const CRLF = Buffer.from('\r\n');
const MAX_SIZE_DIGITS = 8;
const CHUNK_SIZE = /^[0-9a-f]{1,8}[ \t]*(?:;[^\r\n]*)?$/i;

type State = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'over';

export class AnswerParser {
  private readonly parts: AnswerParts;
  private state: State = 'head';
  private rest: Buffer | undefined;
  /** Bytes of the body, or of the chunk, that are still to come. */
  private left = 0;
  private trailerLines = 0;
  private keepAlive = true;

  constructor(parts: AnswerParts) {
    this.parts = parts;
  }

  /** Whether the answer has ended, or reading was given up. */
  get isOver(): boolean {
    return this.state === 'over';
  }

  /** Nothing more is reported. */
  stop(): void {
    this.state = 'over';
  }

  /** Throws HttpFault. The bytes are kept as they are: they must not change afterwards. */
  feed(chunk: Buffer): void {
    const bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    this.rest = undefined;
    let at = 0;
    while (at < bytes.length && this.state !== 'over') {
      const next = this[STEPS[this.state]](bytes, at);
      if (next === WAIT) {
        this.rest = at === 0 ? bytes : bytes.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** The connection has ended. Throws HttpFault where the answer has not. */
  finish(): void {
    if (this.state === 'over') return;
    if (this.state !== 'until-close') throw new HttpFault('cut', 'The connection ended before the answer did.');
    this.end(false);
  }

  readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(END_OF_HEAD, at);
    if (end === -1 ? bytes.length - at > MAX_HEAD_BYTES : end - at > MAX_HEAD_BYTES)
      throw new HttpFault('invalid', `The head of the answer has more than ${MAX_HEAD_BYTES} bytes.`);
    if (end === -1) return WAIT;
    const head = readAnswerHead(at === 0 ? bytes : bytes.subarray(at), end - at);
    const next = end + END_OF_HEAD.length;
    if (head.status < 200) return next;
    this.keepAlive = head.keepAlive;
    this.left = head.length ?? 0;
    this.state = head.chunked ? 'chunk-size' : head.length === undefined ? 'until-close' : 'length';
    this.parts.onHead(head.status, head.headers);
    if (head.length === 0) this.end(next === bytes.length);
    return next;
  }

  readLength(bytes: Buffer, at: number): number {
    const next = this.pass(bytes, at);
    if (this.left === 0) this.end(next === bytes.length);
    return next;
  }

  readUntilClose(bytes: Buffer, at: number): number {
    this.parts.onBytes(at === 0 ? bytes : bytes.subarray(at));
    return bytes.length;
  }

  readChunkSize(bytes: Buffer, at: number): number {
    const digits = hexDigits(bytes, at);
    // As nearly every size stands: a few digits and no more.
    const isBare = digits > 0 && bytes[at + digits] === CRLF[0] && bytes[at + digits + 1] === CRLF[1];
    const end = isBare ? at + digits : endOfLine(bytes, at);
    if (end === WAIT) return WAIT;
    if (!isBare && !CHUNK_SIZE.test(bytes.toString('latin1', at, end)))
      throw new HttpFault('invalid', 'The size of a chunk is not a hexadecimal number.');
    this.left = 0;
    for (let digit = at; digit < at + digits; digit += 1) this.left = this.left * 16 + hexValue(bytes[digit]);
    this.state = this.left === 0 ? 'trailers' : 'chunk';
    return end + CRLF.length;
  }

  readChunk(bytes: Buffer, at: number): number {
    const next = this.pass(bytes, at);
    if (this.left === 0 && this.state === 'chunk') this.state = 'chunk-end';
    return next;
  }

  readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes.length - at < CRLF.length) return WAIT;
    if (bytes[at] !== CRLF[0] || bytes[at + 1] !== CRLF[1])
      throw new HttpFault('invalid', 'A chunk is longer than its size.');
    this.state = 'chunk-size';
    return at + CRLF.length;
  }

  /** Trailers are read over. */
  readTrailers(bytes: Buffer, at: number): number {
    const end = endOfLine(bytes, at);
    if (end === WAIT) return WAIT;
    const next = end + CRLF.length;
    this.trailerLines += 1;
    if (this.trailerLines > MAX_TRAILER_LINES) throw new HttpFault('invalid', 'The answer has too many trailers.');
    if (end === at) this.end(next === bytes.length);
    return next;
  }

  private pass(bytes: Buffer, at: number): number {
    const next = Math.min(bytes.length, at + this.left);
    this.left -= next - at;
    this.parts.onBytes(at === 0 && next === bytes.length ? bytes : bytes.subarray(at, next));
    return next;
  }

  /** Whoever sends more than was asked for is not asked again on this connection. */
  private end(nothingFollows: boolean): void {
    if (this.state === 'over') return;
    this.state = 'over';
    this.parts.onEnd(this.keepAlive && nothingFollows);
  }
}

/** A step's answer when the bytes do not suffice yet. */
const WAIT = -1;

const STEPS = {
  head: 'readHead',
  length: 'readLength',
  'until-close': 'readUntilClose',
  'chunk-size': 'readChunkSize',
  chunk: 'readChunk',
  'chunk-end': 'readChunkEnd',
  trailers: 'readTrailers',
} as const satisfies Record<Exclude<State, 'over'>, string>;

/** How many digits a size at `at` begins with, as far as they can count. */
function hexDigits(bytes: Buffer, at: number): number {
  let digits = 0;
  while (digits < MAX_SIZE_DIGITS && hexValue(bytes[at + digits]) !== -1) digits += 1;
  return digits;
}

/** -1: no digit. */
function hexValue(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function endOfLine(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(CRLF, at);
  if ((end === -1 ? bytes.length : end) - at > MAX_LINE_BYTES)
    throw new HttpFault('invalid', `A line of the answer has more than ${MAX_LINE_BYTES} bytes.`);
  return end;
}

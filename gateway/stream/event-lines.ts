/** Splits a byte stream into server-sent events without decoding them. Events that need no change keep their bytes. */
import { GatewayError } from '../errors.ts';

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const DATA = Buffer.from('data:');
const EVENT = Buffer.from('event:');
const END = Buffer.from('\n\n');
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** One event, as it lies in the upstream's bytes. */
export interface RawEvent {
  /** The whole event with its blank line. */
  readonly bytes: Buffer;
  /** Value of `data`, joined by line feeds where there are several; undefined for a comment alone. */
  readonly data: Buffer | undefined;
  readonly event: string | undefined;
  /** LF line ends, one `data: ` line, an `event: ` line at most before it: can go on as it is. */
  readonly canonical: boolean;
}

/** Cuts chunks into events. What is not complete yet is kept, at most `maxEventBytes` of it. */
export class EventLines {
  /** Copies of what came of the event that is not complete yet: joined once, when its end may be there. */
  private rest: Buffer[] = [];
  private restBytes = 0;
  private atStart = true;
  private readonly maxEventBytes: number;

  constructor(maxEventBytes: number) {
    this.maxEventBytes = maxEventBytes;
  }

  /** Calls `onEvent` for each event that is complete with this chunk. */
  push(chunk: Buffer, onEvent: (event: RawEvent) => void): void {
    const bytes = this.open(chunk);
    if (bytes === undefined) return;
    let start = 0;
    for (let end = endOfEvent(bytes, start); end !== -1; end = endOfEvent(bytes, start)) {
      readEvent(bytes.subarray(start, end), onEvent);
      start = end;
    }
    this.keep(bytes, start);
  }

  /**
   * What was kept with what came, without a byte order mark: for those who read the events themselves. undefined, and
   * the chunk is kept, while it cannot complete an event.
   */
  open(chunk: Buffer): Buffer | undefined {
    if (this.restBytes === 0) return this.atStart ? this.withoutMark(chunk) : chunk;
    if (chunk.indexOf(LF) === -1) {
      this.keep(chunk, 0);
      return undefined;
    }
    const bytes = this.joined(chunk);
    return this.atStart ? this.withoutMark(bytes) : bytes;
  }

  /** Keeps a copy of the bytes from `start` on: an event that is not complete may be so for long. */
  keep(bytes: Buffer, start: number): void {
    if (start >= bytes.length) return;
    this.restBytes += bytes.length - start;
    if (this.restBytes > this.maxEventBytes) throw tooLarge(this.maxEventBytes);
    this.rest.push(Buffer.from(bytes.subarray(start)));
  }

  private joined(last: Buffer): Buffer {
    const bytes = Buffer.concat([...this.rest, last]);
    this.rest = [];
    this.restBytes = 0;
    return bytes;
  }

  /** The upstream's body is over: a last event without its blank line counts. */
  end(onEvent: (event: RawEvent) => void): void {
    if (this.restBytes > 0) readEvent(this.joined(END), onEvent);
  }

  private withoutMark(bytes: Buffer): Buffer {
    if (bytes.length < BOM.length && BOM.subarray(0, bytes.length).equals(bytes)) return bytes;
    this.atStart = false;
    return bytes.subarray(0, BOM.length).equals(BOM) ? bytes.subarray(BOM.length) : bytes;
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('upstream_invalid', `The provider sent a stream event of more than ${maxBytes} bytes.`);
}

/** Index after the blank line that ends the event which begins at `start`; -1 while it is not there. */
export function endOfEvent(bytes: Buffer, start: number): number {
  let line = start;
  for (;;) {
    const feed = bytes.indexOf(LF, line);
    if (feed === -1) return -1;
    const length = feed - line - (feed > line && bytes[feed - 1] === CR ? 1 : 0);
    if (length === 0) return feed + 1;
    line = feed + 1;
  }
}

/** `bytes` of one whole event. Comments are events without data. */
export function readEvent(bytes: Buffer, onEvent: (event: RawEvent) => void): void {
  const quick = quickEvent(bytes);
  const event = quick ?? carefulEvent(bytes);
  if (event !== undefined) onEvent(event);
}

/** `data: ...\n\n`, which nearly every event is. */
function quickEvent(bytes: Buffer): RawEvent | undefined {
  if (bytes[0] !== 100 || bytes[4] !== COLON || bytes[5] !== 32) return undefined;
  const feed = bytes.length - 2;
  if (feed < 6 || bytes[feed] !== LF || bytes[feed - 1] === CR || bytes.indexOf(LF, 6) !== feed) return undefined;
  if (bytes[1] !== 97 || bytes[2] !== 116 || bytes[3] !== 97) return undefined;
  return { bytes, data: bytes.subarray(6, feed), event: undefined, canonical: true };
}

/** What the lines of an event say, gathered one by one. */
interface Gathered {
  readonly data: Buffer[];
  event: string | undefined;
  canonical: boolean;
  comments: number;
}

function carefulEvent(bytes: Buffer): RawEvent | undefined {
  const said: Gathered = { data: [], event: undefined, canonical: true, comments: 0 };
  for (const line of linesOf(bytes)) {
    if (line.cr) said.canonical = false;
    if (line.text.length > 0) gather(said, line.text);
  }
  const { data, event, comments } = said;
  if (data.length === 0) return comments > 0 ? { bytes, data: undefined, event, canonical: true } : undefined;
  const canonical = said.canonical && data.length === 1 && comments === 0;
  return { bytes, data: data.length === 1 ? data[0] : joined(data), event, canonical };
}

function gather(said: Gathered, line: Buffer): void {
  if (line[0] === COLON) said.comments += 1;
  else if (startsWith(line, DATA)) {
    said.data.push(fieldValue(line, DATA.length));
    if (line[DATA.length] !== SPACE) said.canonical = false;
  } else if (startsWith(line, EVENT)) {
    if (said.data.length > 0 || line[EVENT.length] !== SPACE) said.canonical = false;
    said.event = fieldValue(line, EVENT.length).toString('utf8');
  } else said.canonical = false;
}

function startsWith(line: Buffer, name: Buffer): boolean {
  return line.length >= name.length && line.compare(name, 0, name.length, 0, name.length) === 0;
}

function* linesOf(bytes: Buffer): Generator<{ text: Buffer; cr: boolean }> {
  let start = 0;
  while (start < bytes.length) {
    const feed = bytes.indexOf(LF, start);
    const end = feed === -1 ? bytes.length : feed;
    const cr = end > start && bytes[end - 1] === CR;
    yield { text: bytes.subarray(start, cr ? end - 1 : end), cr };
    start = end + 1;
  }
}

function fieldValue(line: Buffer, from: number): Buffer {
  return line.subarray(line[from] === SPACE ? from + 1 : from);
}

function joined(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [Buffer.from('\n'), line])));
}

/** The same event in canonical form. */
export function canonicalBytes(event: RawEvent): Buffer {
  if (event.canonical || event.data === undefined) return event.bytes;
  const lines = event.data.toString('utf8').split('\n');
  const head = event.event === undefined ? '' : `event: ${event.event}\n`;
  return Buffer.from(`${head}${lines.map((line) => `data: ${line}\n`).join('')}\n`);
}

/** The head of an HTTP/1.1 answer: status line and fields (RFC 9112, sections 4 to 6). */
import type { IncomingHttpHeaders } from 'node:http';
import { HttpFault } from './http-fault.ts';

export interface AnswerHead {
  readonly status: number;
  /** Lower-case names; several fields of one name are joined, but for `set-cookie`. */
  readonly headers: IncomingHttpHeaders;
  /** Bytes of the body; undefined where something else tells its end. */
  readonly length: number | undefined;
  readonly chunked: boolean;
  readonly keepAlive: boolean;
}

const MAX_LINES = 256;
const LINE_END_BYTES = 2;
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const DELETE = 127;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const CLOSE = /(?:^|[\s,])close(?:$|[\s,])/i;
const LENGTH = /^[0-9]{1,15}$/;
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** The head at the beginning of `bytes`, `length` long without the empty line that ends it. Throws HttpFault. */
export function readAnswerHead(bytes: Buffer, length: number): AnswerHead {
  const text = bytes.toString('latin1', 0, length);
  const end = endOfLine(bytes, 0, length);
  const line = STATUS_LINE.exec(text.slice(0, end));
  if (line === null) throw new HttpFault('invalid', 'The answer does not begin with a status line of HTTP/1.1.');
  const status = Number(line[2]);
  if (status === 101) throw new HttpFault('invalid', 'The answer switches protocols, which nobody asked for.');
  const headers = readFields(bytes, text, end + LINE_END_BYTES);
  const { connection } = headers;
  const body = status < 200 ? NO_BODY : framing(status, headers);
  const keepAlive = line[1] === '1' && (connection === undefined || !CLOSE.test(connection));
  return { status, headers, length: body.length, chunked: body.chunked, keepAlive };
}

const NO_BODY = { length: 0, chunked: false };
const CHUNKED = { length: undefined, chunked: true };

function framing(status: number, headers: IncomingHttpHeaders): Pick<AnswerHead, 'length' | 'chunked'> {
  if (BODILESS.has(status)) return NO_BODY;
  const length = headers['content-length'];
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked' || length !== undefined)
      throw new HttpFault('invalid', 'The answer does not say clearly where it ends.');
    return CHUNKED;
  }
  if (length === undefined) return { length, chunked: false };
  if (!LENGTH.test(length)) throw new HttpFault('invalid', 'The content-length of the answer is not a number.');
  return { length: Number(length), chunked: false };
}

/** `text` is the head, a letter for each of its bytes. */
function readFields(bytes: Buffer, text: string, from: number): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null);
  let lines = 1;
  for (let at = from; at < text.length; lines += 1) {
    if (lines === MAX_LINES) throw new HttpFault('invalid', `The head of the answer has more than ${MAX_LINES} lines.`);
    const end = endOfLine(bytes, at, text.length);
    const colon = text.indexOf(':', at);
    if (colon <= at || colon > end) throw malformed();
    put(headers, nameOf(text, at, colon), text.slice(colon + 1, end).trim());
    at = end + LINE_END_BYTES;
  }
  return headers as IncomingHttpHeaders;
}

/**
 * Index of the line end after `from`, or of the head's own. Throws where there is a control that no head may hold, or a line
 * end that is not one. Looks at bytes: letters of a string are four times as dear.
 */
function endOfLine(bytes: Buffer, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === CR && bytes[at + 1] === LF) return at;
    if ((byte < SPACE && byte !== TAB) || byte === DELETE) throw malformed();
  }
  return to;
}

/**
 * Names as they were written, each followed by itself in lower case, in lists by their length: upstreams use the same few over
 * and over. Not a Map, which enters each string that it is asked for into the table of all strings first.
 */
const MAX_KNOWN_CHARS = 48;
const MAX_KNOWN_ALIKE = 16;
const known: readonly string[][] = Array.from({ length: MAX_KNOWN_CHARS + 1 }, () => []);

/** The name in lower case that is written from `from` to `to`. */
function nameOf(text: string, from: number, to: number): string {
  const alike = known[to - from];
  if (alike !== undefined)
    for (let at = 0; at < alike.length; at += 2) if (text.startsWith(alike[at] ?? '', from)) return alike[at + 1] ?? '';
  return learnt(text.slice(from, to));
}

function learnt(written: string): string {
  if (!NAME.test(written)) throw malformed();
  const name = written.toLowerCase();
  const alike = known[written.length];
  if (alike !== undefined && alike.length < 2 * MAX_KNOWN_ALIKE) alike.push(written, name);
  return name;
}

function malformed(): HttpFault {
  return new HttpFault('invalid', 'The head of the answer is not well formed.');
}

function put(headers: Record<string, string | string[]>, name: string, value: string): void {
  const before = headers[name];
  if (name === 'set-cookie') headers[name] = before === undefined ? [value] : [...before, value];
  else headers[name] = before === undefined ? value : `${before as string}, ${value}`;
}

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

const MAX_FIELDS = 256;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** What no head may hold: other controls, or a line end that is not one. */
const BROKEN = /[^\t\x20-\x7e\x80-\xff\r\n]|\r(?!\n)|(?<!\r)\n/;
const LENGTH = /^[0-9]{1,15}$/;
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** `head` without the empty line that ends it. Throws HttpFault. */
export function readAnswerHead(head: string): AnswerHead {
  if (BROKEN.test(head)) throw malformed();
  const lines = head.split('\r\n');
  const line = STATUS_LINE.exec(lines[0] ?? '');
  if (line === null) throw new HttpFault('invalid', 'The answer does not begin with a status line of HTTP/1.1.');
  const status = Number(line[2]);
  if (status === 101) throw new HttpFault('invalid', 'The answer switches protocols, which nobody asked for.');
  const headers = readFields(lines);
  const { connection } = headers;
  return {
    status,
    headers,
    ...(status < 200 ? NO_BODY : framing(status, headers)),
    keepAlive: line[1] === '1' && (connection === undefined || !/(?:^|[\s,])close(?:$|[\s,])/i.test(connection)),
  };
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

function readFields(lines: readonly string[]): IncomingHttpHeaders {
  if (lines.length > MAX_FIELDS)
    throw new HttpFault('invalid', `The answer has more than ${MAX_FIELDS} header fields.`);
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let index = 1; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const colon = line.indexOf(':');
    if (colon < 1) throw malformed();
    put(headers, nameOf(line.slice(0, colon)), line.slice(colon + 1).trim());
  }
  return headers as IncomingHttpHeaders;
}

/** Names as they were written -> lower case: upstreams use the same few over and over. */
const names = new Map<string, string>();
const MAX_NAMES = 512;

function nameOf(written: string): string {
  const known = names.get(written);
  if (known !== undefined) return known;
  if (!NAME.test(written)) throw malformed();
  const name = written.toLowerCase();
  if (names.size < MAX_NAMES) names.set(written, name);
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

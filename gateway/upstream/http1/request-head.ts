/** The head of a request to an upstream. */
import { GatewayError } from '../../errors.ts';

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;
const UNSENDABLE_PATH = /[^\x21-\x7e]/;

/**
 * `headers` is a flat list of names and values. Throws GatewayError `invalid_value` for what no head can carry: nothing
 * that a caller or a manifest says may end a line.
 */
export function requestHead(
  host: string,
  method: string,
  path: string,
  headers: readonly string[],
  bodyBytes: number,
): string {
  if (UNSENDABLE_PATH.test(path)) throw unsendable('path');
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${bodyBytes}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    if (UNSENDABLE.test(value) || !NAME.test(name)) throw unsendable(name);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

function unsendable(what: string): GatewayError {
  return new GatewayError('invalid_value', `${what.slice(0, 64)} has a character that HTTP cannot carry there.`, {
    param: what.slice(0, 64),
  });
}

/** Header names are lower-case, as undici and node:http give them. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

const NUMBER = /^\d+(\.\d+)?$/;
/** The three forms of an HTTP date (RFC 9110, 5.6.7). `Date.parse` alone would take nearly anything. */
const DATES: readonly RegExp[] = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
];
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

type Read = (value: string, unixNowMs: number) => number | undefined;

const HEADERS: readonly (readonly [name: string, read: Read])[] = [
  ['retry-after-ms', milliseconds],
  ['x-ms-retry-after-ms', milliseconds],
  ['retry-after', (value, unixNowMs) => seconds(value) ?? untilDate(value, unixNowMs)],
];

/**
 * How long an upstream wishes us to wait, in whole milliseconds; a date in the past is 0. The first header that can be
 * read decides. undefined: it has no wish that can be read.
 */
export function retryAfterMs(headers: ReplyHeaders | undefined, unixNowMs: number): number | undefined {
  if (headers === undefined) return undefined;
  for (const [name, read] of HEADERS) {
    const value = headers[name];
    const first = typeof value === 'string' ? value : value?.[0];
    const waitMs = first === undefined ? undefined : read(first.trim(), unixNowMs);
    if (waitMs !== undefined) return waitMs;
  }
  return undefined;
}

function milliseconds(value: string): number | undefined {
  return NUMBER.test(value) ? Math.ceil(Number(value)) : undefined;
}

function seconds(value: string): number | undefined {
  // Rounded to the microsecond first: 1.1 * 1000 is a little over 1100.
  return NUMBER.test(value) ? Math.ceil(Math.round(Number(value) * 1e6) / 1000) : undefined;
}

function untilDate(value: string, unixNowMs: number): number | undefined {
  const atMs = httpDate(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil(atMs - unixNowMs));
}

function httpDate(value: string): number {
  if (ASCTIME.test(value)) return Date.parse(`${value} GMT`);
  return DATES.some((form) => form.test(value)) ? Date.parse(value) : Number.NaN;
}

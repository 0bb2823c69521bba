/** Pieces of a log line, written by hand: `JSON.stringify` of an object per request costs several times as much. */

/** A level that a line can have. */
export type LineLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Characters that a JSON string may hold as they are, and a terminal too. */
const PLAIN = /^[ !#-[\]-~]*$/;
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

/** Most characters kept of a string that a caller chose. */
const MAX_FIELD_CHARS = 256;

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A JSON string literal of at most `maxChars` characters of `value`; also safe to print on a terminal. */
export function quote(value: string, maxChars = MAX_FIELD_CHARS): string {
  const cut = value.length > maxChars ? value.slice(0, maxChars) : value;
  return PLAIN.test(cut) ? `"${cut}"` : JSON.stringify(cut).replace(UNSAFE, escapeUnit);
}

let secondOfPrefix = -1;
let prefix = '';

/** ISO 8601 in UTC with milliseconds, e.g. `2026-01-31T12:00:00.000Z`. */
export function isoTime(epochMs: number): string {
  const second = Math.floor(epochMs / 1000);
  if (second !== secondOfPrefix) {
    secondOfPrefix = second;
    prefix = new Date(second * 1000).toISOString().slice(0, -4);
  }
  const ms = epochMs - second * 1000;
  return `${prefix}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`;
}

/** Milliseconds with at most two decimals. */
export function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}

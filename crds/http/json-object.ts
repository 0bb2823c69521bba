/** Bytes -> JSON object, with everything refused that would hurt later: depth, key count, prototype keys. */
type Json = Record<string, unknown>;

export type JsonProblem = 'invalid_json' | 'too_deep' | 'too_large';
/** Makes the error that is thrown. */
export type JsonFailure = (code: JsonProblem, message: string) => Error;

export const MAX_DEPTH = 64;
export const MAX_KEYS = 50_000;
/** Below this size the bounds are checked on the parsed value: it cannot be expensive yet. */
const SCAN_FROM_BYTES = 64 * 1024;

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const OPENERS: ReadonlySet<number> = new Set([123, 91]);
const CLOSERS: ReadonlySet<number> = new Set([125, 93]);

/** Throws what `fail` makes of the first thing that is wrong. */
export function parseJsonObject(bytes: Buffer, fail: JsonFailure): Json {
  if (bytes.length > SCAN_FROM_BYTES) scan(bytes, fail);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw fail(
      'invalid_json',
      bytes.length === 0 ? 'The body is empty: send one JSON object.' : 'The body is not valid JSON.',
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fail('invalid_json', 'The body must be a JSON object.');
  if (countKeys(value, 1, fail) > MAX_KEYS) throw tooLarge(fail);
  return value as Json;
}

/** Structure of a large body before it is parsed: strings are skipped by memchr. */
function scan(bytes: Buffer, fail: JsonFailure): void {
  let depth = 0;
  let keys = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === undefined) return;
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (byte === COLON) keys += 1;
    else if (OPENERS.has(byte)) depth += 1;
    else if (CLOSERS.has(byte)) depth -= 1;
    if (depth > MAX_DEPTH) throw tooDeep(fail);
    if (keys > MAX_KEYS) throw tooLarge(fail);
  }
}

function endOfString(bytes: Buffer, open: number): number {
  let index = open;
  for (;;) {
    index = bytes.indexOf(QUOTE, index + 1);
    if (index === -1) return bytes.length;
    let backslashes = 0;
    while (bytes[index - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return index;
  }
}

/** Number of keys at and below `node`, which lies at `depth`. The bound on depth bounds the stack too. */
function countKeys(node: object, depth: number, fail: JsonFailure): number {
  if (depth > MAX_DEPTH) throw tooDeep(fail);
  if (Array.isArray(node)) return countInItems(node, depth, fail);
  let keys = 0;
  for (const key in node) {
    keys += 1;
    const value = (node as Json)[key];
    if (key === '__proto__' || (key === 'constructor' && isPoison(value))) throw poisoned(fail);
    if (typeof value === 'object' && value !== null) keys += countKeys(value, depth + 1, fail);
  }
  return keys;
}

function countInItems(items: readonly unknown[], depth: number, fail: JsonFailure): number {
  let keys = 0;
  for (const item of items) if (typeof item === 'object' && item !== null) keys += countKeys(item, depth + 1, fail);
  return keys;
}

function isPoison(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function poisoned(fail: JsonFailure): Error {
  return fail('invalid_json', 'The body may not hold the keys __proto__ or constructor.prototype.');
}

function tooDeep(fail: JsonFailure): Error {
  return fail('too_deep', `The body is nested more than ${MAX_DEPTH} levels deep.`);
}

function tooLarge(fail: JsonFailure): Error {
  return fail('too_large', `The body has more than ${MAX_KEYS} object keys.`);
}

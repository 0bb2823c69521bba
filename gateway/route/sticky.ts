import type { Facts } from '../plan/plan.ts';
import { own } from './field.ts';
import { HASH_RANGE, hash53 } from './hash.ts';
import type { Weighted } from './weights.ts';

/** What rendezvous hashing chooses among; `path` tells the choices apart, the same on every replica. */
export interface Place extends Weighted {
  readonly path: string;
}

/**
 * Weighted rendezvous hashing: the same key stays on the same choice without any store; a choice that is gone moves only
 * the keys that it had. With `ttlMs` a key is drawn anew after each such span, at a moment of its own, so that not all
 * callers move at once. undefined: nothing has a weight.
 */
export function pickSticky<T extends Place>(
  choices: readonly T[],
  key: string,
  ttlMs: number | undefined,
  unixNowMs: number,
): T | undefined {
  const seed = hash53(key, ttlMs === undefined ? 0 : spanOf(key, ttlMs, unixNowMs));
  let picked: T | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (const choice of choices) {
    if (choice.weight <= 0) continue;
    // The earliest of independent exponential clocks of these rates: each wins in proportion to its weight.
    const delay = -Math.log((hash53(choice.path, seed) + 1) / HASH_RANGE) / choice.weight;
    if (picked !== undefined && delay >= shortest) continue;
    shortest = delay;
    picked = choice;
  }
  return picked;
}

/** Which of its spans a key is in; each key's spans begin at a moment of its own. */
function spanOf(key: string, ttlMs: number, unixNowMs: number): number {
  return Math.floor((unixNowMs + (hash53(key, 0) % ttlMs)) / ttlMs);
}

const SOURCES: ReadonlyMap<string, (key: string) => (facts: Facts) => unknown> = new Map([
  [
    'metadata',
    (key) =>
      ({ metadata }) =>
        own(metadata, key),
  ],
  [
    'headers',
    (key) =>
      ({ headers }) =>
        own(headers, key),
  ],
  [
    'params',
    (key) =>
      ({ params }) =>
        key.split('.').reduce<unknown>(own, params),
  ],
]);

/**
 * The text that keeps a caller on one target: the values of `strategy.sticky.hash_fields` (`metadata.x`, `params.x`,
 * `headers.x`). What it returns is undefined when a request has none of them. Throws RangeError for another field.
 */
export function compileStickyKey(hashFields: readonly string[]): (facts: Facts) => string | undefined {
  const readers = hashFields.map(compileHashField);
  return (facts) => {
    let key = '';
    let found = false;
    for (const read of readers) {
      const text = textOf(read(facts));
      found ||= text !== undefined;
      // Lengths keep ["ab", "c"] and ["a", "bc"] apart, and "-" a missing value from an empty one.
      key += text === undefined ? '-' : `${text.length}:${text}`;
    }
    return found ? key : undefined;
  };
}

function compileHashField(field: string): (facts: Facts) => unknown {
  const dot = field.indexOf('.');
  const source = SOURCES.get(field.slice(0, Math.max(dot, 0)));
  const key = field.slice(dot + 1);
  if (source === undefined || key === '')
    throw new RangeError(`hash_fields: "${field}" is unknown: use metadata.<key>, params.<key> or headers.<name>`);
  return source(field.startsWith('headers.') ? key.toLowerCase() : key);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // A repeated header; objects have no order of keys to rely on.
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? JSON.stringify(value) : undefined;
}

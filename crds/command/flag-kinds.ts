/** The kinds of flags: how many values one takes, and what a value must be. */
import { KEY_PREFIX_FORM } from '../keys/key-form.ts';
import { MAX_SHARDS } from '../snapshot/index-document.ts';

export type FlagOutcome<T> = { readonly value: T } | { readonly problem: string };

export interface Flag<T> {
  /** What the value is called in the help; undefined: the flag takes none. */
  readonly argument: string | undefined;
  readonly help: string;
  /** As one would write it; undefined: no default to show. */
  readonly shownDefault?: string;
  /** Whether an environment variable stands in for it. */
  readonly hasVariable: boolean;
  /** Another one that does, where that is not given. */
  readonly otherVariable?: string;
  /** Takes every occurrence in order; the environment variable's parts are split at commas. */
  readonly parse: (texts: readonly string[]) => FlagOutcome<T>;
}

const BYTE_UNITS: Readonly<Record<string, number>> = { Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };
const MAX_DAYS = 3_650;
/** A day. */
const MAX_MS = 86_400_000;

export type RotationPeriod = (typeof PERIODS)[number];
type LogLevel = (typeof LOG_LEVELS)[number];

export const PERIODS = ['weekly', 'monthly'] as const;
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const TRUTH: Readonly<Record<string, boolean>> = { '': true, true: true, '1': true, false: false, '0': false };

export function one<T>(
  argument: string,
  help: string,
  shownDefault: string,
  parse: (text: string) => FlagOutcome<T>,
): Flag<T> {
  return { argument, help, shownDefault, hasVariable: true, parse: (texts) => parse(texts.at(-1) ?? shownDefault) };
}

/** Without any occurrence it is undefined; `shownDefault` says what then holds. */
export function optional<T>(
  argument: string,
  help: string,
  shownDefault: string,
  parse: (text: string) => FlagOutcome<T>,
): Flag<T | undefined> {
  const parseLast = (texts: readonly string[]): FlagOutcome<T | undefined> => {
    const last = texts.at(-1);
    return last === undefined ? { value: undefined } : parse(last);
  };
  return { argument, help, hasVariable: true, shownDefault, parse: parseLast };
}

/** Without any occurrence the list is empty: what that means is its user's to know, and `shownDefault` to say. */
export function list<T>(
  argument: string,
  help: string,
  shownDefault: string | undefined,
  parse: (text: string) => FlagOutcome<T>,
): Flag<readonly T[]> {
  const parseAll = (texts: readonly string[]): FlagOutcome<readonly T[]> => {
    const values: T[] = [];
    for (const given of texts) {
      const outcome = parse(given);
      if ('problem' in outcome) return outcome;
      values.push(outcome.value);
    }
    return { value: values };
  };
  return {
    argument,
    help,
    hasVariable: true,
    ...(shownDefault === undefined ? {} : { shownDefault }),
    parse: parseAll,
  };
}

export function toggle(help: string, hasVariable = true): Flag<boolean> {
  const parse = (texts: readonly string[]): FlagOutcome<boolean> => {
    const given = texts.at(-1);
    const value = given === undefined ? false : TRUTH[given.toLowerCase()];
    return value === undefined ? { problem: `must be true or false, not "${given}"` } : { value };
  };
  return { argument: undefined, help, hasVariable, parse };
}

export function text(given: string): FlagOutcome<string> {
  return given === '' ? { problem: 'must not be empty' } : { value: given };
}

export function port(given: string): FlagOutcome<number> {
  const value = Number(given);
  return /^\d{1,5}$/.test(given) && value <= 65535
    ? { value }
    : { problem: `must be a port from 0 to 65535, not "${given}"` };
}

/** What keys begin with. */
export function keyPrefix(given: string): FlagOutcome<string> {
  return KEY_PREFIX_FORM.test(given)
    ? { value: given }
    : { problem: `must be 1 to 16 letters, digits, "_" and "-", not "${given}"` };
}

/** Of a rotation. */
export function period(given: string): FlagOutcome<RotationPeriod> {
  const known = PERIODS.find((word) => word === given);
  return known === undefined ? { problem: `must be ${PERIODS.join(' or ')}, not "${given}"` } : { value: known };
}

export function days(given: string): FlagOutcome<number> {
  const value = Number(given);
  return /^\d{1,4}$/.test(given) && value >= 1 && value <= MAX_DAYS
    ? { value }
    : { problem: `must be whole days from 1 to ${MAX_DAYS}, not "${given}"` };
}

/** How many shards of a kind there may be: the snapshot doubles their number as it grows. */
export function shards(given: string): FlagOutcome<number> {
  const value = Number(given);
  const isPowerOfTwo = /^\d{1,3}$/.test(given) && value > 0 && Number.isInteger(Math.log2(value));
  if (isPowerOfTwo && value <= MAX_SHARDS) return { value };
  return { problem: `must be 1, 2, 4 or another power of two up to ${MAX_SHARDS}, not "${given}"` };
}

/** Processes that do the same side by side. */
export function replicas(given: string): FlagOutcome<number> {
  const value = Number(given);
  return /^\d{1,4}$/.test(given) && value > 0
    ? { value }
    : { problem: `must be a number from 1 to 9999, not "${given}"` };
}

/** Of a release, whose objects' names begin with it. */
export function release(given: string): FlagOutcome<string> {
  if (/^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$/.test(given)) return { value: given };
  return { problem: `must be at most 53 lower-case letters, digits and "-", not "${given}"` };
}

/** Whole bytes, or Ki, Mi or Gi of them. */
export function byteCount(given: string): FlagOutcome<number> {
  const [, digits, unit = ''] = /^(\d{1,15})(Ki|Mi|Gi)?$/.exec(given) ?? [];
  const value = Number(digits) * (BYTE_UNITS[unit] ?? 1);
  return Number.isSafeInteger(value)
    ? { value }
    : { problem: `must be whole bytes such as 67108864, 512Ki, 64Mi or 1Gi, not "${given}"` };
}

export function milliseconds(given: string): FlagOutcome<number> {
  const value = Number(given);
  return /^\d{1,10}$/.test(given) && value <= MAX_MS
    ? { value }
    : { problem: `must be whole milliseconds, at most ${MAX_MS}, not "${given}"` };
}

export function namespace(given: string): FlagOutcome<string> {
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(given)) return { value: given };
  return { problem: `must be a Kubernetes namespace (lower-case letters, digits and "-"), not "${given}"` };
}

export function logLevel(given: string): FlagOutcome<LogLevel> {
  const level = LOG_LEVELS.find((known) => known === given);
  return level === undefined
    ? { problem: `must be one of ${LOG_LEVELS.join(', ')}, not "${given}"` }
    : { value: level };
}

/** It may hold a token, and is not told again. */
export function httpUrl(given: string): FlagOutcome<string> {
  const isRight = URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);
  return isRight ? { value: given } : { problem: 'must be a URL such as https://alerts.example/hook' };
}

export function origin(given: string): FlagOutcome<string> {
  const problem = `must be an origin such as https://llm.example:8443, not "${given}"`;
  if (!URL.canParse(given)) return { problem };
  const url = new URL(given);
  const isOrigin =
    /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash + url.username === '';
  return isOrigin ? { value: url.origin } : { problem };
}

/** The kinds of flags: how many values one takes, and what a value must be. */
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
  /** Takes every occurrence in order; the environment variable's parts are split at commas. */
  readonly parse: (texts: readonly string[]) => FlagOutcome<T>;
}

/** A day. */
const MAX_MS = 86_400_000;

type LogLevel = (typeof LOG_LEVELS)[number];

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

/** How many shards of a kind there may be: the snapshot doubles their number as it grows. */
export function shards(given: string): FlagOutcome<number> {
  const value = Number(given);
  const isPowerOfTwo = /^\d{1,3}$/.test(given) && value > 0 && Number.isInteger(Math.log2(value));
  if (isPowerOfTwo && value <= MAX_SHARDS) return { value };
  return { problem: `must be 1, 2, 4 or another power of two up to ${MAX_SHARDS}, not "${given}"` };
}

/** Of a release, whose objects' names begin with it. */
export function release(given: string): FlagOutcome<string> {
  if (/^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$/.test(given)) return { value: given };
  return { problem: `must be at most 53 lower-case letters, digits and "-", not "${given}"` };
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

export function origin(given: string): FlagOutcome<string> {
  const problem = `must be an origin such as https://llm.example:8443, not "${given}"`;
  if (!URL.canParse(given)) return { problem };
  const url = new URL(given);
  const isOrigin =
    /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash + url.username === '';
  return isOrigin ? { value: url.origin } : { problem };
}

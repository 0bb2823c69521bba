/** The kinds of flags: how many values one takes, and what a value must be. */

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

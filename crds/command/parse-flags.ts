/** How a table of flags is read from the command line and the environment. */
import { nearest } from '../config/spelling.ts';
import type { Flag } from './flag-kinds.ts';

export type FlagTable = Readonly<Record<string, Flag<unknown>>>;
/** Values by flag name. */
export type FlagValues<T extends FlagTable> = { readonly [K in keyof T]: T[K] extends Flag<infer V> ? V : never };

export interface FlagInput {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether arguments without a dash are taken. */
  readonly takesPaths: boolean;
}

export type ParsedFlags<T extends FlagTable> =
  | { readonly values: FlagValues<T>; readonly paths: readonly string[] }
  | { readonly problem: string };

/** A flag beats its environment variable, which beats the default. The first thing wrong is named, with what would be right. */
export function parseFlags<T extends FlagTable>(table: T, input: FlagInput): ParsedFlags<T> {
  const given = collect(table, input);
  if ('problem' in given) return given;
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(table)) {
    const variable = variableOf(name, flag, input.environment);
    const fromEnvironment = flag.hasVariable ? input.environment[variable] || undefined : undefined;
    const fromFlags = given.texts.get(name);
    const texts = fromFlags ?? fromEnvironment?.split(',').map((part) => part.trim());
    const outcome = flag.parse(texts ?? []);
    if ('problem' in outcome) return { problem: `${fromFlags ? `--${name}` : variable}: ${outcome.problem}` };
    values[name] = outcome.value;
  }
  return { values: values as FlagValues<T>, paths: given.paths };
}

function variableOf(name: string, { otherVariable }: Flag<unknown>, environment: FlagInput['environment']): string {
  const own = environmentName(name);
  return otherVariable !== undefined && !environment[own] && environment[otherVariable] ? otherVariable : own;
}

/** `MODEL_GATEWAY_ADMIN_PORT` for `admin-port`. */
export function environmentName(flag: string): string {
  return `MODEL_GATEWAY_${flag.toUpperCase().replaceAll('-', '_')}`;
}

export function helpOf(table: FlagTable): string {
  const rows = Object.entries(table).map(([name, flag]) => {
    const usage = flag.argument === undefined ? `--${name}` : `--${name} ${flag.argument}`;
    return { usage, help: flag.shownDefault === undefined ? flag.help : `${flag.help} (${flag.shownDefault})` };
  });
  const width = Math.max(...rows.map((row) => row.usage.length));
  const lines = rows.map((row) => `  ${row.usage.padEnd(width)}  ${row.help}`);
  return `${lines.join('\n')}\n\nEach flag has an environment variable: --admin-port is ${environmentName('admin-port')}.`;
}

interface Given {
  readonly texts: Map<string, string[]>;
  readonly paths: string[];
}

function collect(table: FlagTable, { argv, takesPaths }: FlagInput): Given | { readonly problem: string } {
  const given: Given = { texts: new Map(), paths: [] };
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    if (!argument.startsWith('-')) {
      if (!takesPaths) return { problem: `unexpected argument "${argument}"; see --help` };
      given.paths.push(argument);
      continue;
    }
    const read = readFlag(table, argument, argv[index + 1]);
    if ('problem' in read) return read;
    if (read.tookNext) index += 1;
    given.texts.set(read.name, [...(given.texts.get(read.name) ?? []), read.value]);
  }
  return given;
}

function readFlag(
  table: FlagTable,
  argument: string,
  next: string | undefined,
): { name: string; value: string; tookNext: boolean } | { problem: string } {
  const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
  const flag = Object.hasOwn(table, name) ? table[name] : undefined;
  if (flag === undefined)
    return { problem: `unknown flag ${argument.split('=')[0]}${suggestion(table, name)}; see --help` };
  if (inline !== undefined) return { name, value: inline, tookNext: false };
  if (flag.argument === undefined) return { name, value: '', tookNext: false };
  if (next === undefined || next.startsWith('--'))
    return { problem: `--${name}: needs a value, as --${name} ${flag.argument}` };
  return { name, value: next, tookNext: true };
}

function suggestion(table: FlagTable, name: string): string {
  const meant = nearest(name, Object.keys(table));
  return meant === undefined ? '' : ` (did you mean --${meant}?)`;
}

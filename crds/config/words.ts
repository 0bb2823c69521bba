/**
 * zod, speaking plainly: every module of the language takes `z` from here, so that a refused manifest says what would be
 * right instead of what a validator thought. Values are never repeated but for numbers, booleans and words of a fixed list.
 */
import { z } from 'zod';
import { nearest } from './spelling.ts';

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];
type Words = (issue: Record<string, unknown>) => string | undefined;

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number' && !Number.isInteger(value)) return `the number ${value}`;
  return NOUNS[typeof value] ?? typeof value;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value.length <= 64 ? JSON.stringify(value) : 'a long string';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : typeName(value);
}

function wrongType({ expected, input, inst }: Record<string, unknown>): string {
  const wanted = inst instanceof z.ZodNumberFormat ? 'int' : String(expected);
  const noun = NOUNS[wanted] ?? wanted;
  return input === undefined ? `is required: ${noun}` : `must be ${noun}, got ${typeName(input)}`;
}

/** What a limit counts, by the kind of value. */
const UNITS: Readonly<Record<string, string>> = {
  string: ' characters',
  array: ' items',
  map: ' keys',
  object: ' keys',
};

function sizeOf(input: unknown): string {
  if (typeof input === 'string' || Array.isArray(input)) return String(input.length);
  return shown(input);
}

function outOfBounds(word: 'at least' | 'at most', limit: unknown, issue: Record<string, unknown>): string {
  const unit = UNITS[String(issue.origin)];
  if (unit === undefined) return `must be ${word} ${limit}, got ${shown(issue.input)}`;
  if (unit === ' characters' && limit === 1 && word === 'at least') return 'must not be empty';
  return `must have ${word} ${limit}${limit === 1 ? unit.slice(0, -1) : unit}, got ${sizeOf(issue.input)}`;
}

function unlisted({ values, input }: Record<string, unknown>): string {
  const allowed = Array.isArray(values) ? values : [];
  const list = allowed.map((value) => JSON.stringify(value)).join(', ');
  if (input === undefined) return `is required: one of ${list}`;
  const meant = typeof input === 'string' && allowed.length > 1 ? nearest(input, allowed.map(String)) : undefined;
  const hint = meant === undefined ? '' : `: did you mean "${meant}"?`;
  return `must be ${allowed.length === 1 ? list : `one of ${list}`}, got ${shown(input)}${hint}`;
}

/** Key names that the object's schema knows, whichever wrapper carries them. */
function knownKeys(schema: unknown): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** `unknown key "retires": did you mean "retry"?` */
export function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return `unknown key ${JSON.stringify(key.slice(0, 64))}${meant === undefined ? '' : `: did you mean "${meant}"?`}`;
}

function unknownKeys({ keys, inst }: Record<string, unknown>): string {
  const known = knownKeys(inst);
  return (Array.isArray(keys) ? keys : []).map((key) => unknownKey(String(key), known)).join('; ');
}

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a date and time such as "2027-01-01T00:00:00Z"',
};

const WORDS: Readonly<Record<string, Words>> = {
  invalid_type: wrongType,
  invalid_value: unlisted,
  unrecognized_keys: unknownKeys,
  too_big: (issue) => outOfBounds('at most', issue.maximum, issue),
  too_small: (issue) => outOfBounds('at least', issue.minimum, issue),
  invalid_format: ({ format, pattern }) => FORMATS[String(format)] ?? `must match ${pattern}`,
};

z.config({ customError: (issue: RawIssue) => WORDS[issue.code ?? '']?.(issue as Record<string, unknown>) });

export { z };

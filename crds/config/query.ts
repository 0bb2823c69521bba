/** The query language of conditional routing (`strategy.conditions[].query`), parsed once into a tree without loose ends. */
import type { RE2JS } from 're2js';
import { compilePattern } from './re2.ts';

/** A value that `$eq` and its like compare: JSON without objects and arrays. */
export type Scalar = string | number | boolean | null;

/** What a query looks at. `metadata` values are always strings; the keys of `params` reach into objects. */
export type Field =
  | { readonly source: 'metadata'; readonly key: string }
  | { readonly source: 'params'; readonly keys: readonly string[] }
  | { readonly source: 'pathname' };

export type Comparison =
  | { readonly operator: '$eq' | '$ne'; readonly operand: Scalar }
  | { readonly operator: '$gt' | '$gte' | '$lt' | '$lte'; readonly operand: number }
  | { readonly operator: '$in' | '$nin'; readonly operand: readonly Scalar[] }
  | { readonly operator: '$regex'; readonly operand: RE2JS };

export type Query =
  | { readonly kind: 'all' | 'any'; readonly queries: readonly Query[] }
  | { readonly kind: 'compare'; readonly field: Field; readonly comparison: Comparison };

/** Nesting of `$and` and `$or`. */
export const MAX_QUERY_DEPTH = 16;

const OPERATORS = '$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $regex';
const KEYS = 'metadata.<key>, params.<key>, url.pathname, $and or $or';

/** Why a query is refused. `path` leads to the fault from the query itself, e.g. `['$or', 1, 'metadata.tier', '$gt']`. */
export class QueryError extends Error {
  readonly path: readonly (string | number)[];

  constructor(message: string, path: readonly (string | number)[]) {
    super(message);
    this.name = 'QueryError';
    this.path = path;
  }
}

type Path = readonly (string | number)[];

/** Reads a query as it stands in a manifest. Throws QueryError. */
export function parseQuery(value: unknown): Query {
  return parseObject(value, [], 1);
}

function parseObject(value: unknown, path: Path, depth: number): Query {
  if (depth > MAX_QUERY_DEPTH) throw new QueryError(`nest $and and $or at most ${MAX_QUERY_DEPTH} levels deep`, path);
  const entries = entriesOf(value, path, `a query must be an object with keys like ${KEYS}`);
  return all(entries.flatMap(([key, inner]) => parseEntry(key, inner, [...path, key], depth)));
}

function parseEntry(key: string, value: unknown, path: Path, depth: number): readonly Query[] {
  if (key === '$and' || key === '$or') return [parseLogic(key, value, path, depth)];
  const field = parseField(key, path);
  return parseComparisons(value, path).map(({ comparison, at }) => ({
    kind: 'compare' as const,
    field,
    comparison: field.source === 'params' ? comparison : comparingText(comparison, key, at),
  }));
}

function parseLogic(key: '$and' | '$or', value: unknown, path: Path, depth: number): Query {
  if (!Array.isArray(value) || value.length === 0)
    throw new QueryError(`${key} must be an array of at least one query`, path);
  const queries = value.map((item, index) => parseObject(item, [...path, index], depth + 1));
  return key === '$and' ? all(queries) : { kind: 'any', queries };
}

function parseField(key: string, path: Path): Field {
  if (key === 'url.pathname') return { source: 'pathname' };
  const dot = key.indexOf('.');
  const [source, rest] = [key.slice(0, dot), key.slice(dot + 1)];
  if (dot > 0 && rest !== '') {
    if (source === 'metadata') return { source, key: rest };
    if (source === 'params') return { source, keys: segments(rest, key, path) };
  }
  const kind = key.startsWith('$') ? 'unknown operator' : 'unknown key';
  throw new QueryError(`${kind} "${key}": use ${KEYS}`, path);
}

function segments(rest: string, key: string, path: Path): readonly string[] {
  const keys = rest.split('.');
  if (keys.includes(''))
    throw new QueryError(`"${key}" has an empty step: write params.<key> or params.<key>.<key>`, path);
  return keys;
}

interface Placed {
  readonly comparison: Comparison;
  readonly at: Path;
}

function parseComparisons(value: unknown, path: Path): readonly Placed[] {
  if (isScalar(value)) return [{ comparison: { operator: '$eq', operand: value }, at: path }];
  const entries = entriesOf(
    value,
    path,
    `must be a string, number, boolean, null or an object of operators (${OPERATORS})`,
  );
  return entries.map(([operator, operand]) => {
    const at = [...path, operator];
    const parse = COMPARISONS.get(operator);
    if (parse === undefined) throw new QueryError(`unknown operator "${operator}": use ${OPERATORS}`, at);
    return { comparison: parse(operand, at), at };
  });
}

type ParseComparison = (operand: unknown, path: Path) => Comparison;

const COMPARISONS: ReadonlyMap<string, ParseComparison> = new Map<string, ParseComparison>([
  ['$eq', (operand, path) => ({ operator: '$eq', operand: scalar(operand, path) })],
  ['$ne', (operand, path) => ({ operator: '$ne', operand: scalar(operand, path) })],
  ['$gt', (operand, path) => ({ operator: '$gt', operand: number(operand, path) })],
  ['$gte', (operand, path) => ({ operator: '$gte', operand: number(operand, path) })],
  ['$lt', (operand, path) => ({ operator: '$lt', operand: number(operand, path) })],
  ['$lte', (operand, path) => ({ operator: '$lte', operand: number(operand, path) })],
  ['$in', (operand, path) => ({ operator: '$in', operand: scalars(operand, path) })],
  ['$nin', (operand, path) => ({ operator: '$nin', operand: scalars(operand, path) })],
  ['$regex', (operand, path) => ({ operator: '$regex', operand: pattern(operand, path) })],
]);

function scalar(value: unknown, path: Path): Scalar {
  if (!isScalar(value)) throw new QueryError(`${last(path)} must be a string, number, boolean or null`, path);
  return value;
}

function scalars(value: unknown, path: Path): readonly Scalar[] {
  if (!Array.isArray(value) || !value.every(isScalar))
    throw new QueryError(`${last(path)} must be an array of strings, numbers, booleans or null`, path);
  return value;
}

function number(value: unknown, path: Path): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new QueryError(`${last(path)} must be a number, without quotes`, path);
  return value;
}

function pattern(value: unknown, path: Path): RE2JS {
  if (typeof value !== 'string') throw new QueryError('$regex must be a string in RE2 syntax', path);
  const compiled = compilePattern(value);
  if (typeof compiled === 'string') throw new QueryError(`$regex ${compiled}`, path);
  return compiled;
}

/** Metadata and paths are strings however the operand is written: `metadata.paid: true` means the value "true". */
function comparingText(comparison: Comparison, key: string, path: Path): Comparison {
  switch (comparison.operator) {
    case '$eq':
    case '$ne':
      return { operator: comparison.operator, operand: text(comparison.operand, key, path) };
    case '$in':
    case '$nin':
      return { operator: comparison.operator, operand: comparison.operand.map((item) => text(item, key, path)) };
    default:
      return comparison;
  }
}

function text(operand: Scalar, key: string, path: Path): string {
  if (operand === null)
    throw new QueryError(`"${key}" is never null: compare it with a string, number or boolean`, path);
  return String(operand);
}

function all(queries: readonly Query[]): Query {
  const [only] = queries;
  return only !== undefined && queries.length === 1 ? only : { kind: 'all', queries };
}

function entriesOf(value: unknown, path: Path, expected: string): readonly [string, unknown][] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value) : [];
  if (entries.length === 0) throw new QueryError(isObject ? `${expected}; it is empty` : expected, path);
  return entries;
}

function isScalar(value: unknown): value is Scalar {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  return typeof value === 'number' && Number.isFinite(value);
}

function last(path: Path): string {
  return String(path.at(-1));
}

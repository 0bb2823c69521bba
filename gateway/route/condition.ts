import type { Comparison, Field, Query } from '#crds/config/query.ts';
import type { Facts } from '../plan/plan.ts';
import { readField } from './field.ts';

/** Says whether a request satisfies a query; never throws. */
export type Condition = (facts: Facts) => boolean;

/** How much of a text `$regex` looks at (UTF-16 units): a prompt of megabytes must not hold up everybody else. */
export const MAX_REGEX_TEXT = 16_384;

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Built once per config; what it returns neither parses nor allocates. */
export function compileQuery(query: Query): Condition {
  if (query.kind === 'compare') return compileComparison(query.field, query.comparison);
  const conditions = query.queries.map(compileQuery);
  return query.kind === 'all' ? everyOf(conditions) : anyOf(conditions);
}

function everyOf(conditions: readonly Condition[]): Condition {
  return (facts) => {
    for (const holds of conditions) if (!holds(facts)) return false;
    return true;
  };
}

function anyOf(conditions: readonly Condition[]): Condition {
  return (facts) => {
    for (const holds of conditions) if (holds(facts)) return true;
    return false;
  };
}

function compileComparison(field: Field, comparison: Comparison): Condition {
  const read = readField(field);
  switch (comparison.operator) {
    case '$eq':
      return (facts) => read(facts) === comparison.operand;
    case '$ne':
      return (facts) => read(facts) !== comparison.operand;
    case '$in':
      return memberOf(field, comparison.operand);
    case '$nin': {
      const isMember = memberOf(field, comparison.operand);
      return (facts) => !isMember(facts);
    }
    case '$regex':
      return (facts) => {
        const value = read(facts);
        if (typeof value !== 'string') return false;
        return comparison.operand.test(value.length > MAX_REGEX_TEXT ? value.slice(0, MAX_REGEX_TEXT) : value);
      };
    default:
      return compileOrder(field, comparison.operator, comparison.operand);
  }
}

function memberOf(field: Field, operands: readonly unknown[]): Condition {
  const read = readField(field);
  const members = new Set(operands);
  return (facts) => members.has(read(facts));
}

const ORDER: Readonly<Record<'$gt' | '$gte' | '$lt' | '$lte', (value: number, operand: number) => boolean>> = {
  $gt: (value, operand) => value > operand,
  $gte: (value, operand) => value >= operand,
  $lt: (value, operand) => value < operand,
  $lte: (value, operand) => value <= operand,
};

function compileOrder(field: Field, operator: keyof typeof ORDER, operand: number): Condition {
  const read = readField(field);
  const holds = ORDER[operator];
  // Metadata has no numbers (headers and keys carry strings only), so that its decimal strings must count as such. A body
  // has both: there "5" is text, as the caller wrote it.
  const toNumber = field.source === 'params' ? ownNumber : decimal;
  // Without a number both sides are NaN-like: every order is false.
  return (facts) => holds(toNumber(read(facts)), operand);
}

function ownNumber(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

function decimal(value: unknown): number {
  return typeof value === 'string' && DECIMAL.test(value) ? Number(value) : Number.NaN;
}

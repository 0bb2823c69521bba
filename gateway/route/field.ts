import type { Field } from '#crds/config/query.ts';
import type { Facts } from '../plan/plan.ts';

/** Reads one value of a request; undefined: it is missing. */
export type ReadField = (facts: Facts) => unknown;

/** Only own properties count: `params.constructor` is missing unless the caller sent it. */
export function readField(field: Field): ReadField {
  if (field.source === 'pathname') return (facts) => facts.pathname;
  if (field.source === 'metadata') return ({ metadata }) => own(metadata, field.key);
  const { keys } = field;
  return ({ params }) => {
    let value: unknown = params;
    for (const key of keys) {
      value = own(value, key);
      if (value === undefined) return undefined;
    }
    return value;
  };
}

/** The own property of an object or array; undefined for anything else. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}

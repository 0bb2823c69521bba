/** Structural schemas: which fields an object may have, what is filled in, and what is wrong with it. */
import { structuralProblems } from '../../crds/structural-check.ts';
import type { Cause } from './failure.ts';
import { type Fields, fieldsOf, isFields } from './fields.ts';

export type Schema = Readonly<Record<string, unknown>>;

const FREE = 'x-kubernetes-preserve-unknown-fields';

export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return fieldsOf(schema['properties']) as Readonly<Record<string, Schema>>;
}

/** Schema of a field; undefined: it is not declared, and what it holds is free or unknown. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const properties = propertiesOf(schema);
  if (Object.hasOwn(properties, name)) return properties[name];
  const values = schema['additionalProperties'];
  return isFields(values) ? values : undefined;
}

export interface Fitted {
  readonly value: unknown;
  /** Paths of the fields that were left out. */
  readonly unknown: readonly string[];
}

/** Without unknown fields and nulls, and with the defaults. */
export function fitted(schema: Schema, value: unknown, path = ''): Fitted {
  if (Array.isArray(value)) return fittedList(schema, value, path);
  if (!isFields(value)) return { value, unknown: [] };
  const fields: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const [name, given] of Object.entries({ ...defaultsFor(schema, value), ...withoutNulls(schema, value) })) {
    const child = fieldSchema(schema, name);
    const childPath = path === '' ? name : `${path}.${name}`;
    if (child === undefined) {
      if (schema[FREE] === true) fields[name] = given;
      else unknown.push(childPath);
      continue;
    }
    const inner = fitted(child, given, childPath);
    fields[name] = inner.value;
    unknown.push(...inner.unknown);
  }
  return { value: fields, unknown };
}

function fittedList(schema: Schema, items: readonly unknown[], path: string): Fitted {
  if (schema[FREE] === true && schema['items'] === undefined) return { value: items, unknown: [] };
  const inner = items.map((item, index) => fitted(fieldsOf(schema['items']), item, `${path}[${index}]`));
  return { value: inner.map((item) => item.value), unknown: inner.flatMap((item) => item.unknown) };
}

function withoutNulls(schema: Schema, value: Fields): Fields {
  const kept = Object.entries(value).filter(
    ([name, given]) => given !== null || fieldSchema(schema, name)?.['nullable'] === true,
  );
  return Object.fromEntries(schema[FREE] === true ? Object.entries(value) : kept);
}

function defaultsFor(schema: Schema, value: Fields): Fields {
  const missing = Object.entries(propertiesOf(schema)).filter(
    ([name, child]) => child['default'] !== undefined && (value[name] ?? undefined) === undefined,
  );
  return Object.fromEntries(missing.map(([name, child]) => [name, child['default']]));
}

const CAUSES: Readonly<Record<string, Omit<Cause, 'field'>>> = {
  required: { reason: 'FieldValueRequired', message: 'Required value' },
  enum: { reason: 'FieldValueNotSupported', message: 'Unsupported value' },
  type: { reason: 'FieldValueTypeInvalid', message: 'Invalid value: it has another type' },
  format: { reason: 'FieldValueTypeInvalid', message: 'Invalid value: it is no date-time' },
};

/** What the schema refuses; unknown fields are no part of it. */
export function schemaCauses(schema: Schema, value: unknown, path: string): Cause[] {
  return structuralProblems(schema, value, path)
    .map((problem) => {
      const at = problem.lastIndexOf(' ');
      const [field, keyword] = [problem.slice(0, at), problem.slice(at + 1)];
      return { ...(CAUSES[keyword] ?? { reason: 'FieldValueInvalid', message: `Invalid value: ${keyword}` }), field };
    })
    .map((cause) => ({ ...cause, field: cause.field.replace(/^\./, '') }));
}

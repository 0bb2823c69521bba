/** What a written object becomes before it is stored, and whether it may be. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { METADATA } from './built-in-schemas.ts';
import { badRequest, type Cause, internal, invalid } from './failure.ts';
import { fieldsOf, isEmpty } from './fields.ts';
import { SYSTEM_METADATA } from './managers.ts';
import { metadataCauses } from './metadata-rules.ts';
import { causeOf, type ResourceRow } from './resource-row.ts';
import { fitted, schemaCauses } from './schema.ts';

export interface Admitted {
  readonly object: ApiObject;
  /** Fields that were left out, for whoever wants to be warned. */
  readonly unknown: readonly string[];
}

/** Known fields with their defaults; throws Failure 400 for values of the wrong type in a built-in kind. */
export function admitted(row: ResourceRow, given: ApiObject): Admitted {
  const { apiVersion, kind, metadata, ...rest } = given;
  const inner = fitted(row.schema, rest);
  const system = Object.entries(metadata).filter(([name]) => SYSTEM_METADATA.includes(name));
  const chosen = Object.entries(metadata).filter(([name]) => !SYSTEM_METADATA.includes(name));
  const known = fitted(METADATA, Object.fromEntries(chosen), 'metadata');
  refuseTypes(row, inner.value, known.value);
  const kept = Object.entries(fieldsOf(known.value)).filter(([, value]) => !isEmpty(value) && value !== '');
  const object = {
    ...fieldsOf(inner.value),
    apiVersion,
    kind,
    metadata: { ...Object.fromEntries([...system, ...kept]), name: metadata.name },
  };
  return { object: row.prepare?.(object) ?? object, unknown: [...inner.unknown, ...known.unknown].sort() };
}

function refuseTypes(row: ResourceRow, value: unknown, metadata: unknown): void {
  const [wrong] = [
    ...schemaCauses(METADATA, metadata, 'metadata'),
    ...(row.isTyped ? schemaCauses(row.schema, value, '') : []),
  ];
  if (wrong === undefined) return;
  const version = row.apiVersion.split('/').at(-1);
  throw badRequest(
    `${row.kind} in version "${version}" cannot be handled as a ${row.kind}: ${wrong.field}: ${wrong.message}`,
  );
}

/** Throws Failure 500, as the real server does, where an apply names a field that the schema has not, or a wrong type. */
export function refuseUndeclared(row: ResourceRow, config: ApiObject): void {
  const { apiVersion: _, kind: __, metadata, ...rest } = config;
  const [unknown] = fitted(row.schema, rest).unknown;
  const where = `failed to create typed patch object (${metadata.namespace ?? ''}/${metadata.name}; ${row.apiVersion}, Kind=${row.kind})`;
  if (unknown !== undefined) throw internal(`${where}: .${unknown}: field not declared in schema`);
  const [wrong] = row.isTyped ? schemaCauses(row.schema, rest, '') : [];
  if (wrong !== undefined) throw internal(`${where}: .${wrong.field}: ${wrong.message}`);
  refuseDoubles(where, row, config);
}

/** Items of a list that is a map have each its own keys. */
function refuseDoubles(where: string, row: ResourceRow, config: ApiObject): void {
  const types = row.hasStatus ? conditionTypes(config) : [];
  const bare = types.indexOf(undefined);
  if (bare !== -1) {
    throw internal(
      `${where}: .status.conditions: element ${bare}: associative list with keys has an element that omits all key fields ["type"]`,
    );
  }
  const double = types.find((type, index) => types.indexOf(type) !== index);
  if (double !== undefined) {
    throw internal(`${where}: .status.conditions: duplicate entries for key [type=${JSON.stringify(double)}]`);
  }
}

/** Throws Failure 422 that names every field. */
export function validate(row: ResourceRow, object: ApiObject, before: ApiObject | undefined): void {
  const { apiVersion: _, kind: __, metadata: ___, ...rest } = object;
  const structural = row.isTyped ? [] : schemaCauses(row.schema, rest, '');
  const causes = [
    ...metadataCauses(object, before),
    ...structural,
    // Rules about values hold of what is well-formed.
    ...(structural.length > 0 ? uncheckedCauses(row) : row.rules(object, before)),
    ...doubleCauses(row, object),
  ];
  const { group = row.group } = { group: row.validatedGroup };
  if (causes.length > 0) throw invalid({ ...row, group }, object.metadata.name ?? '', causes);
}

function uncheckedCauses({ hasRules }: ResourceRow): Cause[] {
  const why = 'some validation rules were not checked because the object was invalid';
  return hasRules ? [causeOf('<nil>', `Invalid value: ${why}`)] : [];
}

function doubleCauses({ hasStatus }: ResourceRow, object: ApiObject): Cause[] {
  const types = hasStatus ? conditionTypes(object) : [];
  return types.flatMap((type, index) => {
    const message = `Duplicate value: {"type":${JSON.stringify(type)}}`;
    return types.indexOf(type) === index
      ? []
      : [causeOf(`status.conditions[${index}]`, message, 'FieldValueDuplicate')];
  });
}

function conditionTypes(object: ApiObject): unknown[] {
  const conditions = fieldsOf(object['status'])['conditions'];
  return Array.isArray(conditions) ? conditions.map((condition) => fieldsOf(condition)['type']) : [];
}

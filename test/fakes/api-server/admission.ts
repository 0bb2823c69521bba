/** What a written object becomes before it is stored, and whether it may be. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { objectName } from '#crds/object.ts';
import { METADATA } from './built-in-schemas.ts';
import { badRequest, type Cause, internal, invalid } from './failure.ts';
import { type Fields, fieldsOf, isEmpty } from './fields.ts';
import { SYSTEM_METADATA } from './managers.ts';
import { causeOf, type ResourceRow, requiredCause } from './resource-row.ts';
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
  return { object: row.prepare?.(object) ?? object, unknown: [...inner.unknown, ...known.unknown] };
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
  const conditions = fieldsOf(config['status'])['conditions'];
  if (!row.hasStatus || !Array.isArray(conditions)) return;
  const types = conditions.map((condition) => fieldsOf(condition)['type']);
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
    ...nameCauses(object),
    ...finalizerCauses(object, before),
    ...structural,
    // Rules about values hold of what is well-formed.
    ...(structural.length > 0 ? [] : row.rules(object, before)),
  ];
  if (causes.length > 0) throw invalid(row, object.metadata.name ?? '', causes);
}

function nameCauses({ metadata: { name } }: ApiObject): Cause[] {
  if (name === undefined || name === '') {
    return [causeOf('metadata.name', 'Required value: name or generateName is required', requiredCause('').reason)];
  }
  if (objectName.safeParse(name).success) return [];
  const why = 'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "-" or "."';
  return [causeOf('metadata.name', `Invalid value: ${JSON.stringify(name)}: ${why}`)];
}

function finalizerCauses({ metadata }: ApiObject, before: ApiObject | undefined): Cause[] {
  if (before?.metadata.deletionTimestamp === undefined) return [];
  const known = finalizersOf(before.metadata);
  const added = finalizersOf(metadata).filter((finalizer) => !known.includes(finalizer));
  if (added.length === 0) return [];
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
  return [causeOf('metadata.finalizers', `Forbidden: ${why}`, 'FieldValueForbidden')];
}

export function finalizersOf(metadata: Fields): readonly string[] {
  const { finalizers } = metadata;
  return Array.isArray(finalizers) ? finalizers : [];
}

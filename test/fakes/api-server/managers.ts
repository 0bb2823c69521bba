/** metadata.managedFields: who owns which fields. */
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '#crds/api/api-object.ts';
import { METADATA } from './built-in-schemas.ts';
import { type Comparison, type FieldSet, fieldSetFromV1, fieldsV1Of } from './field-sets.ts';
import { defined, type Fields, fieldsOf, without } from './fields.ts';
import type { ResourceRow } from './resource-row.ts';
import { propertiesOf, type Schema } from './schema.ts';
import { timestamp } from './timestamp.ts';

/** Who writes, and by which door. */
export interface Writer {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: 'status' | undefined;
}

export interface Managed extends Writer {
  readonly set: FieldSet;
  readonly time: string;
}

export function isSameWriter(a: Writer, b: Writer): boolean {
  return a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource;
}

export function managersOf(object: ApiObject | undefined): Managed[] {
  return (object?.metadata.managedFields ?? []).map((entry) => {
    const { manager, operation, apiVersion, subresource, time, fieldsV1 } = fieldsOf(entry);
    return {
      manager: String(manager),
      operation: operation === 'Apply' ? 'Apply' : 'Update',
      apiVersion: String(apiVersion),
      subresource: subresource === 'status' ? 'status' : undefined,
      time: String(time),
      set: fieldSetFromV1(fieldsV1),
    };
  });
}

/** undefined: nobody owns anything. Entries that did not change keep their time. */
export function managedFieldsOf(managers: readonly Managed[], before: readonly Managed[]): Fields[] | undefined {
  const entries = managers
    .filter(({ set }) => set.size > 0)
    .map((entry) => {
      const known = before.find((other) => isSameWriter(entry, other));
      const isSame = known !== undefined && isDeepStrictEqual(known.set, entry.set);
      return { ...entry, time: isSame ? known.time : timestamp() };
    });
  if (entries.length === 0) return undefined;
  return entries
    .sort(inOrder)
    .map(({ set, subresource, ...entry }) =>
      defined({ ...entry, subresource, fieldsType: 'FieldsV1', fieldsV1: fieldsV1Of(set) }),
    );
}

function inOrder(a: Managed, b: Managed): number {
  const keys = ({ operation, time, manager, subresource }: Managed) => [operation, time, manager, subresource ?? ''];
  const [left, right] = [keys(a).join('\0'), keys(b).join('\0')];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** After a write that was no apply: what changed is the writer's, and nobody else's. */
export function afterUpdate(managers: readonly Managed[], writer: Writer, change: Comparison): Managed[] {
  const touched = change.modified.union(change.added);
  const others = managers
    .filter((entry) => !isSameWriter(entry, writer))
    .map((entry) => ({ ...entry, set: entry.set.difference(touched).difference(change.removed) }));
  const own = managers.find((entry) => isSameWriter(entry, writer))?.set ?? new Set<string>();
  return [...others, { ...writer, time: timestamp(), set: own.difference(change.removed).union(touched) }];
}

/** Schema of what is owned: metadata as far as writers decide it, and the kind's own fields. */
export function ownedSchema(row: ResourceRow): Schema {
  return { ...row.schema, properties: { ...propertiesOf(row.schema), metadata: METADATA } };
}

export const SYSTEM_METADATA: readonly string[] = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

/** What of an object can be owned by a writer through this door. */
export function ownedPart(row: ResourceRow, object: ApiObject | undefined, subresource: 'status' | undefined): Fields {
  if (object === undefined) return {};
  if (subresource !== undefined) return defined({ status: object['status'] });
  const { apiVersion: _, kind: __, metadata, ...all } = object;
  const rest = without(all, row.unowned ?? []);
  const owned = without(metadata, SYSTEM_METADATA);
  const fields = Object.entries(row.hasStatus ? without(rest, ['status']) : rest);
  return { ...Object.fromEntries(fields.filter(([, value]) => value !== null)), metadata: owned };
}

/** The other way round. `base` gives what writers do not decide. */
export function withOwnedPart(
  row: ResourceRow,
  base: ApiObject,
  part: Fields,
  subresource: 'status' | undefined,
): ApiObject {
  if (subresource !== undefined) return defined({ ...base, status: part['status'] }) as ApiObject;
  const { apiVersion, kind, metadata } = base;
  const system = Object.fromEntries(Object.entries(metadata).filter(([name]) => SYSTEM_METADATA.includes(name)));
  const status = row.hasStatus ? { status: base['status'] } : {};
  const whole = { apiVersion, kind, ...part, metadata: { ...system, ...fieldsOf(part['metadata']) }, ...status };
  return defined(whole) as ApiObject;
}

/** `metadata` itself is nobody's. */
export function ownable<T extends FieldSet>(set: T): FieldSet {
  return set.difference(new Set(['f:metadata']));
}

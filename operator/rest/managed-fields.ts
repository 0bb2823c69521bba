/** Who has a say in which fields, by metadata.managedFields. */
import type { ApiObject } from '#crds/api/api-object.ts';

/** By which the control plane writes; not that of the operator, which owns statuses. */
export const CONTROL_MANAGER = 'model-gateway-rest';

interface Entry {
  readonly manager: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: Readonly<Record<string, unknown>> };
}

/** Whether the control plane has a say in the spec: it made the object. */
export function isOurs(object: ApiObject): boolean {
  return entriesOf(object).some((entry) => entry.manager === CONTROL_MANAGER && owns(entry, undefined));
}

/**
 * The first but the control plane who owns one of the fields of the spec; undefined: nobody. Of an object that others made
 * each field is theirs. `fields` undefined: any.
 */
export function ownerOf(object: ApiObject, fields: readonly string[] | undefined): string | undefined {
  const asked = isOurs(object) ? fields : undefined;
  return entriesOf(object).find((entry) => entry.manager !== CONTROL_MANAGER && owns(entry, asked))?.manager;
}

/** When anything but the status was written last; undefined: nobody knows. */
export function writtenAt(object: ApiObject): string | undefined {
  return entriesOf(object)
    .flatMap(({ time }) => time ?? [])
    .sort()
    .at(-1);
}

function entriesOf({ metadata }: ApiObject): readonly Entry[] {
  return ((metadata.managedFields ?? []) as readonly Entry[]).filter(({ subresource }) => subresource === undefined);
}

function owns({ fieldsV1 }: Entry, fields: readonly string[] | undefined): boolean {
  const owned = fieldsV1?.['f:spec'];
  if (owned === undefined) return false;
  return fields === undefined || fields.some((field) => Object.hasOwn(owned, `f:${field}`));
}

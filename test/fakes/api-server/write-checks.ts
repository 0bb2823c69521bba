/** Whether a write means the object that is stored, and says only what it may. */
import { type ApiObject, keyOf } from '#crds/api/api-object.ts';
import * as failures from './failure.ts';
import type { Fields } from './fields.ts';
import { causeOf, immutableCause, type ResourceRow } from './resource-row.ts';
import type { Target } from './target.ts';

/** Throws Failure 409 for another version than the stored one; 422 where one is required and none given. */
export function checkVersion(row: ResourceRow, given: ApiObject, before: ApiObject, isRequired: boolean): void {
  const { resourceVersion = '', name } = given.metadata;
  if (resourceVersion === before.metadata.resourceVersion) return;
  if (resourceVersion !== '' && !/^\d+$/.test(resourceVersion)) {
    throw failures.internal(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (resourceVersion !== '' && resourceVersion !== '0') throw failures.conflict(row, name);
  if (!isRequired) return;
  const cause = causeOf('metadata.resourceVersion', 'Invalid value: 0: must be specified for an update');
  throw failures.invalid({ ...row, kind: row.plural }, name, [cause]);
}

/** Of PUT, by either door. Throws Failure 409. */
export function checkReplacedUid(row: ResourceRow, given: ApiObject, before: ApiObject): void {
  const { uid } = given.metadata;
  const { metadata } = before;
  if (!uid || uid === metadata.uid) return;
  const key = ['/registry', ...(row.isTyped ? [] : [row.group]), row.plural, keyOf(before)].join('/');
  const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  throw failures.conflict(row, metadata.name, why);
}

/** Of a patch or an apply; the status' door does not look at the uid. Throws Failure 422. */
export function checkPatchedUid({ row, subresource }: Target, given: ApiObject, before: ApiObject): void {
  const { uid, name } = given.metadata;
  if (subresource !== undefined || !uid || uid === before.metadata.uid) return;
  throw failures.invalid(row, name, [immutableCause('metadata.uid', uid)]);
}

/** Of a deletion. Throws Failure 409. */
export function checkPreconditions(row: ResourceRow, { metadata }: ApiObject, wanted: Fields): void {
  const subject = { ...row, plural: row.kind };
  for (const [field, name, why] of PRECONDITIONS) {
    if (wanted[field] === undefined || wanted[field] === metadata[field]) continue;
    const told = `the ${name} in the precondition (${wanted[field]}) does not match the ${name} in record (${metadata[field]}). ${why}`;
    throw failures.conflict(subject, metadata.name, told);
  }
}

const PRECONDITIONS = [
  ['uid', 'UID', 'The object might have been deleted and then recreated'],
  ['resourceVersion', 'ResourceVersion', 'The object might have been modified'],
] as const;

/** Throws Failure 400 where the writer asked for strictness. */
export function refuseUnknown({ row, query }: Target, unknown: readonly string[]): void {
  if (query.get('fieldValidation') !== 'Strict' || unknown.length === 0) return;
  const version = row.apiVersion.split('/').at(-1);
  const told = unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ');
  throw failures.badRequest(
    `${row.kind} in version "${version}" cannot be handled as a ${row.kind}: strict decoding error: ${told}`,
  );
}

/** What the server refuses of an object's metadata, whatever its kind. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { objectName } from '#crds/object.ts';
import type { Cause } from './failure.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { causeOf, requiredCause } from './resource-row.ts';

const WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_WORD_LENGTH = 63;
const MAX_ANNOTATIONS_BYTES = 262_144;
const STANDARD_FINALIZERS = ['orphan', 'foregroundDeletion', 'kubernetes'];
const OWNER_FIELDS = ['apiVersion', 'kind', 'name', 'uid'];

export function metadataCauses(object: ApiObject, before: ApiObject | undefined): Cause[] {
  const { metadata } = object;
  return [
    ...nameCauses(metadata.name),
    ...labelCauses(fieldsOf(metadata.labels)),
    ...annotationCauses(fieldsOf(metadata.annotations)),
    ...ownerCauses(metadata.ownerReferences ?? []),
    ...unqualifiedCauses(finalizersOf(metadata)),
    ...lateCauses(metadata, before),
  ];
}

export function finalizersOf(metadata: Fields): readonly string[] {
  const { finalizers } = metadata;
  return Array.isArray(finalizers) ? finalizers : [];
}

function nameCauses(name: string | undefined): Cause[] {
  if (name === undefined || name === '') {
    return [causeOf('metadata.name', 'Required value: name or generateName is required', requiredCause('').reason)];
  }
  if (objectName.safeParse(name).success) return [];
  const why = 'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "-" or "."';
  return [invalidCause('metadata.name', name, why)];
}

function labelCauses(labels: Fields): Cause[] {
  const keys = Object.keys(labels).filter((key) => !isQualified(key));
  const values = Object.values(labels)
    .map(String)
    .filter((value) => value !== '' && !isWord(value));
  const why = 'a valid label must consist of alphanumeric characters, "-", "_" or "."';
  return [
    ...keys.map((key) => badKey('metadata.labels', key)),
    ...values.map((value) => invalidCause('metadata.labels', value, why)),
  ];
}

function annotationCauses(annotations: Fields): Cause[] {
  const bytes = Object.entries(annotations).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  const why = `Too long: may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`;
  return [
    ...Object.keys(annotations)
      .filter((key) => !isQualified(key.toLowerCase()))
      .map((key) => badKey('metadata.annotations', key)),
    ...(bytes > MAX_ANNOTATIONS_BYTES ? [causeOf('metadata.annotations', why, 'FieldValueTooLong')] : []),
  ];
}

function ownerCauses(owners: readonly Fields[]): Cause[] {
  const empty = owners.flatMap((owner) =>
    OWNER_FIELDS.filter((field) => !owner[field]).map((field) =>
      invalidCause(`metadata.ownerReferences.${field}`, '', 'must not be empty'),
    ),
  );
  const controllers = owners.filter(({ controller }) => controller === true);
  const why = 'Only one reference can have Controller set to true';
  return [...empty, ...(controllers.length > 1 ? [causeOf('metadata.ownerReferences', `Invalid value: ${why}`)] : [])];
}

function unqualifiedCauses(finalizers: readonly string[]): Cause[] {
  return finalizers.flatMap((finalizer, index) => {
    const isKnown = isQualified(finalizer) && (finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer));
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    return isKnown ? [] : [invalidCause(`metadata.finalizers[${index}]`, finalizer, why)];
  });
}

/** Nothing new holds what is being deleted. */
function lateCauses(metadata: ApiObject['metadata'], before: ApiObject | undefined): Cause[] {
  if (before?.metadata.deletionTimestamp === undefined) return [];
  const known = finalizersOf(before.metadata);
  const added = finalizersOf(metadata).filter((finalizer) => !known.includes(finalizer));
  if (added.length === 0) return [];
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
  return [causeOf('metadata.finalizers', `Forbidden: ${why}`, 'FieldValueForbidden')];
}

function badKey(field: string, key: string): Cause {
  return invalidCause(field, key, 'name part must consist of alphanumeric characters, "-", "_" or "."');
}

function invalidCause(field: string, value: string, why: string): Cause {
  return causeOf(field, `Invalid value: ${JSON.stringify(value)}: ${why}`);
}

function isWord(text: string): boolean {
  return WORD.test(text) && text.length <= MAX_WORD_LENGTH;
}

/** `name` or `prefix/name`. */
function isQualified(key: string): boolean {
  const [name = '', prefix, ...more] = key.split('/').toReversed();
  return more.length === 0 && isWord(name) && (prefix === undefined || objectName.safeParse(prefix).success);
}

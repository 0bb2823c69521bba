/** How an object begins, goes on under the same identity, and ends. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '#crds/api/api-object.ts';
import { type Fields, without } from './fields.ts';
import { finalizersOf } from './metadata-rules.ts';
import type { ResourceRow } from './resource-row.ts';
import { NAMESPACES } from './resources.ts';
import { timestamp } from './timestamp.ts';

const SERVERS_OWN = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'managedFields'];
const UNCOUNTED_METADATA = ['managedFields', 'resourceVersion', 'generation'];

/** With a name made from metadata.generateName, where there is none. */
export function named(given: ApiObject): ApiObject {
  const { name, generateName } = given.metadata;
  if (name || !generateName) return given;
  return { ...given, metadata: { ...given.metadata, name: `${generateName}${randomUUID().slice(0, 5)}` } };
}

/** As it begins: without a status, with an identity of its own. */
export function newborn(row: ResourceRow, given: ApiObject): ApiObject {
  const object = (row.hasStatus ? without(given, ['status']) : given) as ApiObject;
  const chosen = without(given.metadata, SERVERS_OWN);
  const generation = row.counts === undefined ? {} : { generation: 1 };
  const own = { name: given.metadata.name, uid: randomUUID(), creationTimestamp: timestamp(), ...generation };
  return { ...object, metadata: { ...chosen, ...own } };
}

/** What replaces an object: its identity stays, and whatever this door does not lead to. */
export function heir(
  row: ResourceRow,
  before: ApiObject,
  given: ApiObject,
  subresource: 'status' | undefined,
): ApiObject {
  if (subresource !== undefined) return { ...before, status: given['status'] };
  const kept = Object.fromEntries(
    [...SERVERS_OWN, 'namespace', 'deletionGracePeriodSeconds']
      .filter((name) => before.metadata[name] !== undefined)
      .map((name) => [name, before.metadata[name]]),
  );
  const metadata = { ...without(given.metadata, SERVERS_OWN), ...kept, name: before.metadata.name };
  if (!row.hasStatus) return { ...given, metadata };
  const object = without(given, ['status']) as ApiObject;
  return { ...object, metadata, ...(before['status'] === undefined ? {} : { status: before['status'] }) };
}

/** With the generation that the change makes. */
export function counted({ counts }: ResourceRow, before: ApiObject, after: ApiObject): ApiObject {
  const { generation } = before.metadata;
  if (counts === undefined || generation === undefined) return after;
  const part = (object: ApiObject) =>
    counts === 'spec' ? object['spec'] : { ...object, metadata: without(object.metadata, UNCOUNTED_METADATA) };
  const isSame = isDeepStrictEqual(part(before), part(after));
  return { ...after, metadata: { ...after.metadata, generation: isSame ? generation : generation + 1 } };
}

/** Whether somebody has to let it go before it can be removed. */
export function isHeld(row: ResourceRow, object: ApiObject): boolean {
  return finalizersOf(object.metadata).length > 0 || row.plural === NAMESPACES.plural;
}

/** Marked for deletion. */
export function dying(row: ResourceRow, before: ApiObject): ApiObject {
  const { generation } = before.metadata;
  const metadata = {
    ...before.metadata,
    deletionTimestamp: timestamp(),
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  };
  const object = { ...before, metadata };
  return row.prepare?.(object) ?? object;
}

/** What answers a deletion that is done. */
export function deletionStatus({ plural, group }: ResourceRow, { metadata: { name, uid } }: ApiObject): Fields {
  const details = { name, ...(group === '' ? {} : { group }), kind: plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

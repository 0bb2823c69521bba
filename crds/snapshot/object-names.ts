/** What the objects of a published snapshot are called: fixed, so that a Role can list them. */
import { API_GROUP } from '../object.ts';
import { SHARD_ROWS } from './records.ts';
import { SHARES_KEY } from './shares.ts';

/** On every object of a snapshot; its value is the release. */
export const SNAPSHOT_LABEL = `${API_GROUP}/snapshot`;
/** Key of the index in its ConfigMap, and its file in a mounted volume. */
export const INDEX_KEY = 'index';
/** Key of the bytes in the ConfigMap or Secret of a shard; in a mounted volume the file is called like the shard. */
export const SHARD_KEY = 'shard';

export interface SnapshotObject {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  readonly key: string;
  /** File in a mounted volume: `index`, or the shard's name in the index. */
  readonly file: string;
}

export function indexObject(release: string): SnapshotObject {
  return { kind: 'ConfigMap', name: `${release}-snapshot-index`, key: INDEX_KEY, file: INDEX_KEY };
}

/** `shard` is its name in the index, e.g. `keys-0`. */
export function shardObject(release: string, shard: string): SnapshotObject {
  const kind = shard.startsWith('snapshot-') ? 'ConfigMap' : 'Secret';
  return { kind, name: `${release}-${shard}`, key: SHARD_KEY, file: shard };
}

/** What replicas know of one another. No part of the snapshot. */
export function sharesObject(release: string): SnapshotObject {
  return { kind: 'ConfigMap', name: `${release}-shares`, key: SHARES_KEY, file: SHARES_KEY };
}

/** The index, then every shard that a release with `maxShards` of each kind may publish. */
export function snapshotObjects(release: string, maxShards: number): readonly SnapshotObject[] {
  const shards = SHARD_ROWS.flatMap(({ prefix }) =>
    Array.from({ length: maxShards }, (_, index) => shardObject(release, `${prefix}-${index}`)),
  );
  return [indexObject(release), ...shards];
}

/** The index: written last, it names every shard and its hash. */
import { createHash } from 'node:crypto';
import { z } from '../config/words.ts';

/** Bytes of one shard, compressed: a ConfigMap or Secret holds 1 MiB. */
export const MAX_SHARD_BYTES = 900 * 1024;
/** Bytes of the whole snapshot, unpacked. */
export const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
/** Shards of one kind, at most. */
export const MAX_SHARDS = 128;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in lower-case hex' });

const shardEntry = z.strictObject({
  name: z.string().regex(/^(snapshot|credentials|keys)-(0|[1-9]\d{0,2})$/, { error: 'must be the name of a shard' }),
  kind: z.enum(['routing', 'credentials', 'keys']),
  hash: sha256,
});

export const indexSchema = z.strictObject({
  format: z.int(),
  /** Grows with every publication; says nothing of the content. */
  generation: z.int().min(0),
  /** Of the content alone: equal snapshots have equal hashes. */
  hash: sha256,
  shards: z.array(shardEntry).max(3 * MAX_SHARDS),
});

export type ShardEntry = z.infer<typeof shardEntry>;
export type SnapshotIndex = z.infer<typeof indexSchema>;

/** A snapshot as it is published. */
export interface EncodedSnapshot {
  /** JSON text of the index. */
  readonly index: string;
  /** Bytes (gzip'ed JSON) by shard name. */
  readonly shards: ReadonlyMap<string, Uint8Array>;
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Hash of the content: over format, names and hashes of the shards in their order; the generation is no part of it. */
export function contentHash(format: number, shards: readonly ShardEntry[]): string {
  return sha256Hex(`${format}\n${shards.map(({ name, kind, hash }) => `${name} ${kind} ${hash}\n`).join('')}`);
}

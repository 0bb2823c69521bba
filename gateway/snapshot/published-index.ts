/** What an index says of itself, read so leniently that even one of an unknown format can be named when it is refused. */
import { indexSchema, type ShardEntry } from '#crds/snapshot/index-document.ts';

export interface PublishedIndex {
  readonly text: string;
  readonly generation: number;
  readonly hash: string;
  /** undefined: not in a form that this version reads; loading it says why. */
  readonly shards: readonly ShardEntry[] | undefined;
}

const MAX_HASH_CHARS = 128;

/** undefined: it has no generation or no hash, or is no JSON at all. */
export function readPublishedIndex(text: string): PublishedIndex | undefined {
  const value = parsed(text);
  const { generation, hash } = Object(value) as { generation?: unknown; hash?: unknown };
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation) || generation < 0) return undefined;
  if (typeof hash !== 'string' || hash.length > MAX_HASH_CHARS) return undefined;
  return { text, generation, hash, shards: indexSchema.safeParse(value).data?.shards };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first shard that a reader of `maxShards` of each kind may not read; undefined: it may read all. */
export function shardBeyond(shards: readonly ShardEntry[], maxShards: number): string | undefined {
  return shards.find(({ name }) => Number(name.slice(name.lastIndexOf('-') + 1)) >= maxShards)?.name;
}

/** Records -> gzip'ed shards, of which a change touches one. */
import { gzipSync } from 'node:zlib';
import { MAX_SHARD_BYTES } from './index-document.ts';
import { hashOfIdentity } from './records.ts';

/** Unpacked bytes that a shard is meant to have: small enough that a change rewrites little. */
const SHARD_GOAL_BYTES = 1024 * 1024;
/** Fixed, so that every platform writes the same bytes: offset and value of gzip's "operating system" field. */
const GZIP_OS_OFFSET = 9;
const GZIP_OS_UNKNOWN = 255;

export interface Packable {
  /** Stable over changes of its content; decides its shard. */
  readonly identity: string;
  readonly text: string;
}

export interface Packing<T extends Packable> {
  /** Shards are called `<prefix>-<n>`. */
  readonly prefix: string;
  readonly records: readonly T[];
  /** Text of a shard, given its records in their order. */
  readonly textOf: (part: readonly T[], index: number) => string;
  /** A power of two. */
  readonly maxShards: number;
}

/** Remembers what it packed, so that only what changed is packed again. */
export class Packer {
  readonly #packed = new Map<string, { readonly text: string; readonly bytes: Uint8Array }>();

  /** As many shards as the goal asks for, doubled while one is too large to be stored; undefined: they do not fit. */
  pack<T extends Packable>({ prefix, records, textOf, maxShards }: Packing<T>): readonly Uint8Array[] | undefined {
    const textLength = records.reduce((sum, { text }) => sum + text.length, 0);
    for (let count = firstCount(textLength, maxShards); count <= maxShards; count *= 2) {
      const shards = partition(records, count).map((part, index) =>
        this.#packOne(`${prefix}-${index}`, textOf(part, index)),
      );
      if (shards.every(({ length }) => length <= MAX_SHARD_BYTES)) return shards;
    }
    return undefined;
  }

  #packOne(name: string, text: string): Uint8Array {
    const known = this.#packed.get(name);
    if (known?.text === text) return known.bytes;
    const bytes = gzipSync(text, { level: 6 });
    bytes[GZIP_OS_OFFSET] = GZIP_OS_UNKNOWN;
    this.#packed.set(name, { text, bytes });
    return bytes;
  }
}

function firstCount(textLength: number, maxShards: number): number {
  let count = 1;
  while (count < maxShards && count * SHARD_GOAL_BYTES < textLength) count *= 2;
  return count;
}

function partition<T extends Packable>(records: readonly T[], count: number): T[][] {
  const parts: T[][] = Array.from({ length: count }, () => []);
  for (const record of records) parts[hashOfIdentity(record.identity) & (count - 1)]?.push(record);
  return parts;
}

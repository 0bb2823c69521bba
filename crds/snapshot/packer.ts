/** Records -> gzip'ed shards, of which a change touches one. */
import { gzipSync } from 'node:zlib';
import { MAX_SHARD_BYTES } from './index-document.ts';
import { hashOfIdentity } from './records.ts';

/** Unpacked bytes that a shard is meant to have: small enough that a change rewrites little. */
const SHARD_GOAL_BYTES = 256 * 1024;
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
  /** Text of a shard, given its records in their order. Equal records and an equal `context` must give equal texts. */
  readonly textOf: (part: readonly T[], index: number) => string;
  /** What there is in the texts besides records. */
  readonly context?: string | undefined;
  /** A power of two. */
  readonly maxShards: number;
}

interface Packed {
  readonly part: readonly Packable[];
  readonly context: string;
  readonly bytes: Uint8Array;
}

/** Remembers what it packed, so that only what changed is written and packed again. */
export class Packer {
  /** By prefix, count and index. */
  readonly #packed = new Map<string, Packed>();

  /** As many shards as the goal asks for, doubled while one is too large to be stored; undefined: they do not fit. */
  pack<T extends Packable>(packing: Packing<T>): readonly Uint8Array[] | undefined {
    const { records, maxShards } = packing;
    const textLength = records.reduce((sum, { text }) => sum + text.length, 0);
    for (let count = firstCount(textLength, maxShards); count <= maxShards; count *= 2) {
      const shards = partition(records, count).map((part, index) => this.#packOne(packing, part, count, index));
      if (shards.every(({ length }) => length <= MAX_SHARD_BYTES)) return shards;
    }
    return undefined;
  }

  #packOne<T extends Packable>(packing: Packing<T>, part: readonly T[], count: number, index: number): Uint8Array {
    const { prefix, textOf, context = '' } = packing;
    const key = `${prefix} ${count} ${index}`;
    const known = this.#packed.get(key);
    if (known?.context === context && isSame(known.part, part)) return known.bytes;
    const bytes = gzipSync(textOf(part, index), { level: 6 });
    bytes[GZIP_OS_OFFSET] = GZIP_OS_UNKNOWN;
    this.#packed.set(key, { part, context, bytes });
    return bytes;
  }
}

function isSame(before: readonly Packable[], now: readonly Packable[]): boolean {
  if (before.length !== now.length) return false;
  return now.every(({ identity, text }, at) => before[at]?.text === text && before[at].identity === identity);
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

import { gzipSync } from 'node:zlib';
import { SNAPSHOT_FORMAT, type Snapshot } from './contract.ts';
import {
  contentHash,
  type EncodedSnapshot,
  MAX_SHARD_BYTES,
  MAX_SHARDS,
  MAX_UNPACKED_BYTES,
  type ShardEntry,
  sha256Hex,
} from './index-document.ts';
import { canonicalJson, hashOfIdentity, identityOf, type RecordField, SHARD_ROWS, type ShardRow } from './records.ts';

/** Unpacked bytes that a shard is meant to have: small enough that a change rewrites little. */
const SHARD_GOAL_BYTES = 1024 * 1024;
/** Fixed, so that every platform writes the same bytes: offset and value of gzip's "operating system" field. */
const GZIP_OS_OFFSET = 9;
const GZIP_OS_UNKNOWN = 255;

interface Written {
  readonly field: RecordField;
  readonly identity: string;
  readonly text: string;
}

/** The snapshot does not fit what its readers accept. Nothing was published. */
export class SnapshotTooLarge extends Error {
  override readonly name = 'SnapshotTooLarge';
}

function byIdentity(a: Written, b: Written): number {
  if (a.identity !== b.identity) return a.identity < b.identity ? -1 : 1;
  if (a.text === b.text) return 0;
  return a.text < b.text ? -1 : 1;
}

function write(snapshot: Snapshot, row: ShardRow): Written[] {
  return row.fields
    .flatMap((field) =>
      snapshot[field].map((record) => ({ field, identity: identityOf(field, record), text: canonicalJson(record) })),
    )
    .sort(byIdentity);
}

function shardText(row: ShardRow, records: readonly Written[], settings: string | undefined): string {
  const lists = row.fields.map((field) => {
    const texts = records.filter((record) => record.field === field).map((record) => record.text);
    return `${JSON.stringify(field)}:[${texts.join(',')}]`;
  });
  return `{${[...lists, ...(settings === undefined ? [] : [`"settings":${settings}`])].join(',')}}`;
}

function partition(records: readonly Written[], count: number): Written[][] {
  const parts: Written[][] = Array.from({ length: count }, () => []);
  for (const record of records) parts[hashOfIdentity(record.identity) & (count - 1)]?.push(record);
  return parts;
}

function pack(text: string): Uint8Array {
  const bytes = gzipSync(text, { level: 6 });
  bytes[GZIP_OS_OFFSET] = GZIP_OS_UNKNOWN;
  return bytes;
}

function firstCount(textLength: number): number {
  let count = 1;
  while (count < MAX_SHARDS && count * SHARD_GOAL_BYTES < textLength) count *= 2;
  return count;
}

/** Shards of one kind: as many as the goal asks for, doubled while one is too large to be stored. */
function packRow(row: ShardRow, records: readonly Written[], settings: string | undefined): Uint8Array[] {
  const textLength = records.reduce((sum, { text }) => sum + text.length, 0);
  for (let count = firstCount(textLength); count <= MAX_SHARDS; count *= 2) {
    const shards = partition(records, count).map((part, index) =>
      pack(shardText(row, part, index === 0 ? settings : undefined)),
    );
    if (shards.every(({ length }) => length <= MAX_SHARD_BYTES)) return shards;
  }
  throw new SnapshotTooLarge(
    `snapshot: its ${row.kind} do not fit ${MAX_SHARDS} shards of ${MAX_SHARD_BYTES / 1024} KiB: make single objects smaller`,
  );
}

function checkTotal(rows: readonly (readonly Written[])[]): void {
  const total = rows.flat().reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 1024);
  if (total <= MAX_UNPACKED_BYTES) return;
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
  throw new SnapshotTooLarge(
    `snapshot: ${mebibytes(total)} MiB unpacked, must be at most ${mebibytes(MAX_UNPACKED_BYTES)} MiB`,
  );
}

/**
 * Writes a snapshot for publication. Equal snapshots give equal bytes, whatever the order of their records and keys; a change of
 * one record changes one shard. Throws SnapshotTooLarge.
 */
export function encodeSnapshot(snapshot: Snapshot, generation: number): EncodedSnapshot {
  const written = SHARD_ROWS.map((row) => write(snapshot, row));
  checkTotal(written);
  const shards = new Map<string, Uint8Array>();
  const entries: ShardEntry[] = [];
  for (const [rowIndex, row] of SHARD_ROWS.entries()) {
    const settings = row.kind === 'routing' ? canonicalJson(snapshot.settings) : undefined;
    for (const [index, bytes] of packRow(row, written[rowIndex] ?? [], settings).entries()) {
      const name = `${row.prefix}-${index}`;
      shards.set(name, bytes);
      entries.push({ name, kind: row.kind, hash: sha256Hex(bytes) });
    }
  }
  const hash = contentHash(SNAPSHOT_FORMAT, entries);
  return { index: JSON.stringify({ format: SNAPSHOT_FORMAT, generation, hash, shards: entries }), shards };
}

export type { EncodedSnapshot };

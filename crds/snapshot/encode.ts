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
import { type Packable, Packer } from './packer.ts';
import { canonicalJson, identityOf, type RecordField, SHARD_ROWS, type ShardRow } from './records.ts';

interface Written extends Packable {
  readonly field: RecordField;
  /** Of the text, unpacked. */
  readonly bytes: number;
}

export interface EncodeOptions {
  /** Of one kind, at most; a power of two. Default MAX_SHARDS. */
  readonly maxShards?: number;
  /** Of the writer, if it writes more than once. */
  readonly packer?: Packer;
}

/** The snapshot does not fit what its readers accept. Nothing was published. */
export class SnapshotTooLarge extends Error {
  override readonly name = 'SnapshotTooLarge';
}

/** Records never change, and most are written again and again. */
const writtenRecords = new WeakMap<object, Written>();

function writtenOf(field: RecordField, record: Snapshot[RecordField][number]): Written {
  const known = writtenRecords.get(record);
  if (known !== undefined) return known;
  const text = canonicalJson(record);
  const written = { field, identity: identityOf(field, record), text, bytes: Buffer.byteLength(text) };
  writtenRecords.set(record, written);
  return written;
}

function byIdentity(a: Written, b: Written): number {
  if (a.identity !== b.identity) return a.identity < b.identity ? -1 : 1;
  if (a.text === b.text) return 0;
  return a.text < b.text ? -1 : 1;
}

function write(snapshot: Snapshot, row: ShardRow): Written[] {
  return row.fields.flatMap((field) => snapshot[field].map((record) => writtenOf(field, record))).sort(byIdentity);
}

function shardText(row: ShardRow, records: readonly Written[], settings: string | undefined): string {
  const lists = row.fields.map((field) => {
    const texts = records.filter((record) => record.field === field).map((record) => record.text);
    return `${JSON.stringify(field)}:[${texts.join(',')}]`;
  });
  return `{${[...lists, ...(settings === undefined ? [] : [`"settings":${settings}`])].join(',')}}`;
}

function tooManyBytes(kind: string, maxShards: number): SnapshotTooLarge {
  return new SnapshotTooLarge(
    `snapshot: its ${kind} do not fit ${maxShards} shards of ${MAX_SHARD_BYTES / 1024} KiB: make single objects smaller`,
  );
}

function checkTotal(rows: readonly (readonly Written[])[]): void {
  let total = 1024;
  for (const row of rows) for (const { bytes } of row) total += bytes + 1;
  if (total <= MAX_UNPACKED_BYTES) return;
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
  throw new SnapshotTooLarge(
    `snapshot: ${mebibytes(total)} MiB unpacked, must be at most ${mebibytes(MAX_UNPACKED_BYTES)} MiB`,
  );
}

/**
 * Writes a snapshot for publication. Equal snapshots give equal bytes, whatever the order of their records and keys; a change of
 * one record changes one shard. Records are remembered as they are: do not change them. Throws SnapshotTooLarge.
 */
export function encodeSnapshot(
  snapshot: Snapshot,
  generation: number,
  { maxShards = MAX_SHARDS, packer = new Packer() }: EncodeOptions = {},
): EncodedSnapshot & { readonly hash: string } {
  const written = SHARD_ROWS.map((row) => write(snapshot, row));
  checkTotal(written);
  const shards = new Map<string, Uint8Array>();
  const entries: ShardEntry[] = [];
  for (const [rowIndex, row] of SHARD_ROWS.entries()) {
    const settings = row.kind === 'routing' ? canonicalJson(snapshot.settings) : undefined;
    const textOf = (part: readonly Written[], index: number) =>
      shardText(row, part, index === 0 ? settings : undefined);
    const packed = packer.pack({
      prefix: row.prefix,
      records: written[rowIndex] ?? [],
      textOf,
      context: settings,
      maxShards,
    });
    if (packed === undefined) throw tooManyBytes(row.kind, maxShards);
    for (const [index, bytes] of packed.entries()) {
      const name = `${row.prefix}-${index}`;
      shards.set(name, bytes);
      entries.push({ name, kind: row.kind, hash: sha256Hex(bytes) });
    }
  }
  const hash = contentHash(SNAPSHOT_FORMAT, entries);
  return { index: JSON.stringify({ format: SNAPSHOT_FORMAT, generation, hash, shards: entries }), shards, hash };
}

export type { EncodedSnapshot };

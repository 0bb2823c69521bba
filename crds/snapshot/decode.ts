import { gunzipSync } from 'node:zlib';
import type { z } from '../config/words.ts';
import { problemsOf } from '../problems.ts';
import { SNAPSHOT_FORMAT, type Snapshot, snapshotSchema, snapshotSettings } from './contract.ts';
import {
  contentHash,
  type EncodedSnapshot,
  indexSchema,
  MAX_UNPACKED_BYTES,
  type ShardEntry,
  type SnapshotIndex,
  sha256Hex,
} from './index-document.ts';
import type { ShardKind } from './records.ts';

/** Not to be served: the message says why. The reader keeps what it has. */
export class SnapshotRefused extends Error {
  override readonly name = 'SnapshotRefused';
}

export interface DecodedSnapshot {
  readonly snapshot: Snapshot;
  readonly generation: number;
  /** Hash of the content, lower-case hex. */
  readonly hash: string;
}

const MAX_PROBLEMS = 5;

/** Problems of a snapshot may name a place but never a value: credentials are in it. Messages of the language hold to that. */
function say(what: string, error: z.ZodError): string {
  const problems = problemsOf(error, what);
  const shown = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path} ${message}`);
  const more = problems.length > MAX_PROBLEMS ? [`and ${problems.length - MAX_PROBLEMS} more problems`] : [];
  return [...shown, ...more].join('; ');
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SnapshotRefused(`${what} is not JSON`);
  }
}

function checkFormat(value: unknown): void {
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (format === SNAPSHOT_FORMAT) return;
  const shown = typeof format === 'number' ? String(format) : 'missing';
  throw new SnapshotRefused(`unknown format ${shown}: this version reads format ${SNAPSHOT_FORMAT}`);
}

function readIndex(text: string): SnapshotIndex {
  const value = parseJson(text, 'index');
  checkFormat(value);
  const parsed = indexSchema.safeParse(value);
  if (!parsed.success) throw new SnapshotRefused(say('index', parsed.error));
  const index = parsed.data;
  if (new Set(index.shards.map(({ name }) => name)).size !== index.shards.length) {
    throw new SnapshotRefused('index names a shard twice');
  }
  if (contentHash(index.format, index.shards) !== index.hash) throw new SnapshotRefused('wrong hash of the index');
  return index;
}

function tooLarge(): SnapshotRefused {
  return new SnapshotRefused(`too large: more than ${MAX_UNPACKED_BYTES / 1024 / 1024} MiB unpacked`);
}

function unpack(name: string, bytes: Uint8Array, maxBytes: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw tooLarge();
    }
    throw new SnapshotRefused(`shard ${name} is not gzip`);
  }
}

function verified(entry: ShardEntry, shards: EncodedSnapshot['shards']): Uint8Array {
  const bytes = shards.get(entry.name);
  if (bytes === undefined) throw new SnapshotRefused(`missing shard ${entry.name}`);
  if (sha256Hex(bytes) !== entry.hash) throw new SnapshotRefused(`wrong hash of shard ${entry.name}`);
  return bytes;
}

/** What a shard of a kind holds, and nothing else: no key digests in a ConfigMap, no routing in a Secret. */
const SHARD_SCHEMAS = {
  routing: snapshotSchema.omit({ settings: true, credentials: true, keys: true }).extend({
    settings: snapshotSettings.optional(),
  }),
  credentials: snapshotSchema.pick({ credentials: true }),
  keys: snapshotSchema.pick({ keys: true }),
} as const satisfies Record<ShardKind, z.ZodType>;

/** What shards that were read before hold, by hash. Owned by the reader; a change then costs no more than the shard that it touches. */
export type ShardMemory = Map<string, { readonly part: Partial<Snapshot>; readonly unpackedBytes: number }>;

function readShard(
  entry: ShardEntry,
  bytes: Uint8Array,
  maxBytes: number,
): { part: Partial<Snapshot>; unpackedBytes: number } {
  const unpacked = unpack(entry.name, bytes, maxBytes);
  const value = parseJson(unpacked.toString('utf8'), `shard ${entry.name}`);
  const parsed = SHARD_SCHEMAS[entry.kind].safeParse(value);
  if (!parsed.success) throw new SnapshotRefused(say(`shard ${entry.name}:`, parsed.error));
  return { part: parsed.data as Partial<Snapshot>, unpackedBytes: unpacked.length };
}

function join(parts: readonly Partial<Snapshot>[]): Snapshot {
  const settings = parts.flatMap((part) => (part.settings === undefined ? [] : [part.settings]));
  if (settings[0] === undefined || settings.length > 1) {
    throw new SnapshotRefused(`settings must be in one shard, are in ${settings.length}`);
  }
  return {
    settings: settings[0],
    configs: parts.flatMap(({ configs = [] }) => configs),
    integrations: parts.flatMap(({ integrations = [] }) => integrations),
    credentials: parts.flatMap(({ credentials = [] }) => credentials),
    keys: parts.flatMap(({ keys = [] }) => keys),
    rate_limits: parts.flatMap(({ rate_limits: limits = [] }) => limits),
    usage_limits: parts.flatMap(({ usage_limits: limits = [] }) => limits),
    workspaces: parts.flatMap(({ workspaces = [] }) => workspaces),
    guardrails: parts.flatMap(({ guardrails = [] }) => guardrails),
    prompts: parts.flatMap(({ prompts = [] }) => prompts),
    prompt_versions: parts.flatMap(({ prompt_versions: versions = [] }) => versions),
    refused: parts.flatMap(({ refused = [] }) => refused),
  };
}

function remember(memory: ShardMemory, read: ShardMemory): void {
  memory.clear();
  for (const [hash, shard] of read) memory.set(hash, shard);
}

/**
 * Reads what `encodeSnapshot` wrote; shards that the index does not name are left alone. Throws SnapshotRefused with the reason:
 * an unknown format, a missing or altered shard, too much of it, or a wrong shape. Records come back in an order of their own, and
 * are shared with `memory`: do not change them.
 */
export function decodeSnapshot(encoded: EncodedSnapshot, memory: ShardMemory = new Map()): DecodedSnapshot {
  const index = readIndex(encoded.index);
  const read: ShardMemory = new Map();
  const parts: Partial<Snapshot>[] = [];
  let budget = MAX_UNPACKED_BYTES;
  for (const entry of index.shards) {
    const bytes = verified(entry, encoded.shards);
    const key = `${entry.kind} ${entry.hash}`;
    const shard = memory.get(key) ?? readShard(entry, bytes, budget);
    budget -= shard.unpackedBytes;
    read.set(key, shard);
    parts.push(shard.part);
  }
  if (budget < 0) throw tooLarge();
  const snapshot = join(parts);
  remember(memory, read);
  return { snapshot, generation: index.generation, hash: index.hash };
}

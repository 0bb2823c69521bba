/** What the cache keeps of an answer, and how it is written. Headers are no part of it. */
import type { Dialect, Usage } from '../providers/provider.ts';
import { asUsage } from '../stream/usage.ts';
import type { CacheEncryption } from './cache-encryption.ts';
import type { CacheKey } from './cache-key.ts';

export interface CacheEntry {
  /** 2xx. */
  readonly status: number;
  /** Of the body: the caller's. */
  readonly dialect: Dialect;
  /** The whole answer as JSON text, as a caller who asked for no stream gets it. */
  readonly body: Buffer;
  readonly provider: string;
  /** Model that the upstream says has answered. */
  readonly model: string | undefined;
  /** What the upstream counted when it answered. */
  readonly usage: Usage | undefined;
  /** What it cost then, whole units of 1e-12 US dollars: what is saved where it is given again. undefined: nobody knows. */
  readonly cost: number | undefined;
  /** Unix milliseconds. */
  readonly storedAtMs: number;
  readonly maxAgeMs: number;
}

const FORMAT_PLAIN = 1;
const FORMAT_SEALED = 2;
const LENGTH_BYTES = 4;
const DIALECTS: ReadonlySet<unknown> = new Set<Dialect>(['openai', 'anthropic']);

/** A byte for the format, then the head with its length, then the body; sealed from the second byte on where there is a key. */
export function encodeEntry(entry: CacheEntry, key: CacheKey, encryption: CacheEncryption | undefined): Buffer {
  const { status, dialect, provider, model, usage, cost, storedAtMs, maxAgeMs } = entry;
  const said = [status, dialect, provider, model ?? null, usage ?? null, cost ?? null, storedAtMs, maxAgeMs];
  const head = JSON.stringify(said);
  const headBytes = Buffer.byteLength(head);
  // Not of node's pool: a slice would keep all of it in memory as long as the entry lives.
  const bytes = Buffer.allocUnsafeSlow(1 + LENGTH_BYTES + headBytes + entry.body.length);
  bytes[0] = FORMAT_PLAIN;
  bytes.writeUInt32BE(headBytes, 1);
  bytes.write(head, 1 + LENGTH_BYTES);
  entry.body.copy(bytes, 1 + LENGTH_BYTES + headBytes);
  if (encryption === undefined) return bytes;
  const sealed = encryption.seal(bytes.subarray(1), key.digest);
  const all = Buffer.allocUnsafeSlow(1 + sealed.length);
  all[0] = FORMAT_SEALED;
  sealed.copy(all, 1);
  return all;
}

/**
 * undefined for what is no entry of this key: another format, changed bytes, a key that is gone; where there is a key, also
 * for what is not sealed, because anybody could have written it.
 */
export function decodeEntry(
  bytes: Buffer,
  key: CacheKey,
  encryption: CacheEncryption | undefined,
): CacheEntry | undefined {
  if (bytes[0] !== (encryption === undefined ? FORMAT_PLAIN : FORMAT_SEALED)) return undefined;
  const plain = encryption === undefined ? bytes.subarray(1) : encryption.open(bytes.subarray(1), key.digest);
  if (plain === undefined || plain.length < LENGTH_BYTES) return undefined;
  const bodyAt = LENGTH_BYTES + plain.readUInt32BE(0);
  if (bodyAt > plain.length) return undefined;
  return entryOf(parsedList(plain.toString('utf8', LENGTH_BYTES, bodyAt)), plain.subarray(bodyAt));
}

function entryOf(head: readonly unknown[], body: Buffer): CacheEntry | undefined {
  const [status, dialect, provider, model, usage, cost, storedAtMs, maxAgeMs] = head;
  if (!Number.isInteger(status) || !DIALECTS.has(dialect) || typeof provider !== 'string') return undefined;
  if (!Number.isFinite(storedAtMs) || !Number.isFinite(maxAgeMs)) return undefined;
  return {
    status: status as number,
    dialect: dialect as Dialect,
    body,
    provider,
    model: typeof model === 'string' ? model : undefined,
    usage: asUsage(usage),
    cost: typeof cost === 'number' ? cost : undefined,
    storedAtMs: storedAtMs as number,
    maxAgeMs: maxAgeMs as number,
  };
}

function parsedList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Whether it may still be given to a caller whose config allows `maxAgeMs`. */
export function isFresh({ storedAtMs, maxAgeMs: kept }: CacheEntry, maxAgeMs: number, nowMs: number): boolean {
  return nowMs - storedAtMs < Math.min(kept, maxAgeMs);
}

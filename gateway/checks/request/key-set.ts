/** Published keys, fetched when first needed and kept while they are young. */
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { CheckError } from '../check.ts';
import type { CheckMeans } from '../means.ts';
import { readReply } from '../remote/post-json.ts';

/** Between two fetches for keys that nobody knows: a stream of forged tokens must not become one of requests. */
const COOLDOWN_MS = 30_000;
const MAX_SETS = 256;

/** Outlive the snapshot that asked for them. */
const SETS = new WeakMap<CheckMeans, Map<string, KeySet>>();

export function keySetOf(means: CheckMeans, uri: string, maxAgeSeconds: number, timeoutMs: number): KeySet {
  const sets = SETS.get(means) ?? new Map<string, KeySet>();
  SETS.set(means, sets);
  const name = JSON.stringify([uri, maxAgeSeconds, timeoutMs]);
  const known = sets.get(name);
  if (known !== undefined) return known;
  const [oldest] = sets.keys();
  if (sets.size >= MAX_SETS && oldest !== undefined) sets.delete(oldest);
  const set = new KeySet(means, uri, maxAgeSeconds * 1000, timeoutMs);
  sets.set(name, set);
  return set;
}

/** Finds the key of a token; imports each key once. */
export type FindKey = ReturnType<typeof createLocalJWKSet>;

class KeySet {
  readonly #means: CheckMeans;
  readonly #uri: string;
  readonly #maxAgeMs: number;
  readonly #timeoutMs: number;
  #keys: FindKey | undefined;
  #fetchedAt = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<FindKey> | undefined;

  constructor(means: CheckMeans, uri: string, maxAgeMs: number, timeoutMs: number) {
    this.#means = means;
    this.#uri = uri;
    this.#maxAgeMs = maxAgeMs;
    this.#timeoutMs = timeoutMs;
  }

  /** Throws CheckError where there are none and none can be had. */
  async current(signal: AbortSignal): Promise<FindKey> {
    const now = this.#means.now();
    if (this.#keys !== undefined && now - this.#fetchedAt < this.#maxAgeMs) return this.#keys;
    return this.#refresh(signal);
  }

  /** Newer ones than `known`, or the same where they have just been asked for. */
  async fresherThan(known: FindKey, signal: AbortSignal): Promise<FindKey> {
    if (this.#keys !== undefined && this.#keys !== known) return this.#keys;
    if (this.#means.now() - this.#triedAt < COOLDOWN_MS) return known;
    return this.#refresh(signal);
  }

  /** One fetch for all who wait; it has its own time, since the first of them may leave. */
  #refresh(signal: AbortSignal): Promise<FindKey> {
    signal.throwIfAborted();
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<FindKey> {
    this.#triedAt = this.#means.now();
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const request = { method: 'GET', url: this.#uri, headers: {}, timeoutMs: this.#timeoutMs, signal } as const;
    const keys = await readReply('The key set', () => this.#means.call(request));
    this.#keys = keySet(keys);
    this.#fetchedAt = this.#means.now();
    return this.#keys;
  }
}

function keySet(value: unknown): FindKey {
  try {
    return createLocalJWKSet(value as JSONWebKeySet);
  } catch (error) {
    throw new CheckError('The key set is no JSON Web Key Set.', undefined, error);
  }
}

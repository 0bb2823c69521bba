/** The cache as the phases `recall` and `remember` use it: entries in, entries out; bytes, keys and ages are its own business. */
import type { CacheEncryption } from './cache-encryption.ts';
import type { CacheKey } from './cache-key.ts';
import type { CacheStore } from './cache-store.ts';
import { type CacheEntry, decodeEntry, encodeEntry, isFresh } from './entry.ts';
import type { SemanticQuestion } from './semantic-question.ts';
import { type Candidate, type WhyNotStored, whyNotStored } from './storable.ts';
import type { Vectors } from './vectors.ts';

const DEFAULT_MAX_ENTRY_BYTES = 1024 * 1024;

export interface AnswerCacheOptions {
  readonly store: CacheStore;
  /** undefined: entries lie as they are. */
  readonly encryption: CacheEncryption | undefined;
  /** Of requests whose meaning is compared; undefined: none is. */
  readonly vectors?: Vectors;
  /** Of one body; a larger one is not kept. Default 1 MiB. */
  readonly maxEntryBytes?: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** An answer that may be worth keeping: what is kept, and what speaks against it. */
export interface Answered
  extends Omit<CacheEntry, 'storedAtMs' | 'maxAgeMs'>,
    Omit<Candidate, 'bytes' | keyof CacheEntry> {}

export class AnswerCache {
  readonly #store: CacheStore;
  readonly #encryption: CacheEncryption | undefined;
  readonly #vectors: Vectors | undefined;
  readonly #now: () => number;
  readonly maxEntryBytes: number;

  constructor(options: AnswerCacheOptions) {
    const { store, encryption, vectors, maxEntryBytes = DEFAULT_MAX_ENTRY_BYTES, now = Date.now } = options;
    this.#store = store;
    this.#encryption = encryption;
    this.#vectors = vectors;
    this.#now = now;
    this.maxEntryBytes = maxEntryBytes;
  }

  /** That entries and vectors take in this process. */
  get bytes(): number {
    return this.#store.bytes + (this.#vectors?.bytes ?? 0);
  }

  /** A fresh entry, never one past `maxAgeMs` (the config's) or its own. A promise only where the store is elsewhere. */
  recall(key: CacheKey, maxAgeMs: number): CacheEntry | undefined | Promise<CacheEntry | undefined> {
    const bytes = this.#store.get(key);
    if (bytes === undefined || Buffer.isBuffer(bytes)) return this.#read(bytes, key, maxAgeMs);
    return bytes.then((got) => this.#read(got, key, maxAgeMs));
  }

  /** The answer to the request that means the same, as far as it is as fresh as that. `vector`: of the question's text. */
  async recallSimilar(
    { shelf }: SemanticQuestion,
    vector: ArrayLike<number>,
    maxAgeMs: number,
  ): Promise<CacheEntry | undefined> {
    const similar = this.#vectors?.nearest(shelf, vector);
    if (similar === undefined) return undefined;
    const bytes = await this.#store.get(similar.key);
    if (bytes === undefined) this.#vectors?.remove(similar.key);
    return this.#read(bytes, similar.key, maxAgeMs);
  }

  /** undefined: it is on its way to the store; the caller need not wait. */
  remember(key: CacheKey, answered: Answered, maxAgeMs: number): WhyNotStored | undefined {
    const why = whyNotStored({ ...answered, bytes: answered.body.length }, this.maxEntryBytes);
    if (why !== undefined) return why;
    const entry = { ...answered, storedAtMs: this.#now(), maxAgeMs };
    void this.#store.set(key, encodeEntry(entry, key, this.#encryption), maxAgeMs);
    return undefined;
  }

  /** After `remember`, where that has kept the answer to the question: it answers what means the same, too. */
  rememberMeaning({ key, shelf }: SemanticQuestion, vector: ArrayLike<number>, maxAgeMs: number): void {
    this.#vectors?.add(shelf, vector, key, maxAgeMs);
  }

  forget(key: CacheKey): void {
    this.#vectors?.remove(key);
    void this.#store.delete(key);
  }

  /** Resolves when nothing of the workspace is found any more. */
  async purge(workspace: string): Promise<void> {
    this.#vectors?.purge(workspace);
    await this.#store.purge(workspace);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #read(bytes: Buffer | undefined, key: CacheKey, maxAgeMs: number): CacheEntry | undefined {
    const entry = bytes === undefined ? undefined : decodeEntry(bytes, key, this.#encryption);
    return entry !== undefined && isFresh(entry, maxAgeMs, this.#now()) ? entry : undefined;
  }
}

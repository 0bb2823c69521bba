/**
 * Entries that all replicas share. A workspace has a random mark there, and its entries bear it: without the mark, or with a
 * new one, none of them is found, so that a purge is one command and an evicted mark brings nothing back.
 */
import { randomBytes } from 'node:crypto';
import type { CacheKey } from './cache-key.ts';
import type { CacheStore } from './cache-store.ts';

/** The commands it needs; each rejects with the store's error, or where there is no connection. */
export interface RedisValues {
  value(key: string): Promise<Buffer | null>;
  /** `lifeMs`: whole milliseconds; undefined: for ever. `onlyNew`: what is there stays. */
  keep(key: string, value: Buffer, terms: { readonly lifeMs?: number; readonly onlyNew?: boolean }): Promise<unknown>;
  remove(key: string): Promise<unknown>;
  close(): void;
}

export interface RedisCacheOptions {
  /** Of its own: large values must not be in the way of counts. */
  readonly values: RedisValues;
  /** What tells this installation from others that use the same store. */
  readonly prefix: string;
  /** How long a lookup may take; default 50 ms. */
  readonly timeoutMs?: number;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
  /** Told of each failure, e.g. to count it. */
  readonly onFault?: (error: Error) => void;
}

const MARK_BYTES = 16;
const TIMEOUT_MS = 50;
/** After a failure it is left alone for so long; then one lookup tries. */
const REST_MS = 1000;

export class RedisCache implements CacheStore {
  readonly bytes = 0;
  readonly #values: RedisValues;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #now: () => number;
  readonly #onFault: (error: Error) => void;
  #restUntilMs = 0;

  constructor(options: RedisCacheOptions) {
    this.#values = options.values;
    this.#prefix = options.prefix;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#now = options.now ?? (() => performance.now());
    this.#onFault = options.onFault ?? (() => undefined);
  }

  get(key: CacheKey): Promise<Buffer | undefined> | undefined {
    return this.#asked(async () => {
      // Both go out in one write.
      const [mark, kept] = await Promise.all([
        this.#values.value(this.#markKey(key.workspace)),
        this.#values.value(this.#entryKey(key)),
      ]);
      if (mark === null || kept === null || !kept.subarray(0, MARK_BYTES).equals(mark)) return undefined;
      return kept.subarray(MARK_BYTES);
    });
  }

  set(key: CacheKey, bytes: Buffer, ttlMs: number): Promise<void> | undefined {
    const lifeMs = Math.floor(ttlMs);
    if (lifeMs < 1) return undefined;
    return this.#asked(async () => {
      const markKey = this.#markKey(key.workspace);
      const [, mark] = await Promise.all([
        this.#values.keep(markKey, randomBytes(MARK_BYTES), { onlyNew: true }),
        this.#values.value(markKey),
      ]);
      if (mark?.length !== MARK_BYTES) return;
      await this.#values.keep(this.#entryKey(key), Buffer.concat([mark, bytes]), { lifeMs });
    });
  }

  delete(key: CacheKey): Promise<void> | undefined {
    return this.#asked(async () => {
      await this.#values.remove(this.#entryKey(key));
    });
  }

  /** Rejects where the store did not do it: whoever asks must know. */
  async purge(workspace: string): Promise<void> {
    await this.#values.remove(this.#markKey(workspace));
  }

  async close(): Promise<void> {
    this.#values.close();
  }

  #asked<T>(ask: () => Promise<T>): Promise<T | undefined> | undefined {
    const now = this.#now();
    if (now < this.#restUntilMs) return undefined;
    // While one tries, the others go on without.
    if (this.#restUntilMs > 0) this.#restUntilMs = now + REST_MS;
    return this.#inTime(ask()).then(
      (value) => {
        this.#restUntilMs = 0;
        return value;
      },
      (error: Error) => {
        this.#restUntilMs = this.#now() + REST_MS;
        this.#onFault(error);
        return undefined;
      },
    );
  }

  #inTime<T>(asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('timeout')), this.#timeoutMs);
      asked.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  #markKey(workspace: string): string {
    return `${this.#prefix}:cache-mark:${workspace}`;
  }

  #entryKey({ digest }: CacheKey): string {
    return `${this.#prefix}:cache:${digest}`;
  }
}

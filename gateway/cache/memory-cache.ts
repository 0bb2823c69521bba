/** Entries of this process: the least recently used go first. */
import type { CacheKey } from './cache-key.ts';
import type { CacheStore } from './cache-store.ts';

/** What an entry takes besides its bytes: key, place in the map, buffer. Measured: `test/bench/cache.ts`. */
export const ENTRY_OVERHEAD_BYTES = 512;

export interface MemoryCacheOptions {
  /** Of all entries together, with what each takes besides. */
  readonly maxBytes: number;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
}

interface Kept {
  readonly workspace: string;
  readonly bytes: Buffer;
  readonly endsAtMs: number;
}

export class MemoryCache implements CacheStore {
  /** In order of use: a map keeps the order in which its keys were put. */
  readonly #kept = new Map<string, Kept>();
  readonly #maxBytes: number;
  readonly #now: () => number;
  #bytes = 0;

  constructor({ maxBytes, now = () => performance.now() }: MemoryCacheOptions) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /** Entries, those past their time included until somebody asks for them. */
  get size(): number {
    return this.#kept.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get({ digest }: CacheKey): Buffer | undefined {
    const kept = this.#kept.get(digest);
    if (kept === undefined) return undefined;
    this.#kept.delete(digest);
    if (this.#now() >= kept.endsAtMs) {
      this.#bytes -= sizeOf(kept);
      return undefined;
    }
    this.#kept.set(digest, kept);
    return kept.bytes;
  }

  set(key: CacheKey, bytes: Buffer, ttlMs: number): undefined {
    this.delete(key);
    const kept = { workspace: key.workspace, bytes, endsAtMs: this.#now() + ttlMs };
    const size = sizeOf(kept);
    if (size > this.#maxBytes || ttlMs <= 0) return;
    this.#kept.set(key.digest, kept);
    this.#bytes += size;
    this.#makeRoom();
  }

  delete({ digest }: CacheKey): undefined {
    this.#drop(digest);
  }

  purge(workspace: string): undefined {
    for (const [digest, kept] of this.#kept) if (kept.workspace === workspace) this.#drop(digest);
  }

  async close(): Promise<void> {
    this.#kept.clear();
    this.#bytes = 0;
  }

  #makeRoom(): void {
    for (const digest of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(digest);
    }
  }

  #drop(digest: string): void {
    const kept = this.#kept.get(digest);
    if (kept === undefined) return;
    this.#kept.delete(digest);
    this.#bytes -= sizeOf(kept);
  }
}

function sizeOf({ bytes }: Kept): number {
  return bytes.length + ENTRY_OVERHEAD_BYTES;
}

/** Which requests that were answered mean the same as this one: exact search among those of its shelf, in memory. */
import type { CacheKey } from './cache-key.ts';
import { unitOf, VectorArena } from './vector-arena.ts';

/** From here on two texts are taken to mean the same. */
const MIN_COSINE = 0.95;
/** What a row takes besides its numbers. */
const ROW_OVERHEAD_BYTES = 400;

export interface VectorsOptions {
  /** Of all vectors together; the least recently used go first. */
  readonly maxBytes: number;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
}

/** A request that means the same. */
export interface Similar {
  /** Where its answer is, if it still is. */
  readonly key: CacheKey;
  readonly cosine: number;
}

interface Row {
  readonly key: CacheKey;
  readonly shelf: string;
  readonly slot: number;
  readonly endsAtMs: number;
}

/** All vectors are of one model: where others come, of another length, the model was changed and those of before are dropped. */
export class Vectors {
  readonly #maxBytes: number;
  readonly #now: () => number;
  #arena: VectorArena | undefined;
  /** By the shelf's digest. */
  readonly #shelves = new Map<string, Set<Row>>();
  /** By the entry's digest, in order of use. An entry has one vector. */
  readonly #rows = new Map<string, Row>();

  constructor({ maxBytes, now = () => performance.now() }: VectorsOptions) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  get size(): number {
    return this.#rows.size;
  }

  get bytes(): number {
    return this.#rows.size * rowBytes(this.#arena);
  }

  /** Of those that are not past their time. Where its answer turns out to be gone: `remove` it. */
  nearest({ digest }: CacheKey, vector: ArrayLike<number>): Similar | undefined {
    const shelf = this.#shelves.get(digest);
    const arena = this.#arena;
    if (shelf === undefined || vector.length !== arena?.dimensions) return undefined;
    const unit = unitOf(vector);
    if (unit === undefined) return undefined;
    arena.ask(unit);
    const now = this.#now();
    let best: Row | undefined;
    let wanted = MIN_COSINE;
    for (const row of shelf) {
      const cosine = arena.cosine(row.slot, wanted);
      if (cosine < wanted) continue;
      if (now >= row.endsAtMs) this.remove(row.key);
      else {
        best = row;
        wanted = cosine;
      }
    }
    return best === undefined ? undefined : this.#found(best, wanted);
  }

  /**
   * The answer of `key` is one to `vector`. Throws a RangeError for a key of another workspace than the shelf's: its answer must
   * not be found there. What has no direction is not kept.
   */
  add({ workspace, digest }: CacheKey, vector: ArrayLike<number>, key: CacheKey, ttlMs: number): void {
    if (workspace !== key.workspace) throw new RangeError('key must be of the workspace of the shelf.');
    const unit = unitOf(vector);
    this.remove(key);
    if (unit === undefined || ttlMs <= 0) return;
    const arena = this.#arena?.dimensions === unit.length ? this.#arena : this.#newArena(unit.length);
    if (!this.#makeRoom(arena)) return;
    const row: Row = { key, shelf: digest, slot: arena.add(unit), endsAtMs: this.#now() + ttlMs };
    this.#rows.set(key.digest, row);
    const shelf = this.#shelves.get(digest) ?? new Set();
    this.#shelves.set(digest, shelf.add(row));
  }

  remove({ digest }: CacheKey): void {
    const row = this.#rows.get(digest);
    if (row === undefined) return;
    this.#rows.delete(digest);
    this.#arena?.remove(row.slot);
    const shelf = this.#shelves.get(row.shelf);
    shelf?.delete(row);
    if (shelf?.size === 0) this.#shelves.delete(row.shelf);
  }

  purge(workspace: string): void {
    for (const { key } of this.#rows.values()) if (key.workspace === workspace) this.remove(key);
  }

  #found(row: Row, cosine: number): Similar {
    this.#rows.delete(row.key.digest);
    this.#rows.set(row.key.digest, row);
    return { key: row.key, cosine };
  }

  #newArena(dimensions: number): VectorArena {
    this.#rows.clear();
    this.#shelves.clear();
    this.#arena = new VectorArena(dimensions);
    return this.#arena;
  }

  /** For one more; false: not even one has room. */
  #makeRoom(arena: VectorArena): boolean {
    for (const { key } of this.#rows.values()) {
      if (this.bytes + rowBytes(arena) <= this.#maxBytes) return true;
      this.remove(key);
    }
    return rowBytes(arena) <= this.#maxBytes;
  }
}

function rowBytes(arena: VectorArena | undefined): number {
  return (arena?.slotBytes ?? 0) + ROW_OVERHEAD_BYTES;
}

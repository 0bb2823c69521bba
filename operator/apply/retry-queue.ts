/**
 * Work by key: each key at most once at a time, `limit` keys at once, what fails again later with a growing wait of its own.
 * While nobody answers at all, one key at a time is tried.
 */
import { Backoff } from '#crds/api/backoff.ts';

export interface RetryQueueOptions {
  /** Keys that are worked on at once. */
  readonly limit: number;
  /** Rejects: it is tried again. */
  readonly work: (key: string) => Promise<void>;
  readonly retryOf: (error: unknown) => Retry;
}

/** How a key is tried again. */
export interface Retry {
  /** Bound of its wait. */
  readonly mostMs: number;
  /** It waits at least so long. */
  readonly leastMs: number;
  /** Nobody answered, so that other keys need not be tried now either. */
  readonly isSilence: boolean;
}

interface Item {
  readonly backoff: Backoff;
  dueMs: number;
  /** End of the wait after a failure. */
  notBeforeMs: number;
  timer: NodeJS.Timeout | undefined;
  isRunning: boolean;
  /** It goes as soon as it does not run. */
  isForgotten: boolean;
}

const BOUNDS = { firstMs: 5, mostMs: 1_000_000 };
/** Between two tries while nobody answers. */
const SILENCE = { firstMs: 100, mostMs: 1_000 };
const NEVER = Number.POSITIVE_INFINITY;

export class RetryQueue {
  readonly #options: RetryQueueOptions;
  readonly #items = new Map<string, Item>();
  readonly #ready = new Set<string>();
  readonly #silence = new Backoff(SILENCE);
  #silent = false;
  #pause: NodeJS.Timeout | undefined;
  #running = 0;
  #waiters: (() => void)[] = [];
  #adds = 0;
  #retries = 0;

  constructor(options: RetryQueueOptions) {
    this.#options = options;
  }

  /** Keys that wait or are worked on; how often one was added, and how often one was tried again. */
  get counts(): { readonly depth: number; readonly adds: number; readonly retries: number } {
    return { depth: this.#items.size, adds: this.#adds, retries: this.#retries };
  }

  /** Works on the key once `delayMs` are over, or sooner if it was due sooner. What runs already runs once more. */
  add(key: string, delayMs = 0): void {
    const item = this.#items.get(key) ?? this.#newItem(key);
    item.isForgotten = false;
    const dueMs = Math.max(item.notBeforeMs, Math.min(item.dueMs, performance.now() + delayMs));
    if (dueMs === item.dueMs) return;
    item.dueMs = dueMs;
    if (!item.isRunning) this.#arm(key, item);
  }

  /** Forgets the failures of the key, so that its next `add` counts. */
  renew(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    item.backoff.reset();
    item.notBeforeMs = 0;
  }

  /** What runs already runs to its end. */
  forget(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined) return;
    clearTimeout(item.timer);
    this.#ready.delete(key);
    item.isForgotten = true;
    if (!item.isRunning) this.#items.delete(key);
    this.#tellIdle();
  }

  /** Resolves once nothing waits, and nothing is worked on. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#tellIdle();
    });
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    for (const key of [...this.#items.keys()]) this.forget(key);
  }

  #newItem(key: string): Item {
    const backoff = new Backoff(BOUNDS);
    const item = { backoff, dueMs: NEVER, notBeforeMs: 0, timer: undefined, isRunning: false, isForgotten: false };
    this.#items.set(key, item);
    this.#adds += 1;
    return item;
  }

  #arm(key: string, item: Item): void {
    clearTimeout(item.timer);
    this.#ready.delete(key);
    const waitMs = item.dueMs - performance.now();
    if (waitMs <= 0) this.#enter(key);
    else item.timer = setTimeout(() => this.#enter(key), waitMs);
  }

  #enter(key: string): void {
    this.#ready.add(key);
    this.#pump();
  }

  #pump(): void {
    for (const key of this.#ready) {
      if (this.#pause !== undefined || this.#running >= (this.#silent ? 1 : this.#options.limit)) return;
      const item = this.#items.get(key);
      this.#ready.delete(key);
      if (item !== undefined) void this.#run(key, item);
    }
  }

  async #run(key: string, item: Item): Promise<void> {
    item.isRunning = true;
    item.dueMs = NEVER;
    this.#running += 1;
    try {
      await this.#options.work(key);
      this.#succeeded(item);
    } catch (error) {
      this.#failed(item, this.#options.retryOf(error));
    }
    this.#running -= 1;
    item.isRunning = false;
    if (item.isForgotten || item.dueMs === NEVER) this.#items.delete(key);
    else this.#arm(key, item);
    this.#pump();
    this.#tellIdle();
  }

  #succeeded(item: Item): void {
    this.#silent = false;
    this.#silence.reset();
    item.backoff.reset();
    item.notBeforeMs = 0;
  }

  #failed(item: Item, { mostMs, leastMs, isSilence }: Retry): void {
    this.#retries += 1;
    item.notBeforeMs = performance.now() + Math.max(leastMs, item.backoff.nextMs(mostMs));
    item.dueMs = item.notBeforeMs;
    if (!isSilence || this.#pause !== undefined) return;
    this.#silent = true;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#pump();
    }, this.#silence.nextMs());
  }

  #tellIdle(): void {
    if (this.#items.size > 0) return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}

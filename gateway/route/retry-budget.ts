/** Counted in tenths of a retry, so that sums stay exact. */
const FULL = 100;
const SUCCESS = 1;
const RETRY = 10;

/**
 * Stops retry storms: a token bucket per upstream (provider + host + credential). It starts full at 10 retries, a success
 * adds 0.1, a retry takes 1. Only buckets that are not full are kept, at most `maxUpstreams` of them.
 */
export class RetryBudgets {
  readonly #tenths = new Map<string, number>();
  readonly #maxUpstreams: number;

  constructor(maxUpstreams = 10_000) {
    this.#maxUpstreams = maxUpstreams;
  }

  /** Number of buckets that are not full. */
  get size(): number {
    return this.#tenths.size;
  }

  /** Takes one retry; false: the upstream has none left. */
  take(budgetKey: string): boolean {
    const left = this.#tenths.get(budgetKey) ?? FULL;
    if (left < RETRY) return false;
    // Re-inserted: the first of the map is the one that was longest without a retry.
    this.#tenths.delete(budgetKey);
    this.#tenths.set(budgetKey, left - RETRY);
    if (this.#tenths.size > this.#maxUpstreams) this.#forgetOldest();
    return true;
  }

  /** A success: costs nothing while every bucket is full. */
  noteSuccess(budgetKey: string): void {
    if (this.#tenths.size === 0) return;
    const left = this.#tenths.get(budgetKey);
    if (left === undefined) return;
    if (left + SUCCESS >= FULL) this.#tenths.delete(budgetKey);
    else this.#tenths.set(budgetKey, left + SUCCESS);
  }

  #forgetOldest(): void {
    for (const oldest of this.#tenths.keys()) {
      this.#tenths.delete(oldest);
      return;
    }
  }
}

/** How long to wait before the next try: twice as long each time, up to a bound, never twice the same. */

/** Bound of the waits while the server is away: what comes back shall be noticed soon. */
export const AWAY_MOST_MS = 5_000;
/** Most of what a server asks for by Retry-After. */
export const RETRY_AFTER_MOST_MS = 300_000;

export interface BackoffOptions {
  /** Bound of the first wait. Default 200. */
  readonly firstMs?: number;
  /** Bound of every wait. Default 30,000. */
  readonly mostMs?: number;
  /** From 0 to below 1. Default Math.random. */
  readonly random?: () => number;
}

export class Backoff {
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor({ firstMs = 200, mostMs = 30_000, random = Math.random }: BackoffOptions = {}) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
    this.#random = random;
  }

  /** Milliseconds: between half the bound and the bound, which doubles with each call. `mostMs` lowers this one's bound. */
  nextMs(mostMs: number = this.#mostMs): number {
    const boundMs = Math.min(this.#firstMs * 2 ** this.#failures, this.#mostMs, mostMs);
    this.#failures += 1;
    return boundMs * (0.5 + 0.5 * this.#random());
  }

  /** After a success: the next wait is a first one. */
  reset(): void {
    this.#failures = 0;
  }
}

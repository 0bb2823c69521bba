/** When a reflection tries again, and whether it must begin with a list. */
import { ApiError } from './api-error.ts';
import { AWAY_MOST_MS, type Backoff, RETRY_AFTER_MOST_MS } from './backoff.ts';

export interface Retry {
  readonly waitMs: number;
  /** false: the watch can go on from the version that it asked for. */
  readonly mustList: boolean;
}

const GONE = 410;
/** What says nothing about the version that was asked for. */
const RESUMABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
/** Said by what stands before the server. */
const AWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);
const RESUMABLE_REASONS: ReadonlySet<string> = new Set(['NoAnswer', 'Silent']);

export class WatchRetry {
  readonly #backoff: Backoff;
  #emptyWatches = 0;
  /** Whether the last failure was that the version is too old, or that the server is away. */
  #wasExpired = false;
  #wasAway = false;

  constructor(backoff: Backoff) {
    this.#backoff = backoff;
  }

  /** A watch brought something, or lasted: the next failure is a first one. */
  succeeded(): void {
    this.#backoff.reset();
    this.#wasExpired = false;
    this.#wasAway = false;
    this.#emptyWatches = 0;
  }

  /** A watch ended soon, and had brought nothing. */
  endedEmpty(): void {
    this.#emptyWatches += 1;
  }

  /** Milliseconds until the next watch where none failed: none, unless they end emptily again and again. */
  afterEnd(): number {
    return this.#emptyWatches > 1 ? this.#backoff.nextMs() : 0;
  }

  afterFault(error: Error): Retry {
    const { status = 0, reason = '', retryAfterMs = 0 } = error instanceof ApiError ? error : {};
    const isAway = reason === 'NoAnswer' || AWAY_STATUSES.has(status);
    // The server is back, or well and has said what helps: how long it was away does not count.
    if ((this.#wasAway && !isAway) || (status === GONE && !this.#wasExpired)) this.#backoff.reset();
    this.#wasExpired = status === GONE;
    this.#wasAway = isAway;
    const backoffMs = this.#backoff.nextMs(isAway ? AWAY_MOST_MS : undefined);
    return {
      waitMs: Math.max(backoffMs, Math.min(retryAfterMs, RETRY_AFTER_MOST_MS)),
      mustList: !(RESUMABLE_STATUSES.has(status) || RESUMABLE_REASONS.has(reason)),
    };
  }
}

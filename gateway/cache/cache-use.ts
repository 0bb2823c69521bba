/** What the cache was to one request, for its log line, its bill and metrics. */
import type { CacheStatus } from './cache-status.ts';

export interface CacheUse {
  readonly status: CacheStatus;
  /** Of an answer that was not called for; undefined: it was. */
  readonly recalled: Spared | undefined;
}

export interface Spared {
  /** Who had given the answer. */
  readonly provider: string;
  /** What it had cost, 1e-12 US dollars; undefined: nobody knows. */
  readonly cost: number | undefined;
}

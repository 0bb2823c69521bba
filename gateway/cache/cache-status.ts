/** The word of `x-gateway-cache-status`. */
export type CacheStatus = 'HIT' | 'SEMANTIC HIT' | 'MISS' | 'SEMANTIC MISS' | 'REFRESH' | 'DISABLED';

/** What happened in the cache for one request. */
export interface CacheCourse {
  /** A cache applies: the config has one, and the request can be told from others. */
  readonly enabled: boolean;
  /** The caller forced a new answer. */
  readonly refreshed: boolean;
  /** The answer came from: an equal request (stored, or a call that was already running), one that means the same, or neither. */
  readonly found: 'equal' | 'similar' | undefined;
  /** What means the same was looked for. */
  readonly searched: boolean;
}

export function cacheStatus({ enabled, refreshed, found, searched }: CacheCourse): CacheStatus {
  if (!enabled) return 'DISABLED';
  if (refreshed) return 'REFRESH';
  if (found !== undefined) return found === 'equal' ? 'HIT' : 'SEMANTIC HIT';
  return searched ? 'SEMANTIC MISS' : 'MISS';
}

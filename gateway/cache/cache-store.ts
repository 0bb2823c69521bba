/** Where entries lie. A store that is away has nothing and keeps nothing; only `purge` tells, by rejecting. */
import type { CacheKey } from './cache-key.ts';

export interface CacheStore {
  /** A promise only where there is something to wait for. undefined: not there, or past its time. */
  get(key: CacheKey): Buffer | undefined | Promise<Buffer | undefined>;
  /** Kept for at most `ttlMs`; replaces what was there. The bytes must not change afterwards. */
  set(key: CacheKey, bytes: Buffer, ttlMs: number): undefined | Promise<void>;
  delete(key: CacheKey): undefined | Promise<void>;
  /** Nothing that a workspace has is found any more. */
  purge(workspace: string): undefined | Promise<void>;
  /** That it takes in this process. */
  readonly bytes: number;
  close(): Promise<void>;
}

/** A config's `cache`, compiled. */
import type { z } from 'zod';
import type { cacheSchema } from '#crds/config/cache.ts';

const DEFAULT_MAX_AGE_SECONDS = 604_800;

export interface CacheRule {
  readonly mode: 'simple' | 'semantic';
  readonly maxAgeMs: number;
}

/** Seconds of the manifest, whose bounds its schema checks, -> milliseconds. undefined: nothing is cached. */
export function cacheRuleOf(said: z.infer<typeof cacheSchema> | undefined): CacheRule | undefined {
  if (said === undefined) return undefined;
  return { mode: said.mode, maxAgeMs: (said.max_age ?? DEFAULT_MAX_AGE_SECONDS) * 1000 };
}

/** Whether the caller's `cache-control` forbids to keep the answer. */
export function asksNoStore(cacheControl: string | undefined): boolean {
  return cacheControl !== undefined && /(?:^|,)\s*no-store\s*(?:,|$)/i.test(cacheControl);
}

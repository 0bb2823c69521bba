import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CacheKey } from '#gateway/cache/cache-key.ts';
import { CacheScope } from '#gateway/cache/cache-scope.ts';
import { MemoryCache } from '#gateway/cache/memory-cache.ts';

const ENTRIES = 50_000;
const ENTRY_BYTES = 1_000;

/** Bytes that an entry takes besides its own, heap and buffers together. */
export function memoryPerEntry(): number {
  const scope = CacheScope.of({ workspace: 'team-a', epoch: '', cacheNamespace: undefined, metadata: {} });
  const cache = new MemoryCache({ maxBytes: Number.MAX_SAFE_INTEGER });
  const before = usedBytes();
  for (let at = 0; at < ENTRIES; at += 1)
    cache.set(CacheKey.of(scope, [String(at)]), Buffer.allocUnsafeSlow(ENTRY_BYTES).fill(1), 3_600_000);
  const taken = usedBytes() - before;
  // Kept until here.
  if (cache.size !== ENTRIES) throw new Error('entries were dropped');
  return taken / ENTRIES - ENTRY_BYTES;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

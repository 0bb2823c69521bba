/** One suite against every store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe } from 'vitest';
import { MemoryStore } from '#gateway/limits/memory-store.ts';
import { SqliteStore } from '#gateway/limits/sqlite-store.ts';
import { itIsAStore, type StoreUnderTest } from './conformance.ts';
import { describeRedis } from './describe-redis.ts';
import {
  newPrefix,
  type RedisServers,
  startRedis,
  startRedisCluster,
  startSentinelRedis,
  startTlsRedis,
} from './redis-servers.ts';
import { openShared } from './shared-store.ts';

function virtualClock() {
  let nowMs = Date.now();
  const pass = async (ms: number) => {
    nowMs += ms;
  };
  return { now: () => nowMs, pass };
}

describe('memory', () => {
  itIsAStore(async () => {
    const { now, pass } = virtualClock();
    return { store: new MemoryStore({ now }), other: undefined, pass, close: async () => undefined };
  });
});

describe('SQLite', () => {
  itIsAStore(async () => {
    const { now, pass } = virtualClock();
    const folder = mkdtempSync(join(tmpdir(), 'model-gateway-sqlite-'));
    const store = new SqliteStore({ path: join(folder, 'usage.db'), log: { event: () => undefined }, now });
    const close = async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    };
    return { store, other: undefined, pass, close };
  });
});

const SERVERS: readonly (readonly [string, () => Promise<RedisServers>])[] = [
  ['Redis', startRedis],
  ['Redis Cluster of three masters', startRedisCluster],
  ['Redis behind a sentinel', startSentinelRedis],
  ['Redis with TLS and a password', startTlsRedis],
];

for (const [name, start] of SERVERS) {
  describeRedis(name, () => itIsAStore(() => openBoth(start)));
}

async function openBoth(start: () => Promise<RedisServers>): Promise<StoreUnderTest> {
  const servers = await start();
  const prefix = newPrefix();
  const [store, other] = await Promise.all([openShared(servers, { prefix }), openShared(servers, { prefix })]);
  const close = async () => {
    await Promise.all([store.close(), other.close()]);
    await servers.stop();
  };
  return { store, other, pass: async (ms) => void (await wait(ms + 5)), close };
}

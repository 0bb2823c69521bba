/** What every store of entries does, whatever it is made of. */
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CacheKey } from '#gateway/cache/cache-key.ts';
import type { CacheStore } from '#gateway/cache/cache-store.ts';
import { MemoryCache } from '#gateway/cache/memory-cache.ts';
import { RedisCache } from '#gateway/cache/redis-cache.ts';
import { RedisConnection } from '#gateway/limits/redis-connection.ts';
import { describeRedis } from '../limits/stores/describe-redis.ts';
import { newPrefix, type RedisServers, startRedis, startRedisCluster } from '../limits/stores/redis-servers.ts';
import { addressOf, connected } from './redis-values.ts';
import { keyOf } from './requests.ts';

interface Staged {
  readonly store: CacheStore;
  /** Lets at least so much time pass for the store, and hardly more. */
  pass(ms: number): Promise<void>;
}

const LONG_MS = 600_000;

const WORDS = ['set', 'delete', 'purge', 'get'] as const;
const COMMANDS: Readonly<Record<(typeof WORDS)[number], (store: CacheStore, key: CacheKey) => unknown>> = {
  set: (store, key) => store.set(key, Buffer.from('x'), LONG_MS),
  delete: (store, key) => store.delete(key),
  purge: (store, { workspace }) => store.purge(workspace),
  get: (store, key) => store.get(key),
};

function behaves(start: () => Promise<Staged>): void {
  let staged: Staged;
  let store: CacheStore;
  beforeAll(async () => {
    staged = await start();
    store = staged.store;
  });
  afterAll(() => store.close());

  it('gives back the bytes, and nothing for other keys', async () => {
    const bytes = Buffer.from([0, 255, 10, 13, 0]);
    await store.set(keyOf('bytes'), bytes, LONG_MS);
    expect(await store.get(keyOf('bytes'))).toEqual(bytes);
    expect(await store.get(keyOf('others'))).toBeUndefined();
    expect(await store.get(keyOf('bytes', 'team-b'))).toBeUndefined();
  });

  it('keeps the newest', async () => {
    await store.set(keyOf('newest'), Buffer.from('old'), LONG_MS);
    await store.set(keyOf('newest'), Buffer.from('new'), LONG_MS);
    expect(String(await store.get(keyOf('newest')))).toBe('new');
  });

  it('gives nothing past its time', async () => {
    await store.set(keyOf('brief'), Buffer.from('x'), 400);
    await store.set(keyOf('lasting'), Buffer.from('x'), LONG_MS);
    await staged.pass(400);
    expect(await store.get(keyOf('brief'))).toBeUndefined();
    expect(await store.get(keyOf('lasting'))).toBeDefined();
  });

  it('a new time takes the place of the old one', async () => {
    await store.set(keyOf('renewed'), Buffer.from('x'), 400);
    await store.set(keyOf('renewed'), Buffer.from('x'), LONG_MS);
    await staged.pass(400);
    expect(await store.get(keyOf('renewed'))).toBeDefined();
  });

  it.each([0, -1])('keeps nothing for %d ms', async (ttlMs) => {
    await store.set(keyOf('never'), Buffer.from('x'), ttlMs);
    expect(await store.get(keyOf('never'))).toBeUndefined();
  });

  it('deletes one', async () => {
    await store.set(keyOf('deleted'), Buffer.from('x'), LONG_MS);
    await store.set(keyOf('left'), Buffer.from('x'), LONG_MS);
    await store.delete(keyOf('deleted'));
    await store.delete(keyOf('never was'));
    expect(await store.get(keyOf('deleted'))).toBeUndefined();
    expect(await store.get(keyOf('left'))).toBeDefined();
  });

  it('purges all of a workspace and nothing of another, and goes on keeping', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `entry ${at}`);
    for (const workspace of ['team-p', 'team-q'])
      for (const name of names) await store.set(keyOf(name, workspace), Buffer.from(name), LONG_MS);
    await store.purge('team-p');
    await store.purge('team-unknown');
    for (const name of names) {
      expect(await store.get(keyOf(name, 'team-p'))).toBeUndefined();
      expect(String(await store.get(keyOf(name, 'team-q')))).toBe(name);
    }
    await store.set(keyOf('entry 1', 'team-p'), Buffer.from('after'), LONG_MS);
    expect(String(await store.get(keyOf('entry 1', 'team-p')))).toBe('after');
    expect(await store.get(keyOf('entry 2', 'team-p'))).toBeUndefined();
  });

  it('keeps 1 MiB', async () => {
    const bytes = Buffer.alloc(1024 * 1024, 'large ');
    await store.set(keyOf('large'), bytes, LONG_MS);
    expect(bytes.equals((await store.get(keyOf('large'))) ?? Buffer.alloc(0))).toBe(true);
  });

  it('no sequence of one tenant’s commands changes what another one gets', async () => {
    const command = fc.record({
      what: fc.constantFrom(...WORDS),
      name: fc.constantFrom('a', 'b'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 12 }), async (commands) => {
        for (const name of ['a', 'b']) await store.set(keyOf(name, 'team-y'), Buffer.from(`y ${name}`), LONG_MS);
        for (const { what, name } of commands) await COMMANDS[what](store, keyOf(name, 'team-x'));
        for (const name of ['a', 'b']) expect(String(await store.get(keyOf(name, 'team-y')))).toBe(`y ${name}`);
      }),
      { numRuns: 25 },
    );
  });
}

describe('in memory', () => {
  behaves(async () => {
    let nowMs = 1_000;
    const store = new MemoryCache({ maxBytes: 64 * 1024 * 1024, now: () => nowMs });
    return {
      store,
      pass: async (ms) => {
        nowMs += ms;
      },
    };
  });
});

const SERVERS = [
  ['in a Redis', () => startRedis()],
  ['in a Redis Cluster', startRedisCluster],
] as const;

for (const [name, startServers] of SERVERS) {
  describeRedis(name, () => {
    let servers: RedisServers;
    afterAll(() => servers.stop());
    behaves(async () => {
      servers = await startServers();
      const values = new RedisConnection({ address: addressOf(servers.url), ca: undefined });
      await connected(values);
      return {
        store: new RedisCache({ values, prefix: newPrefix(), timeoutMs: 20_000 }),
        pass: (ms) => setTimeout(ms + 50),
      };
    });
  });
}

/** A shared store that does not do what it should. What it does when all is well: `cache-store.test.ts`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisCache, type RedisValues } from '#gateway/cache/redis-cache.ts';
import { RedisConnection } from '#gateway/limits/redis-connection.ts';
import { describeRedis } from '../limits/stores/describe-redis.ts';
import { newPrefix, type RedisServers, startRedis } from '../limits/stores/redis-servers.ts';
import { addressOf, connected } from './redis-values.ts';
import { keyOf } from './requests.ts';

const LONG_MS = 600_000;

/** Values in memory that fail or hang as told. */
class ScriptedValues implements RedisValues {
  mode: 'well' | 'failing' | 'hanging' = 'well';
  asked = 0;
  readonly kept = new Map<string, Buffer>();

  value(key: string): Promise<Buffer | null> {
    return this.#answer(() => this.kept.get(key) ?? null);
  }

  keep(key: string, value: Buffer, { onlyNew }: { readonly onlyNew?: boolean }): Promise<unknown> {
    return this.#answer(() => (onlyNew === true && this.kept.has(key) ? undefined : this.kept.set(key, value)));
  }

  remove(key: string): Promise<unknown> {
    return this.#answer(() => this.kept.delete(key));
  }

  close(): void {
    this.kept.clear();
  }

  #answer<T>(value: () => T): Promise<T> {
    this.asked += 1;
    if (this.mode === 'hanging') return new Promise(() => undefined);
    return this.mode === 'failing' ? Promise.reject(new Error('READONLY')) : Promise.resolve(value());
  }
}

function stage(timeoutMs = 20_000) {
  const values = new ScriptedValues();
  const clock = { nowMs: 0 };
  const faults: string[] = [];
  const onFault = ({ message }: Error) => faults.push(message);
  const store = new RedisCache({ values, prefix: 'test', timeoutMs, now: () => clock.nowMs, onFault });
  return { values, clock, faults, store };
}

describe('a shared store that is away', () => {
  it.each(['failing', 'hanging'] as const)('and is %s has nothing, keeps nothing, and tells why', async (mode) => {
    const { values, clock, faults, store } = stage(30);
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    values.mode = mode;
    expect(await store.get(keyOf('one'))).toBeUndefined();
    clock.nowMs += 1_000;
    expect(await store.set(keyOf('two'), Buffer.from('x'), LONG_MS)).toBeUndefined();
    clock.nowMs += 1_000;
    expect(await store.delete(keyOf('one'))).toBeUndefined();
    expect(faults).toEqual(Array(3).fill(mode === 'failing' ? 'READONLY' : 'timeout'));
  });

  it('G32: is left alone for a second, in which nobody waits; then one tries', async () => {
    const { values, clock, faults, store } = stage();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    values.mode = 'failing';
    await store.get(keyOf('one'));
    const before = values.asked;
    for (let at = 0; at < 100; at += 1) expect(store.get(keyOf('one'))).toBeUndefined();
    clock.nowMs += 999;
    expect(store.get(keyOf('one'))).toBeUndefined();
    expect(values.asked).toBe(before);
    clock.nowMs += 1;
    const trying = store.get(keyOf('one'));
    expect(trying).toBeInstanceOf(Promise);
    expect(store.get(keyOf('one'))).toBeUndefined();
    await trying;
    expect(faults.length).toBe(2);
  });

  it('is used again once it answers', async () => {
    const { values, clock, store } = stage();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    values.mode = 'failing';
    await store.get(keyOf('one'));
    values.mode = 'well';
    clock.nowMs += 1_000;
    expect(String(await store.get(keyOf('one')))).toBe('x');
    expect(String(await store.get(keyOf('one')))).toBe('x');
  });

  it('says so to whoever purges: what was not purged would be found again', async () => {
    const { values, store } = stage();
    values.mode = 'failing';
    await expect(store.purge('team-a')).rejects.toThrow('READONLY');
  });
});

describe('the mark of a workspace', () => {
  const markOf = (values: ScriptedValues) => [...values.kept.keys()].find((key) => key.includes('mark')) ?? '';

  it('where the store has lost it, nothing of before is found, also after new entries', async () => {
    const { values, store } = stage();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    values.kept.delete(markOf(values));
    expect(await store.get(keyOf('one'))).toBeUndefined();
    await store.set(keyOf('two'), Buffer.from('x'), LONG_MS);
    expect(await store.get(keyOf('one'))).toBeUndefined();
    expect(await store.get(keyOf('two'))).toBeDefined();
  });

  it('an entry that was begun before a purge and arrives after it is not found', async () => {
    const { values, store } = stage();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    const keep = values.keep.bind(values);
    values.keep = async (key, value, terms) => {
      if (!key.includes('mark')) await store.purge('team-a');
      return keep(key, value, terms);
    };
    await store.set(keyOf('two'), Buffer.from('x'), LONG_MS);
    expect(values.kept.size).toBe(2);
    expect(await store.get(keyOf('two'))).toBeUndefined();
  });

  it('purging takes one command, however much there is', async () => {
    const { values, store } = stage();
    for (let at = 0; at < 100; at += 1) await store.set(keyOf(`entry ${at}`), Buffer.from('x'), LONG_MS);
    const before = values.asked;
    await store.purge('team-a');
    expect(values.asked).toBe(before + 1);
  });
});

describeRedis('a Redis', () => {
  let servers: RedisServers;
  let values: RedisConnection;
  beforeAll(async () => {
    servers = await startRedis();
    values = new RedisConnection({ address: addressOf(servers.url), ca: undefined });
    await connected(values);
  });
  afterAll(async () => {
    values.close();
    await servers.stop();
  });

  function staged(timeoutMs = 20_000) {
    const clock = { nowMs: 0 };
    const prefix = newPrefix();
    const faults: string[] = [];
    const onFault = ({ message }: Error) => faults.push(message);
    const store = new RedisCache({ values, prefix, timeoutMs, now: () => clock.nowMs, onFault });
    return { clock, prefix, faults, store };
  }

  it('that was flushed has nothing, and keeps again', async () => {
    const { store } = staged();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    await servers.nodes[0]?.client.flushall();
    expect(await store.get(keyOf('one'))).toBeUndefined();
    await store.set(keyOf('one'), Buffer.from('y'), LONG_MS);
    expect(String(await store.get(keyOf('one')))).toBe('y');
  });

  it('that has values of another type under our names has nothing, and throws nothing', async () => {
    const { store, prefix, faults } = staged();
    await servers.nodes[0]?.client.lpush(`${prefix}:cache-mark:team-a`, 'x');
    expect(await store.get(keyOf('one'))).toBeUndefined();
    expect(faults[0]).toContain('WRONGTYPE');
  });

  it('whose values were cut or written by others has nothing', async () => {
    const { store, prefix } = staged();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    const client = servers.nodes[0]?.client;
    for (const foreign of ['', 'x', 'a'.repeat(16), 'a'.repeat(100)]) {
      await client?.set(`${prefix}:cache:${keyOf('one').digest}`, foreign);
      expect(await store.get(keyOf('one'))).toBeUndefined();
    }
    await client?.set(`${prefix}:cache-mark:team-a`, '');
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    expect(await store.get(keyOf('one'))).toBeUndefined();
  });

  it('forgets by itself what is past its time', async () => {
    const { store, prefix } = staged();
    await store.set(keyOf('one'), Buffer.from('x'), LONG_MS);
    const leftMs = (await servers.nodes[0]?.client.pttl(`${prefix}:cache:${keyOf('one').digest}`)) ?? 0;
    expect(leftMs).toBeGreaterThan(LONG_MS / 2);
    expect(leftMs).toBeLessThanOrEqual(LONG_MS);
  });

  it('G32: that hangs makes one caller wait for no longer than the limit', async () => {
    const { store, faults } = staged(40);
    const process = servers.nodes[0]?.process;
    process?.signal('SIGSTOP');
    try {
      expect(await store.get(keyOf('one'))).toBeUndefined();
      expect(store.get(keyOf('one'))).toBeUndefined();
      expect(faults).toEqual(['timeout']);
    } finally {
      process?.signal('SIGCONT');
    }
  });
});

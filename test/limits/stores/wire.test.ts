/** What a shared store is asked, and what it keeps. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNetProxy } from '../../fakes/net.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { budget, demands, mustTake, rate, take } from './counters.ts';
import { describeRedis } from './describe-redis.ts';
import { newPrefix, type RedisServers, startRedis } from './redis-servers.ts';
import { openShared } from './shared-store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describeRedis('a shared store', () => {
  let servers: RedisServers;
  beforeAll(async () => {
    servers = await startRedis();
  });
  afterAll(() => servers.stop());

  const clientOf = () => {
    const client = servers.nodes[0]?.client;
    if (client === undefined) throw new Error('there is a server');
    return client;
  };
  /** Calls from outside by name; what scripts call is not among them. */
  async function calls(): Promise<Record<string, number>> {
    const lines = (await clientOf().info('commandstats')).split('\r\n');
    const found = lines.map((line) => /^cmdstat_(\w+):calls=(\d+)/.exec(line)).filter((match) => match !== null);
    return Object.fromEntries(found.map(([, name, count]) => [name, Number(count)]));
  }

  it('is asked once for all limits of a request, and is told by the way what others before it used', async () => {
    const store = await openShared(servers, { prefix: newPrefix() });
    const all = demands(
      ...Array.from({ length: 8 }, (_, at) => [rate(`rate-${at}`, 1_000), 1]).flat(),
      ...[budget('a', 10_000n), 1, budget('b', 10_000n), 1],
    );
    await clientOf().config('RESETSTAT');
    for (let round = 0; round < 100; round++) {
      const decision = await store.reserve(all);
      if (decision.ok) decision.hold.settle(all.map(() => 1));
    }
    const isSettled = async () => [...(store.usage?.() ?? [])].every(({ used }) => used === 100n);
    await waitFor(isSettled, 'the last settlement');
    const { evalsha, eval: loads = 0, ping = 0, script = 0 } = await calls();
    expect({ evalsha, loads, ping, script }).toEqual({ evalsha: 101, loads: 0, ping: 0, script: 0 });
    await store.close();
  });

  it('is asked once for requests that come together', async () => {
    const store = await openShared(servers, { prefix: newPrefix() });
    await clientOf().config('RESETSTAT');
    const decisions = await Promise.all(Array.from({ length: 64 }, () => take(store, rate('requests', 40), 1)));
    expect(decisions.filter(({ ok }) => ok)).toHaveLength(40);
    expect(decisions.map(({ readings }) => readings[0]?.used)).toEqual([
      ...Array.from({ length: 40 }, (_, at) => at + 1),
      ...Array.from({ length: 24 }, () => 40),
    ]);
    expect((await calls()).evalsha).toBe(1);
    await store.close();
  });

  it('forgets windows when they are over and budgets a day after their period', async () => {
    const prefix = newPrefix();
    const store = await openShared(servers, { prefix });
    const endsMs = Date.now() + 5 * HOUR_MS;
    const { hold } = await mustTake(
      store,
      ...[rate('minute', 10), 1, rate('week', 10, 7 * DAY_MS), 1],
      ...[budget('period', 10n, { endsMs }), 1, budget('ever', 10n), 1],
    );
    const lifeOf = (key: string) => clientOf().pttl(`{${prefix}}:${key}`);
    const check = async () => {
      expect(await lifeOf('minute')).toBeGreaterThan(45_000);
      expect(await lifeOf('minute')).toBeLessThanOrEqual(75_000);
      expect(await lifeOf('week')).toBeGreaterThan(7 * DAY_MS - HOUR_MS);
      expect(await lifeOf('week')).toBeLessThanOrEqual(9 * DAY_MS);
      expect(await lifeOf('period')).toBeGreaterThan(DAY_MS + 4 * HOUR_MS);
      expect(await lifeOf('period')).toBeLessThanOrEqual(DAY_MS + 5 * HOUR_MS);
      expect(await lifeOf('ever')).toBeGreaterThan(300 * DAY_MS);
    };
    await check();
    hold.settle([1, 0, 1, 0]);
    await check();
    await store.close();
    const left = await clientOf().keys(`{${prefix}}:*`);
    expect(left.toSorted()).toEqual(['ever', 'minute', 'period', 'week'].map((key) => `{${prefix}}:${key}`));
  });

  it('keeps counts of many entries small, and never admits too much by it', async () => {
    const prefix = newPrefix();
    const store = await openShared(servers, { prefix });
    const counter = rate('many', 1_000, 5_000);
    const begin = performance.now();
    let admitted = 0;
    while (performance.now() - begin < 3_000) if ((await take(store, counter, 1)).ok) admitted++;
    expect(admitted).toBe(1_000);
    expect(await clientOf().strlen(`{${prefix}}:many`)).toBeLessThanOrEqual(48 + 2 * 240 * 16);
    await store.close();
  });

  it('has nothing of installations with another prefix', async () => {
    const [one, other] = await Promise.all([0, 1].map(() => openShared(servers, { prefix: newPrefix() })));
    if (one === undefined || other === undefined) throw new Error('there are two');
    await mustTake(one, rate('requests', 1), 1);
    await mustTake(other, rate('requests', 1), 1);
    await Promise.all([one.close(), other.close()]);
  });

  it('has back what was held by requests whose answer was lost on the way', async () => {
    const prefix = newPrefix();
    const proxy = await startNetProxy(servers.url.replace('redis:', 'http:'), { delayMs: 100 });
    const url = `redis://127.0.0.1:${proxy.port}`;
    const store = await openShared({ url, caFile: undefined }, { prefix });
    const lost = Promise.all(Array.from({ length: 50 }, () => take(store, budget('money', 1_000n), 10)));
    const held = () => clientOf().keys(`{${prefix}}:held:*`);
    await waitFor(async () => (await held()).length === 1, 'the store to have taken them');
    proxy.setFault('reset');
    await lost;
    proxy.setFault('none');
    await waitFor(async () => (await held()).length === 0, 'nothing to be held', 20_000);
    await store.close();
    await proxy.close();
  }, 40_000);
});

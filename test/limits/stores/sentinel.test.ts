/** A store whose master is replaced by another server. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../fakes/wait-for.ts';
import { budget, mustTake, rate, take } from './counters.ts';
import { describeRedis } from './describe-redis.ts';
import { newPrefix, type RedisServers, startSentinelRedis } from './redis-servers.ts';
import { openShared } from './shared-store.ts';

describeRedis('a store behind a sentinel', () => {
  let servers: RedisServers;
  beforeAll(async () => {
    servers = await startSentinelRedis();
  }, 60_000);
  afterAll(() => servers.stop());

  it('is the new master when the old one is killed, with all that was used', async () => {
    const store = await openShared(servers, { prefix: newPrefix(), timeoutMs: 500 });
    const money = budget('money', 100n);
    (await mustTake(store, rate('requests', 10), 5, money, 40)).hold.settle([5, 40]);
    const [master, replica] = servers.nodes;
    await waitFor(async () => Number(await replica?.client.dbsize()) >= 2, 'the replica to have it');
    await master?.process.kill();
    await mustTake(store, rate('requests', 10), 1, money, 10).then(({ hold }) => hold.settle([1, 10]));
    await waitFor(() => store.state?.() === 'ok', 'the new master', 40_000);
    expect(await replica?.client.role()).toEqual(expect.arrayContaining(['master']));
    const isThere = async () => {
      const decision = await take(store, money, 51);
      return !decision.ok && decision.readings[0]?.used === 50;
    };
    await waitFor(isThere, 'all to be handed in', 10_000);
    await mustTake(store, money, 50);
    expect(store.faults?.().size).toBeGreaterThan(0);
    await store.close();
  }, 90_000);
});

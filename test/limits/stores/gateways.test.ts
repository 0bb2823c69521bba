/** Gateways that count in one store, and one that counts in a file. */
import { afterEach, expect, it } from 'vitest';
import { storeAddress } from '#crds/command/store-address.ts';
import { type OpenStore, sharedStore } from '#gateway/limits/open-store.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { ask, type LimitStage, rateLimit, startLimitStage, statuses, usageLimit } from '../stage.ts';
import { describeRedis } from './describe-redis.ts';
import { newPrefix, type RedisServers, startRedis } from './redis-servers.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function storeAt({ url }: RedisServers, prefix: string, timeoutMs: number): OpenStore {
  const outcome = storeAddress(url);
  if ('problem' in outcome) throw new Error(outcome.problem);
  return sharedStore({ address: outcome.value, prefix, passwordFile: undefined, caFile: undefined, timeoutMs });
}

async function staged(limits: string, timeoutMs = 10_000) {
  const servers = await startRedis();
  ends.push(() => servers.stop());
  const prefix = newPrefix();
  const start = async (): Promise<LimitStage> => {
    const gateway = { store: storeAt(servers, prefix, timeoutMs), limitClock: Date.now };
    const stage = await startLimitStage(limits, { gateway });
    ends.push(() => stage.close());
    return stage;
  };
  const [one, other] = [await start(), await start()];
  return { servers, prefix, one, other };
}

describeRedis('two gateways on one store', () => {
  it('admit together what one would alone', async () => {
    const { one, other } = await staged(rateLimit('few', { value: 5, unit: 'rph' }));
    const inTurn = [one, other, one, other, one, other, one, other];
    const answers = [];
    for (const stage of inTurn) answers.push(await ask(stage));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const remaining = answers.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'));
    expect(remaining).toEqual(['4', '3', '2', '1', '0', '0', '0', '0']);
    const retryAfter = Number(answers.at(-1)?.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(3_500);
    expect(retryAfter).toBeLessThanOrEqual(3_600);
  });

  it('tell what both used of a budget, and leave nothing behind that is held', async () => {
    const { servers, prefix, one, other } = await staged(usageLimit('tokens', { credit_limit: 1_000_000 }));
    await statuses(3, () => ask(one));
    await statuses(3, () => ask(other));
    const pageOf = async (stage: LimitStage) => (await fetch(`${stage.gateway.adminOrigin}/usage`)).json();
    await ask(one);
    const used = async (stage: LimitStage) => {
      const { budgets } = (await pageOf(stage)) as { budgets: { used: string }[] };
      return Number(budgets[0]?.used);
    };
    await waitFor(async () => (await used(one)) > 0, 'something to be settled');
    await ask(other);
    await waitFor(async () => (await used(other)) >= (await used(one)), 'the same to be told');
    expect(await pageOf(one)).toMatchObject({ mode: 'total', store: { state: 'ok' } });
    for (const { gateway } of [one, other]) await gateway.gateway.drain();
    const left = (await servers.nodes[0]?.client.keys(`{${prefix}}:*`)) ?? [];
    expect(left.filter((key) => /:(held|settled|replicas)/.test(key))).toEqual([]);
    expect(left).toHaveLength(1);
  });

  it('go on alone while it is away, and say so in their metrics and their log', async () => {
    const { servers, one } = await staged(rateLimit('many', { value: 1_000 }), 500);
    expect(await one.gateway.metric('modelgateway_store_degraded')).toBe(0);
    const [node] = servers.nodes;
    await node?.process.kill();
    expect(await statuses(5, () => ask(one))).toEqual([200, 200, 200, 200, 200]);
    expect(await one.gateway.metric('modelgateway_store_degraded')).toBe(1);
    expect(await one.gateway.metric('modelgateway_store_faults_total')).toBeGreaterThan(0);
    const again = await startRedis([], node?.port);
    ends.push(() => again.stop());
    await waitFor(async () => (await one.gateway.metric('modelgateway_store_degraded')) === 0, 'the store', 10_000);
    expect(await statuses(1, () => ask(one))).toEqual([200]);
    const lines = (await one.gateway.logs()).map(({ msg }) => msg);
    expect(lines).toContain('the shared store is away: this replica counts alone');
    expect(lines).toContain('the shared store is back');
  }, 60_000);
});

/** The operator asks gateways what they counted, and tells them, and the owners of budgets. */
import { describe, expect, it, vi } from 'vitest';
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { groupIdOf } from '#crds/limits/counter-key.ts';
import { sharesObject } from '#crds/snapshot/object-names.ts';
import type { Shares } from '#crds/snapshot/shares.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, NAMESPACE, objectIn, RELEASE, sharesIn } from '../faults/outcome.ts';
import type { PretendGateway } from '../faults/pretend-gateway.ts';
import { openStage, type Stage, useStages } from '../faults/stage.ts';
import { apiKey, config, policy } from '../faults/workload.ts';
import { BUDGETS, budgetStage, KEY, keyOf, POLICY, statusOf, told, USD, usedOf } from './budgets.ts';

useStages();

const SHARES = sharesObject(RELEASE).name;

function gateway(stage: Stage, index: number): PretendGateway {
  const found = stage.gateways[index];
  if (found === undefined) throw new Error(`there is no gateway ${index}`);
  return found;
}

function shares({ server }: Stage): Shares {
  const found = sharesIn(server);
  if (found === undefined) throw new Error('no shares are published');
  return found;
}

/** What all used of a budget, as replicas are told. */
function shared(stage: Stage, key: string): string {
  return shares(stage).budgets.find((budget) => budget.key === key)?.used ?? '0';
}

describe('shares', () => {
  it('name the replicas that are ready, in order, and go with the Service like all that is published', async () => {
    const { stage } = await budgetStage();
    expect(shares(stage)).toMatchObject({ format: 1, replicas: ['gateway-0', 'gateway-1', 'gateway-2'], budgets: [] });
    stage.setReady(gateway(stage, 1), false);
    await pass(4_000);
    expect(shares(stage).replicas).toEqual(['gateway-0', 'gateway-2']);
    const { version } = shares(stage);
    stage.addGateway();
    await pass(4_000);
    expect(shares(stage).replicas).toEqual(['gateway-0', 'gateway-2', 'gateway-3']);
    expect(shares(stage).version).toBe(version + 1);
  });

  it('sum what gateways used, of others and of oneself, within a few seconds', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    gateway(stage, 0).use(key, 3n * USD);
    gateway(stage, 2).use(key, USD / 4n);
    await pass(2_500);
    expect(shares(stage).budgets).toEqual([
      { key, used: '3250000000000', by: { 0: '3000000000000', 1: '250000000000' } },
    ]);
    expect(shares(stage).processes.map(({ pod }) => pod)).toEqual(['gateway-0', 'gateway-2']);
  });

  it('are written once for many changes, every 2 s at most, and not at all where nothing changes', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    const before = stage.shareWrites.length;
    for (let n = 0; n < 200; n++) {
      gateway(stage, n % 3).use(key, 1n);
      await pass(100);
    }
    const writes = stage.shareWrites.length - before;
    expect(writes).toBeGreaterThanOrEqual(8);
    expect(writes).toBeLessThanOrEqual(11);
    await stage.settle();
    const quiet = [stage.shareWrites.length, stage.writes.length];
    await pass(300_000);
    expect([stage.shareWrites.length, stage.writes.length]).toEqual(quiet);
  });

  it('count what a gateway used that is not ready, that leaves, or that is gone', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    for (const one of stage.gateways) one.use(key, USD);
    await pass(4_000);
    stage.setReady(gateway(stage, 0), false);
    gateway(stage, 0).use(key, USD);
    await pass(4_000);
    expect(shared(stage, key)).toBe(String(4n * USD));
    stage.removeGateway(gateway(stage, 0));
    await pass(20 * 60_000);
    expect(shared(stage, key)).toBe(String(4n * USD));
    expect(shares(stage).processes.map(({ pod }) => pod)).toEqual(['gateway-1', 'gateway-2']);
  });

  it('count a gateway that starts again anew, besides what it was', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    gateway(stage, 0).use(key, 2n * USD);
    await pass(4_000);
    gateway(stage, 0).restart();
    await pass(4_000);
    expect(shared(stage, key)).toBe(String(2n * USD));
    gateway(stage, 0).use(key, USD);
    await pass(4_000);
    expect(shared(stage, key)).toBe(String(3n * USD));
  });

  it('keep what a gateway told that does not answer', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    for (const one of stage.gateways) one.use(key, USD);
    await pass(4_000);
    gateway(stage, 1).isDeaf = true;
    gateway(stage, 0).use(key, USD);
    await pass(60_000);
    expect(shared(stage, key)).toBe(String(4n * USD));
    gateway(stage, 1).use(key, 5n * USD);
    gateway(stage, 1).isDeaf = false;
    await pass(4_000);
    expect(shared(stage, key)).toBe(String(9n * USD));
  });

  it('that somebody deletes or spoils come back, with all that was counted', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    gateway(stage, 0).use(key, USD);
    await pass(4_000);
    gateway(stage, 0).restart();
    await pass(4_000);
    const { version } = shares(stage);
    stage.server.delete(CONFIG_MAPS, NAMESPACE, SHARES);
    await pass(65_000);
    expect(shared(stage, key)).toBe(String(USD));
    expect(shares(stage).version).toBeGreaterThan(version);
    const { apiVersion, kind } = CONFIG_MAPS;
    stage.server.apply({ apiVersion, kind, metadata: { name: SHARES, namespace: NAMESPACE }, data: { shares: '{}' } });
    await pass(65_000);
    expect(shared(stage, key)).toBe(String(USD));
  });
});

describe('a shared store', () => {
  it('says what all used: the largest answer counts, and no sum', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    for (const [index, one] of stage.gateways.entries()) {
      one.mode = 'total';
      one.use(key, BigInt(index + 3) * USD);
    }
    await told();
    expect(shared(stage, key)).toBe(String(5n * USD));
    expect(usedOf(stage, POLICY)).toEqual({ app: 5 });
  });

  it('that is away is said of policies, once it is away for a while, until it is back for a while', async () => {
    const { stage } = await budgetStage();
    stage.server.apply(policy('RateLimitPolicy', 'team-a/minute', { type: 'requests', unit: 'rpm', value: 5 }));
    for (const one of stage.gateways) one.mode = 'total';
    await stage.settle();
    const policies = [POLICY, 'RateLimitPolicy team-a/minute'];
    const warnings = () => policies.map((object) => condition(stage.server, object, 'Warning').slice(0, 18));
    gateway(stage, 2).storeState = 'degraded';
    await pass(8_000);
    expect(warnings()).toEqual(['absent', 'absent']);
    await pass(12_000);
    expect(warnings()).toEqual(['True StoreDegraded', 'True StoreDegraded']);
    expect(condition(stage.server, KEY, 'Warning')).toBe('absent');
    expect(condition(stage.server, POLICY, 'Ready')).toBe('True Ready');
    gateway(stage, 2).storeState = 'ok';
    await pass(8_000);
    expect(warnings()).toEqual(['True StoreDegraded', 'True StoreDegraded']);
    await pass(15_000);
    expect(warnings()).toEqual(['absent', 'absent']);
  });
});

describe('the status of an object with a budget', () => {
  it('says what was used and what is left, by group, and when it starts anew', async () => {
    const { stage } = await budgetStage({ validatesSpecs: true });
    expect(statusOf(stage, POLICY)).toMatchObject({ usage: [], state: 'active' });
    gateway(stage, 0).use(keyOf(stage, POLICY, ['app']), 2_500_000_000_001n);
    gateway(stage, 1).use(keyOf(stage, POLICY, ['batch']), 11n * USD);
    gateway(stage, 1).use(keyOf(stage, KEY), 400n);
    gateway(stage, 2).use(keyOf(stage, KEY), 200n);
    await told();
    expect(statusOf(stage, POLICY)).toMatchObject({
      state: 'exhausted',
      usage: [
        {
          ...{ limit: '', group: 'app', group_id: groupIdOf(['app']), type: 'cost', alerted: false },
          ...{ used: 2.500000000001, remaining: 7.499999999999, credit_limit: 10 },
        },
        { group: 'batch', used: 11, remaining: 0, alerted: true },
      ],
    });
    const [entry] = statusOf(stage, KEY).usage ?? [];
    expect(entry).toEqual({
      ...{ limit: 'usage_limits[0]', type: 'tokens', used: 600, remaining: 400, credit_limit: 1000 },
      ...{ last_reset_at: '2025-12-29T00:00:00Z', next_usage_reset_at: '2026-01-05T00:00:00Z' },
    });
  });

  it('is written every 10 s at most, while it changes all the time', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, KEY);
    const before = stage.writes.length;
    for (let n = 0; n < 600; n++) {
      gateway(stage, n % 3).use(key, 1n);
      await pass(100);
    }
    const writes = stage.writes.slice(before);
    expect(writes.every(({ name }) => name === 'app')).toBe(true);
    expect(writes.length).toBeGreaterThanOrEqual(4);
    expect(writes.length).toBeLessThanOrEqual(6);
    await told();
    expect(usedOf(stage, KEY)).toEqual({ 'usage_limits[0]': 600 });
  });

  it('of a policy with many groups tells of the 100 that are nearest to their end', async () => {
    const { stage } = await budgetStage();
    for (let n = 0; n < 250; n++) gateway(stage, 0).use(keyOf(stage, POLICY, [`key-${n}`]), BigInt(n) * (USD / 1000n));
    await told();
    const used = usedOf(stage, POLICY);
    expect(Object.keys(used)).toHaveLength(100);
    expect(used['key-249']).toBe(0.249);
    expect(Math.min(...Object.values(used))).toBe(0.15);
  });

  it('starts anew with its period', async () => {
    vi.setSystemTime('2026-01-04T23:58:00Z');
    const { stage } = await budgetStage();
    gateway(stage, 0).use(keyOf(stage, KEY), 700n);
    await told();
    expect(usedOf(stage, KEY)).toEqual({ 'usage_limits[0]': 700 });
    await pass(Date.parse('2026-01-05T00:00:00Z') - Date.now());
    gateway(stage, 0).use(keyOf(stage, KEY), 30n);
    await told();
    const [entry] = statusOf(stage, KEY).usage ?? [];
    expect(entry).toMatchObject({ used: 30, last_reset_at: '2026-01-05T00:00:00Z' });
    expect(shares(stage).budgets).toHaveLength(1);
  });

  it('starts anew with a new word in the annotation, of all groups and of one', async () => {
    const { stage } = await budgetStage();
    const edited = (annotations: Record<string, string>) => {
      const { metadata, ...rest } = BUDGETS[0] as (typeof BUDGETS)[number];
      stage.server.apply({ ...rest, metadata: { ...metadata, annotations } });
    };
    const use = () => {
      for (const name of ['app', 'batch']) gateway(stage, 0).use(keyOf(stage, POLICY, [name]), USD);
    };
    use();
    await told();
    expect(usedOf(stage, POLICY)).toEqual({ app: 1, batch: 1 });
    const one = { [`modelgateway.dev/reset-usage.${groupIdOf(['batch'])}`]: '2026-01-01T00:00:30Z' };
    edited(one);
    await told();
    expect(usedOf(stage, POLICY)).toEqual({ app: 1 });
    use();
    await told();
    expect(usedOf(stage, POLICY)).toEqual({ app: 2, batch: 1 });
    expect(statusOf(stage, POLICY).usage?.[1]).toMatchObject({ last_reset_at: '2026-01-01T00:00:30Z' });
    edited({ ...one, 'modelgateway.dev/reset-usage': 'all' });
    await told();
    expect(usedOf(stage, POLICY)).toEqual({});
    expect(shares(stage).budgets).toEqual([]);
  });

  it('says no more of a budget that was taken away, and nothing of objects without one', async () => {
    const { stage } = await budgetStage();
    stage.server.apply([apiKey('team-a/other'), config('team-a/chat', { provider: 'simulator' })]);
    gateway(stage, 0).use(keyOf(stage, KEY), 5n);
    await told();
    expect(usedOf(stage, KEY)).toEqual({ 'usage_limits[0]': 5 });
    stage.server.apply(apiKey('team-a/app'));
    await told();
    for (const object of [KEY, 'ApiKey team-a/other', 'GatewayConfig team-a/chat']) {
      expect(Object.keys(objectIn(stage.server, object)['status'] ?? {}), object).not.toContain('usage');
      expect(Object.keys(objectIn(stage.server, object)['status'] ?? {}), object).not.toContain('state');
    }
  });

  it('tells when a key was used', async () => {
    const { stage } = await budgetStage();
    gateway(stage, 1).keyUses.set('team-a/app', Date.parse('2026-01-01T00:00:05Z'));
    await told();
    expect(objectIn(stage.server, KEY)['status']).toMatchObject({ last_used_at: '2026-01-01T00:00:05.000Z' });
  });
});

describe('an operator that', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7])('dies after %i writes leaves sums that the next goes on from', async (writes) => {
    const { stage, run } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    let total = 0n;
    const use = (index: number) => {
      gateway(stage, index).use(key, USD / 100n);
      total += USD / 100n;
    };
    const before = stage.shareWrites.length;
    for (let second = 0; stage.shareWrites.length < before + writes; second++) {
      use(second % 3);
      await pass(1_000);
      if (second % 5 !== 4) continue;
      await pass(2_500);
      gateway(stage, second % 2).restart();
    }
    run.crash();
    use(1);
    stage.start('next');
    await pass(40_000);
    expect(shared(stage, key)).toBe(String(total));
    use(2);
    await told();
    expect(shared(stage, key)).toBe(String(total));
    expect(usedOf(stage, POLICY)).toEqual({ app: Number(total) / 1e12 });
  });

  it('no longer leads writes nothing, and the other goes on with the same sums', async () => {
    const { stage, run } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    const other = stage.start('other');
    for (const one of stage.gateways) one.use(key, USD);
    await pass(6_000);
    gateway(stage, 0).restart();
    await pass(4_000);
    run.crash();
    await pass(40_000);
    expect(other.isLeader()).toBe(true);
    gateway(stage, 0).use(key, USD);
    await pass(4_000);
    expect(shared(stage, key)).toBe(String(4n * USD));
    const writers = new Set(stage.shareWrites.slice(-1).map(({ who }) => who));
    expect([...writers]).toEqual(['other']);
  });

  it('finds that another wrote takes that for what there is', async () => {
    const { stage } = await budgetStage();
    const key = keyOf(stage, POLICY, ['app']);
    const budgets = [{ key, used: '70' }];
    const { version, replicas } = shares(stage);
    const text = JSON.stringify({ format: 1, version: version + 5, replicas, processes: [], budgets });
    const { apiVersion, kind } = CONFIG_MAPS;
    stage.server.apply({ apiVersion, kind, metadata: { name: SHARES, namespace: NAMESPACE }, data: { shares: text } });
    gateway(stage, 0).use(key, 5n);
    await pass(6_000);
    expect(shared(stage, key)).toBe('75');
    expect(shares(stage).version).toBe(version + 6);
  });
});

it('sums 10,000 budgets, and tells of them at a bounded rate', async () => {
  const stage = openStage({ gateways: 3 });
  const count = 10_000;
  stage.server.apply(policy('UsageLimitPolicy', 'team-a/money', { type: 'cost', credit_limit: 10 }));
  stage.start();
  await stage.settle();
  const keys = Array.from({ length: count }, (_, n) => keyOf(stage, POLICY, [`key-${n}`]));
  for (const [index, one] of stage.gateways.entries())
    for (const [n, key] of keys.entries()) one.use(key, BigInt(n * (index + 1) + 1) * 1_234_567n);
  const startedMs = process.cpuUsage().user;
  await pass(4_000);
  const cpuMs = (process.cpuUsage().user - startedMs) / 1_000;
  const { budgets } = shares(stage);
  expect(budgets).toHaveLength(count);
  expect(shared(stage, keys[9_999] ?? '')).toBe(String(BigInt(9_999 * 6 + 3) * 1_234_567n));
  expect(statusOf(stage, POLICY).usage).toHaveLength(100);
  expect(cpuMs).toBeLessThan(8_000);
  const before = stage.shareWrites.length;
  await pass(60_000);
  expect(stage.shareWrites.length).toBe(before);
});

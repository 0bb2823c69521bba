/** O7, O15: the API server is away, while the operator runs and when it starts. */
import { describe, expect, it } from 'vitest';
import { SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, published, RESOURCES, resourceOf } from './outcome.ts';
import { running } from './running.ts';
import { type Stage, useStages } from './stage.ts';
import { config, secret } from './workload.ts';

useStages();

const OUTAGES = ['refuse', 'black-hole'] as const;
const OUTAGE_MS = 30 * 60_000;

function change({ server }: Stage): void {
  server.apply(config('team-a/late', { provider: 'simulator' }));
  server.delete(resourceOf('GatewayConfig'), 'team-b', 'chat');
  server.apply(secret('team-a/vendor', { api_key: 'sk-new' }));
}

function expectChanged(stage: Stage): void {
  const { configs, credentials } = published(stage.server).snapshot;
  const names = configs.map(({ namespace, name }) => `${namespace}/${name}`).sort();
  expect(names).toEqual(['team-a/chat', 'team-a/late', 'team-a/spare', 'team-b/dangling']);
  expect(JSON.stringify(credentials)).toContain('sk-new');
  expect(condition(stage.server, 'GatewayConfig team-a/late', 'Ready')).toBe('True Ready');
  const { hash } = published(stage.server);
  expect(stage.gateways.map(({ served }) => served?.hash)).toEqual([hash, hash]);
}

function listsSince({ server }: Stage, first: number): readonly string[] {
  return server.requests
    .slice(first)
    .filter(({ verb, status }) => verb === 'list' && status === 200)
    .map(({ path }) => path);
}

describe('O7: an API server that is away for 30 minutes', () => {
  it.each(OUTAGES)('is as it shall be within 10 s after it is back: %s', async (kind) => {
    const { stage, run } = await running();
    const before = stage.gateways.map(({ served }) => served?.hash);
    stage.server.outage(kind);
    await pass(OUTAGE_MS / 2);
    change(stage);
    await pass(OUTAGE_MS / 2);
    expect(stage.gateways.map(({ served }) => served?.hash)).toEqual(before);
    expect([run.operator() !== undefined, run.isLeader()]).toEqual([true, false]);
    const asked = stage.server.requests.length;
    stage.server.recover();
    await pass(10_000);
    expectChanged(stage);
    expect(run.isLeader()).toBe(true);
    expect(listsSince(stage, asked)).toEqual([]);
    const [writes, { outcome }] = [stage.writes.length, stage];
    await pass(60_000);
    expect([stage.writes.length, stage.outcome]).toEqual([writes, outcome]);
  });

  it.each(OUTAGES)('and has forgotten its past is asked for one list of each kind: %s', async (kind) => {
    const { stage } = await running();
    stage.server.outage(kind);
    await pass(OUTAGE_MS / 2);
    change(stage);
    stage.server.compact();
    await pass(OUTAGE_MS / 2);
    const asked = stage.server.requests.length;
    stage.server.recover();
    await pass(10_000);
    expectChanged(stage);
    const lists = listsSince(stage, asked);
    expect(lists.length).toBeGreaterThan(5);
    expect(new Set(lists).size).toBe(lists.length);
  });

  it.each(OUTAGES)('from any moment of a change on loses nothing: %s', async (kind) => {
    for (const sinceMs of [0, 5, 55, 56, 60, 80, 110, 150, 200, 400]) {
      const { stage } = await running();
      stage.server.latencyMs = 3;
      change(stage);
      await pass(sinceMs);
      stage.server.outage(kind);
      await pass(60_000);
      stage.server.recover();
      await pass(10_000);
      expectChanged(stage);
      await stage.close();
    }
  });

  it('is tried again and again, each time a little later, never in step, at most 5 s apart', async () => {
    const { stage } = await running();
    const asked = stage.server.requests.length;
    stage.server.outage('refuse');
    await pass(OUTAGE_MS);
    const tries = new Map<string, number[]>();
    for (const { verb, path, atMs } of stage.server.requests.slice(asked)) {
      if (verb !== 'watch') continue;
      const what = path.replace(/timeoutSeconds=\d+/, '');
      tries.set(what, [...(tries.get(what) ?? []), atMs]);
    }
    expect(tries.size).toBeGreaterThan(6);
    for (const times of tries.values()) {
      const waits = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
      expect(Math.max(...waits)).toBeLessThanOrEqual(5_000);
      expect(Math.min(...waits.slice(8))).toBeGreaterThan(2_000);
      expect(new Set(waits).size).toBeGreaterThan(waits.length / 4);
    }
    const lasts = [...tries.values()].map((times) => times.at(-1));
    expect(new Set(lasts).size).toBeGreaterThan(tries.size / 2);
  });
});

describe('O15: an operator that starts while the API server is away', () => {
  it.each(OUTAGES)('is not ready and publishes nothing, and gateways keep what they have: %s', async (kind) => {
    const { stage, run } = await running();
    const [{ hash, generation }, { outcome }] = [published(stage.server), stage];
    run.crash();
    stage.server.outage(kind);
    await pass(5_000);
    const next = stage.start();
    const writes = stage.writes.length;
    await pass(OUTAGE_MS);
    expect([next.operator(), stage.writes.length - writes]).toEqual([undefined, 0]);
    expect(stage.gateways.map(({ served }) => served?.hash)).toEqual([hash, hash]);
    expect(next.faults.length).toBeGreaterThan(10);
    stage.server.recover();
    // A list that was under way times out, and the Lease of the dead one runs out.
    await pass(45_000);
    expect([next.operator() === undefined, next.isLeader()]).toEqual([false, true]);
    expect(published(stage.server)).toMatchObject({ hash, generation });
    expect(stage.outcome).toEqual(outcome);
    expect(stage.writes.slice(writes)).toEqual([]);
  });

  it.each([SECRETS, ...RESOURCES])(
    'or answers for all but one kind, publishes nothing of the rest: $kind',
    async (resource) => {
      const { stage, run } = await running();
      const { hash } = published(stage.server);
      run.crash();
      const next = stage.start();
      const broken = stage.server.faults.onRequest({ who: next.identity, resource }, { status: 403 });
      await pass(120_000);
      expect([next.operator(), published(stage.server).hash]).toEqual([undefined, hash]);
      broken.remove();
      await pass(60_000);
      expect([next.isLeader(), published(stage.server).hash]).toEqual([true, hash]);
    },
  );
});

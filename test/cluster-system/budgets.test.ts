/** Budgets over three real gateways without a store: summed by the operator, in a real API server's statuses and Events. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { UsageEntry } from '#crds/limits/usage-status.ts';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey, chat, tokenBudget } from './world.ts';

const POLICY = 'usagelimitpolicy/tokens';

describeCluster('budgets, of a real operator and three real gateways', () => {
  let stage: Stage;
  let key = '';

  beforeAll(async () => {
    stage = await startStage(cluster());
    await stage.apply(chat('hello'), apiKey('app'), tokenBudget('tokens', { alert_threshold: 1 }));
    key = await stage.keyOf('app');
    await stage.wait(POLICY);
    await stage.answers(key, 'hello');
  }, 120_000);
  afterAll(() => stage?.stop());

  async function entries(): Promise<readonly UsageEntry[]> {
    return at<UsageEntry[]>(await stage.read(POLICY), 'status.usage') ?? [];
  }

  it('the status says what all used, and gateways are told of one another', async () => {
    for (let round = 0; round < 5; round++) await stage.words(key);
    const used = async () => (await entries())[0]?.used ?? 0;
    let last = -1;
    const isStill = async () => {
      const now = await used();
      const same = now === last && now > 0;
      last = now;
      if (!same) await new Promise((resolve) => setTimeout(resolve, 11_000));
      return same;
    };
    await waitFor(isStill, 'the status', 4 * PATIENCE_MS);
    const shares = JSON.parse(
      at<string>(await stage.read('configmap/edge-shares', stage.release.namespace), 'data.shares') ?? '',
    );
    expect(shares.replicas).toEqual(['gateway-0', 'gateway-1', 'gateway-2']);
    expect(shares.processes).toHaveLength(3);
    expect(Number(shares.budgets[0].used)).toBe(last);
    expect(await entries()).toMatchObject([
      { group: 'app', type: 'tokens', credit_limit: 1000, remaining: 1000 - last },
    ]);
  }, 240_000);

  it('the alert is one Event, and the status remembers it', async () => {
    const told = await stage.kubectl(['get', 'events.events.k8s.io', '-n', stage.tenant, '-o', 'json']);
    const alerts = (JSON.parse(told).items as { reason: string; regarding: { name: string } }[]).filter(
      ({ reason }) => reason === 'UsageAlert',
    );
    expect(alerts.map(({ regarding }) => regarding.name)).toEqual(['tokens']);
    expect(await entries()).toMatchObject([{ alerted: true }]);
  });

  it('an annotation lets it start anew', async () => {
    await stage.kubectl(['annotate', '-n', stage.tenant, POLICY, 'modelgateway.dev/reset-usage=again']);
    await waitFor(async () => (await entries()).length === 0, 'the reset', 2 * PATIENCE_MS);
    await stage.words(key);
    await waitFor(async () => ((await entries())[0]?.used ?? 0) > 0, 'usage after it', 2 * PATIENCE_MS);
  }, 120_000);
});

/** An alert comes once for a budget, a group and a period, whatever dies meanwhile. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EVENTS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { sharesIn } from '../faults/outcome.ts';
import type { PretendGateway } from '../faults/pretend-gateway.ts';
import { type Stage, useStages } from '../faults/stage.ts';
import { apiKey, policy } from '../faults/workload.ts';
import { BUDGETS, budgetStage, keyOf, POLICY, statusOf, USD } from './budgets.ts';
import { type Hook, startHook } from './hook.ts';

useStages();

let hook: Hook;
beforeEach(async () => {
  hook = await startHook();
});
afterEach(() => hook.close());

function first({ gateways: [gateway] }: Stage): PretendGateway {
  if (gateway === undefined) throw new Error('there is no gateway');
  return gateway;
}

/** Virtual time, and what happens on real sockets meanwhile. */
async function live(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    await pass(250);
    for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve));
  }
}

function events({ server }: Stage): readonly string[] {
  return server.list(EVENTS).flatMap((event) => (event['reason'] === 'UsageAlert' ? [String(event['note'])] : []));
}

describe('an alert', () => {
  it('is an Event of the object, a post to the webhook, a word in the status, and a count', async () => {
    const { stage, run } = await budgetStage({ alertWebhook: hook.url });
    first(stage).use(keyOf(stage, POLICY, ['app']), 8n * USD);
    await live(14_000);
    expect(events(stage)).toEqual([
      'UsageLimitPolicy money: 8 USD of 10 USD used by api_key app; the alert is at 8 USD',
    ]);
    expect(hook.alerts).toEqual([
      {
        type: 'usage_alert',
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        object: { kind: 'UsageLimitPolicy', namespace: 'team-a', name: 'money', limit: '' },
        ...{ label: 'UsageLimitPolicy money', workspace: 'team-a', group: { api_key: 'app' }, unit: 'cost' },
        ...{ used: 8, credit_limit: 10, alert_threshold: 8, period_start: null, period_end: null, alert_emails: [] },
      },
    ]);
    expect(statusOf(stage, POLICY)).toMatchObject({ state: 'active', usage: [{ group: 'app', alerted: true }] });
    expect(run.operator()?.usageCounts()).toEqual({ alerts: 1, limited: 2, exhausted: 0 });
    expect(run.faults).toEqual([]);
  });

  it('does not come below the threshold, nor of a budget without one', async () => {
    const { stage } = await budgetStage({ alertWebhook: hook.url });
    first(stage).use(keyOf(stage, POLICY, ['app']), 8n * USD - 1n);
    first(stage).use(keyOf(stage, 'ApiKey team-a/app'), 1_000n);
    await live(20_000);
    expect([hook.alerts, events(stage)]).toEqual([[], []]);
  });

  it('comes once, however much more is used, and for each group on its own', async () => {
    const { stage } = await budgetStage({ alertWebhook: hook.url });
    for (let n = 0; n < 30; n++) {
      first(stage).use(keyOf(stage, POLICY, ['app']), USD);
      await live(1_000);
    }
    first(stage).use(keyOf(stage, POLICY, ['batch']), 9n * USD);
    await live(6_000);
    expect(hook.alerts.map(({ group }) => group)).toEqual([{ api_key: 'app' }, { api_key: 'batch' }]);
    expect(new Set(hook.alerts.map(({ id }) => id)).size).toBe(2);
    expect(events(stage)).toHaveLength(2);
  });

  it('comes again in the next period, with its times, and to those whom the key names', async () => {
    vi.setSystemTime('2026-01-04T23:59:00Z');
    const { stage } = await budgetStage({ alertWebhook: hook.url });
    const limit = { type: 'tokens', credit_limit: 100, alert_threshold: 50, periodic_reset: 'weekly' };
    stage.server.apply(apiKey('team-a/app', { usage_limits: limit, alert_emails: ['ann@example.com'] }));
    await live(6_000);
    for (let week = 0; week < 2; week++) {
      first(stage).use(keyOf(stage, 'ApiKey team-a/app'), 60n);
      await live(70_000);
    }
    expect(hook.alerts).toMatchObject([
      {
        ...{ alert_emails: ['ann@example.com'], group: null, unit: 'tokens', used: 60 },
        ...{ period_start: '2025-12-29T00:00:00Z', period_end: '2026-01-05T00:00:00Z' },
      },
      { period_start: '2026-01-05T00:00:00Z', period_end: '2026-01-12T00:00:00Z' },
    ]);
    expect(hook.alerts[0]?.id).not.toBe(hook.alerts[1]?.id);
  });

  it('comes again after a reset', async () => {
    const { stage } = await budgetStage({ alertWebhook: hook.url });
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    await live(6_000);
    const { metadata, ...rest } = BUDGETS[0] as (typeof BUDGETS)[number];
    stage.server.apply({ ...rest, metadata: { ...metadata, annotations: { 'modelgateway.dev/reset-usage': 'x' } } });
    await live(6_000);
    expect(hook.alerts).toHaveLength(1);
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    await live(6_000);
    expect(hook.alerts).toHaveLength(2);
  });

  it('of a budget that is edited up or down does not come again in the same period', async () => {
    const { stage } = await budgetStage({ alertWebhook: hook.url });
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    await live(6_000);
    for (const alert_threshold of [10, 5])
      stage.server.apply(
        policy('UsageLimitPolicy', 'team-a/money', { type: 'cost', credit_limit: 10, alert_threshold }),
      );
    await live(20_000);
    expect([hook.alerts.length, events(stage).length]).toEqual([1, 1]);
  });
});

describe('over restarts', () => {
  it('of the operator at any time, an alert is given at least once, and told apart where it is given twice', async () => {
    for (const crashAfterMs of [100, 600, 1_100, 1_600, 2_100, 2_600, 3_100, 5_000]) {
      const { stage, run } = await budgetStage({ alertWebhook: hook.url });
      first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
      await live(crashAfterMs);
      run.crash();
      stage.start('next');
      await live(40_000);
      const told = hook.alerts.slice();
      expect(new Set(told.map(({ id }) => id)).size, `after ${crashAfterMs} ms`).toBe(1);
      expect(told.length).toBeLessThanOrEqual(2);
      expect(events(stage)).toHaveLength(1);
      const [budget] = sharesIn(stage.server)?.budgets ?? [];
      expect(budget?.alerted).toBe(true);
      (hook.alerts as unknown[]).length = 0;
      await stage.close();
    }
  });

  it('what was given is not given again, by whichever operator leads', async () => {
    const { stage, run } = await budgetStage({ alertWebhook: hook.url });
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    await live(10_000);
    run.crash();
    const second = stage.start('second');
    await live(40_000);
    first(stage).restart();
    await live(10_000);
    second.crash();
    stage.start('third');
    await live(40_000);
    expect([hook.alerts.length, events(stage).length]).toEqual([1, 1]);
    expect(statusOf(stage, POLICY).usage).toMatchObject([{ group: 'app', used: 9, alerted: true }]);
  });
});

describe('a webhook that', () => {
  it('fails twice is asked a third time, and gets the alert once', async () => {
    const { stage, run } = await budgetStage({ alertWebhook: hook.url });
    hook.answer = 500;
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    while (hook.requests.length < 2) await live(250);
    hook.answer = 200;
    await live(20_000);
    expect([hook.requests.length, hook.alerts.length]).toEqual([3, 1]);
    expect(run.faults).toEqual([]);
  });

  it('never takes it is given up after three tries, and its address is not told', async () => {
    const { stage, run } = await budgetStage({ alertWebhook: hook.url });
    hook.answer = 503;
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    await live(60_000);
    expect(hook.requests).toHaveLength(3);
    expect(run.faults.map(({ message }) => message)).toEqual([
      '--alert-webhook: UsageLimitPolicy money: not taken in 3 tries: status 503',
    ]);
    expect(events(stage)).toHaveLength(1);
    expect(statusOf(stage, POLICY).usage).toMatchObject([{ alerted: true }]);
  });

  it('does not answer holds up nothing: each try ends after 5 s', async () => {
    const { stage } = await budgetStage({ alertWebhook: hook.url });
    hook.answer = undefined;
    first(stage).use(keyOf(stage, POLICY, ['app']), 9n * USD);
    await live(4_000);
    first(stage).use(keyOf(stage, POLICY, ['batch']), USD);
    await live(4_000);
    expect(sharesIn(stage.server)?.budgets).toHaveLength(2);
    hook.answer = 200;
    await live(12_000);
    expect(hook.alerts).toHaveLength(1);
    expect(hook.requests[0]).toMatchObject({
      path: '/hook?token=canary',
      headers: { 'content-type': 'application/json' },
    });
  });
});

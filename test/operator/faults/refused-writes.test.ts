/** O10: the API server refuses the operator's writes. */
import { describe, expect, it } from 'vitest';
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import type { RequestFault } from '../../fakes/api-server/request-faults.ts';
import { condition, published, statusesIn } from './outcome.ts';
import { running } from './running.ts';
import { openStage, type Stage, useStages } from './stage.ts';
import { apiKey, config } from './workload.ts';

useStages();

const STATUS_OF_CHAT = { method: 'PATCH', path: /team-a\/gatewayconfigs\/chat\/status/ } as const;

function edit({ server }: Stage, model: string): void {
  server.apply([
    config('team-a/chat', { provider: '@openai', override_params: { model } }),
    config('team-b/chat', { provider: '@shared', override_params: { model } }),
  ]);
}

/** Whether its status is of the version that is stored. */
function observed({ server }: Stage, path: string): boolean {
  return /^generation (\d+), observed \1\n/.test(statusesIn(server)[`GatewayConfig ${path}`] ?? '');
}

function triesOf({ server }: Stage, since: number): number[] {
  return server.requests
    .slice(since)
    .filter(({ path }) => STATUS_OF_CHAT.path.test(path))
    .map(({ atMs }) => atMs);
}

const REFUSALS: readonly (readonly [string, RequestFault])[] = [
  ['409', { status: 409 }],
  ['422', { status: 422 }],
  ['429 with Retry-After', { status: 429, retryAfterSeconds: 20 }],
  ['500', { status: 500 }],
  ['403', { status: 403 }],
  ['no connection', 'refuse'],
  ['no answer', 'hang'],
];

describe('O10: a status write that is refused', () => {
  it.each(REFUSALS)('is tried again ever more seldom, and holds nothing else up: %s', async (_, fault) => {
    const { stage } = await running();
    const { outcome } = stage;
    const injected = stage.server.faults.onRequest(STATUS_OF_CHAT, fault);
    const asked = stage.server.requests.length;
    edit(stage, 'two');
    await pass(5_000);
    expect([observed(stage, 'team-a/chat'), observed(stage, 'team-b/chat')]).toEqual([false, true]);
    expect(published(stage.server).snapshot.configs[0]?.config.override_params).toEqual({ model: 'two' });
    await pass(55_000);
    const tries = triesOf(stage, asked);
    expect(tries.length).toBeLessThan(40);
    injected.remove();
    await pass(120_000);
    expect(observed(stage, 'team-a/chat')).toBe(true);
    expect(stage.outcome.statuses).not.toEqual(outcome.statuses);
    const waits = tries.slice(1).map((atMs, index) => atMs - (tries[index] ?? 0));
    if (typeof fault === 'object' && 'retryAfterSeconds' in fault)
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(20_000);
    else if (waits.length > 3) expect(waits.at(-1)).toBeGreaterThan(waits[0] ?? 0);
  });

  it('for thousands at once is not tried for all of them in step', async () => {
    const stage = openStage();
    stage.server.apply(Array.from({ length: 300 }, (_, n) => config(`team-a/c${n}`, { provider: 'simulator' })));
    stage.server.faults.onRequest({ method: 'PATCH', path: /\/status/, times: 1_500 }, { status: 500 });
    stage.start();
    await pass(60_000);
    const perInstant = new Map<number, number>();
    for (const { path, atMs, status } of stage.server.requests) {
      if (/\/status/.test(path) && status === 500) perInstant.set(atMs, (perInstant.get(atMs) ?? 0) + 1);
    }
    const [first = 0, ...later] = [...perInstant.values()];
    expect(first).toBeGreaterThan(0);
    expect(Math.max(...later.slice(3))).toBeLessThan(100);
    expect(condition(stage.server, 'GatewayConfig team-a/c299', 'Ready')).toBe('True Ready');
  });
});

describe('O10: a snapshot that cannot be written', () => {
  it.each(REFUSALS)(
    'is said in the statuses of what waits for it, and written once that works: %s',
    async (_, fault) => {
      const { stage } = await running();
      const { hash } = published(stage.server);
      const injected = stage.server.faults.onRequest({ method: 'PUT', resource: CONFIG_MAPS }, fault);
      edit(stage, 'two');
      await pass(40_000);
      expect(stage.gateways.map(({ served }) => served?.hash)).toEqual([hash, hash]);
      expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Programmed')).toMatch(/^False NotPublished: /);
      expect(condition(stage.server, 'GatewayConfig team-a/spare', 'Programmed')).toMatch(/^True /);
      injected.remove();
      await pass(30_000);
      expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Programmed')).toMatch(/^True /);
      expect(stage.gateways[0]?.served?.hash).toBe(published(stage.server).hash);
      expect(published(stage.server).hash).not.toBe(hash);
    },
  );

  it('an ApiKey whose Secret cannot be written holds no other object up', async () => {
    const { stage } = await running();
    const injected = stage.server.faults.onRequest(
      { method: 'POST', path: /namespaces\/team-b\/secrets/ },
      { status: 403 },
    );
    stage.server.apply([
      apiKey('team-b/late'),
      apiKey('team-a/late'),
      config('team-a/late', { provider: 'simulator' }),
    ]);
    await pass(10_000);
    expect(condition(stage.server, 'ApiKey team-a/late', 'Ready')).toBe('True Ready');
    expect(condition(stage.server, 'GatewayConfig team-a/late', 'Ready')).toBe('True Ready');
    expect(condition(stage.server, 'ApiKey team-b/late', 'ResolvedRefs')).toMatch(/^False SecretPending/);
    injected.remove();
    await pass(20_000);
    expect(condition(stage.server, 'ApiKey team-b/late', 'Ready')).toBe('True Ready');
  });
});

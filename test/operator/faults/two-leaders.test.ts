/** O14: the leader stands still past the end of its Lease, and goes on while another leads. */
import { describe, expect, it } from 'vitest';
import { CONFIG_MAPS, LEASES } from '#crds/api/api-object.ts';
import type { ApiRequest } from '#crds/api/transport.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { condition, NAMESPACE, published } from './outcome.ts';
import { LEASE, type OperatorRun, openStage, type Stage, useStages } from './stage.ts';
import { BEGINNING, config, custom, integration, secret } from './workload.ts';

useStages();

async function pair(): Promise<{ stage: Stage; first: OperatorRun; second: OperatorRun }> {
  const stage = openStage();
  stage.server.apply(BEGINNING);
  const first = stage.start();
  await pass(2_000);
  const second = stage.start();
  await stage.settle();
  expect([first.isLeader(), second.isLeader()]).toEqual([true, false]);
  return { stage, first, second };
}

/** Passes time, and tells at which moments there were how many leaders at most. */
async function leadersWithin(runs: readonly OperatorRun[], ms: number): Promise<number> {
  let most = 0;
  for (let gone = 0; gone < ms; gone += 250) {
    await pass(250);
    most = Math.max(most, runs.filter((run) => run.isLeader()).length);
  }
  return most;
}

function edit({ server }: Stage, model: string): void {
  server.apply(config('team-a/chat', { provider: '@openai', override_params: { model } }));
}

describe('O14: two operators', () => {
  it('write as one does: the second nothing at all', async () => {
    const { stage, second } = await pair();
    edit(stage, 'two');
    await pass(20_000);
    expect(stage.writes.filter(({ who }) => who === second.identity)).toEqual([]);
    expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Ready')).toBe('True Ready');
  });

  it.each(['hang', 'refuse'] as const)(
    'never lead both, and change places once: the first one meets %s',
    async (how) => {
      const { stage, first, second } = await pair();
      const cut = stage.server.faults.onRequest({ who: first.identity }, how);
      edit(stage, 'two');
      expect(await leadersWithin([first, second], 40_000)).toBe(1);
      expect([first.isLeader(), second.isLeader()]).toEqual([false, true]);
      expect(published(stage.server).snapshot.configs[0]?.config.override_params).toEqual({ model: 'two' });
      const { outcome } = stage;
      const writes = stage.writes.length;
      cut.remove();
      expect(await leadersWithin([first, second], 60_000)).toBe(1);
      expect([first.isLeader(), second.isLeader()]).toEqual([false, true]);
      expect(stage.writes.slice(writes)).toEqual([]);
      expect(stage.outcome).toEqual(outcome);
      expect([first.terms, second.terms]).toEqual([['leading', 'not leading'], ['leading']]);
      expect(stage.server.find(LEASES, NAMESPACE, LEASE)).toMatchObject({
        spec: { holderIdentity: second.identity, leaseTransitions: 1 },
      });
    },
  );

  it.each([
    ['a shard', { method: 'PUT', resource: CONFIG_MAPS } as const],
    ['a status', { method: 'PATCH', path: /\/status/ } as const],
    ['an Event', { method: 'POST', path: /\/events/ } as const],
  ])('do not undo each other where what the first one sent arrives long after: %s', async (_, match) => {
    const { stage, first, second } = await pair();
    const frozen = freeze(first, match);
    stage.server.apply(config('team-a/chat', { provider: '@nobody' }));
    while (frozen.held() === 0) await pass(5);
    // From here on nothing of the first one arrives, but it arrives some day.
    frozen.match({});
    edit(stage, 'three');
    await pass(40_000);
    expect(second.isLeader()).toBe(true);
    const [writes, { outcome }] = [stage.writes.length, stage];
    frozen.thaw();
    await pass(60_000);
    // An Event is no worse for being late.
    expect(stage.writes.slice(writes).filter(({ resource }) => resource !== 'events')).toEqual([]);
    expect(stage.outcome).toEqual(outcome);
    expect([first.isLeader(), second.isLeader()]).toEqual([false, true]);
  });

  it('hand over at once where the first one ends', async () => {
    const { stage, first, second } = await pair();
    const { outcome } = stage;
    const ending = first.operator()?.close();
    await pass(3_000);
    await ending;
    expect(second.isLeader()).toBe(true);
    expect(stage.outcome).toEqual(outcome);
    edit(stage, 'two');
    await pass(3_000);
    expect(published(stage.server).snapshot.configs[0]?.config.override_params).toEqual({ model: 'two' });
    expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Ready')).toBe('True Ready');
  });

  it('keep the last good version of an object, with its credential, that only the first one saw in order', async () => {
    const { stage, first, second } = await pair();
    const blind = stage.server.faults.onRequest({ who: second.identity }, 'refuse');
    stage.server.restart();
    stage.server.apply([secret('team-a/other', { api_key: 'sk-other' }), integration('team-a/openai', 'other')]);
    edit(stage, 'two');
    await pass(3_000);
    stage.server.apply([
      custom('Integration', 'team-a/openai', { provider: 7 }),
      config('team-a/chat', { provider: 'nobody' }),
    ]);
    await pass(3_000);
    blind.remove();
    await pass(10_000);
    const { hash, generation, snapshot } = published(stage.server);
    expect(JSON.stringify(snapshot)).toContain('sk-other');
    first.crash();
    await pass(40_000);
    expect(second.isLeader()).toBe(true);
    expect(published(stage.server)).toMatchObject({ hash, generation });
    expect(snapshot.configs[0]?.config.override_params).toEqual({ model: 'two' });
    expect(condition(stage.server, 'Integration team-a/openai', 'Programmed')).toBe('False LastGoodServed');
  });

  it('are never more than one, where somebody deletes the Lease too', async () => {
    const { stage, first, second } = await pair();
    const { outcome } = stage;
    for (let n = 0; n < 5; n++) {
      stage.server.delete(LEASES, NAMESPACE, LEASE);
      expect(await leadersWithin([first, second], 7_000)).toBe(1);
    }
    expect(await leadersWithin([first, second], 20_000)).toBe(1);
    expect([first.isLeader(), second.isLeader()].filter(Boolean)).toHaveLength(1);
    expect(stage.outcome).toEqual(outcome);
  });
});

interface Held {
  readonly method?: string;
  readonly resource?: { readonly plural: string };
  readonly path?: RegExp;
}

interface Frozen {
  /** Which requests are held from now on. */
  match(held: Held): void;
  /** Writes that are held. */
  held(): number;
  /** Sends them, however long ago they were given up. */
  thaw(): void;
}

/** Requests that match stay on their way. */
function freeze({ transport }: OperatorRun, first: Held): Frozen {
  const send = transport.send.bind(transport);
  const writes: (() => Promise<unknown>)[] = [];
  let wanted = first;
  const isHeld = ({ method, path }: ApiRequest) =>
    (wanted.method ?? method) === method &&
    (wanted.path?.test(path) ?? true) &&
    path.includes(wanted.resource?.plural ?? '');
  transport.send = (request) => {
    if (!isHeld(request)) return send(request);
    const { signal, ...late } = request;
    if (request.method !== 'GET') writes.push(() => send(late));
    return new Promise((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  };
  return {
    match: (held) => {
      wanted = held;
    },
    held: () => writes.length,
    thaw: () => {
      transport.send = send;
      for (const write of writes) write().catch(() => {});
    },
  };
}

/** O4, O5: what happens and is undone unseen, and events that come twice, in another order, or late. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ApiObject, SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import type { ApiServer } from '../../fakes/api-server/api-server.ts';
import type { EventFault } from '../../fakes/api-server/event-faults.ts';
import { resourceOf } from './outcome.ts';
import { running } from './running.ts';
import { openStage, type Stage, useStages } from './stage.ts';
import { apiKey, config, integration, mapping, STEPS, secret } from './workload.ts';

useStages();

interface Pair {
  readonly title: string;
  readonly name: string;
  act(server: ApiServer): void;
  undo(server: ApiServer): void;
}

function edit(title: string, right: ApiObject, wrong: ApiObject): Pair {
  const { name } = right.metadata;
  return { title, name, act: (server) => server.apply(wrong), undo: (server) => server.apply(right) };
}

function visit(title: string, object: ApiObject): Pair {
  const { namespace, name } = object.metadata;
  const resource = object.kind === 'Secret' ? SECRETS : resourceOf(object.kind);
  return {
    title,
    name,
    act: (server) => server.apply(object),
    undo: (server) => server.delete(resource, namespace, name),
  };
}

const DEFAULT = { annotations: { 'modelgateway.dev/default': 'true' } };
const CHAT = config('team-a/chat', { provider: '@openai' });
const PAIRS: readonly Pair[] = [
  visit('a config comes and goes', config('team-a/guest', { provider: 'simulator' })),
  visit('a bad config comes and goes', config('team-a/guest', { provider: 'nobody' })),
  visit('a second default comes and goes', config('team-a/a-first', { provider: 'simulator' }, DEFAULT)),
  visit('an Integration comes and goes', integration('team-a/guest', 'vendor')),
  visit('an ApiKey comes and goes', apiKey('team-a/guest')),
  visit('a Secret comes and goes', secret('team-b/guest', { api_key: 'x' })),
  edit('a config is edited', CHAT, config('team-a/chat', { provider: 'simulator' })),
  edit('a config is spoilt', CHAT, config('team-a/chat', { provider: 'nobody' })),
  edit(
    'an Integration names another Secret',
    integration('team-a/openai', 'vendor'),
    integration('team-a/openai', 'nothing', { secret_mappings: [mapping('nothing')] }),
  ),
  edit(
    'a Secret is rotated',
    secret('team-a/vendor', { api_key: 'sk-of-team-a' }),
    secret('team-a/vendor', { api_key: 'x' }),
  ),
  edit(
    'a key is disabled',
    apiKey('team-a/own', { secret_name: 'own-key' }),
    apiKey('team-a/own', { secret_name: 'own-key', disabled: true }),
  ),
  {
    title: 'a Secret is deleted',
    name: 'vendor',
    act: (server) => server.delete(SECRETS, 'team-a', 'vendor'),
    undo: (server) => server.apply(secret('team-a/vendor', { api_key: 'sk-of-team-a' })),
  },
  {
    title: 'a config is deleted',
    name: 'chat',
    act: (server) => server.delete(resourceOf('GatewayConfig'), 'team-a', 'chat'),
    undo: (server) => server.apply(CHAT),
  },
];

/** Without generations, which count what was not seen too. */
function said({ outcome }: Stage): { readonly content: string; readonly statuses: unknown } {
  const statuses = Object.entries(outcome.statuses).map(([name, text]) => [
    name,
    text.replace(/ of \d+:/g, ':').replace(/^.*\n/, ''),
  ]);
  return { content: outcome.content, statuses };
}

/** Every status is of the generation that its object has. */
function expectCurrent({ outcome }: Stage): void {
  for (const [name, text] of Object.entries(outcome.statuses)) {
    expect(text, name).toMatch(/^generation (\d+), observed \1\n/);
  }
}

describe('O4: a change and its undoing', () => {
  it.each(PAIRS)('of which no event comes end as if nothing had been: $title', async ({ name, act, undo }) => {
    const { stage } = await running();
    const reference = said(stage);
    const lost = stage.server.faults.onEvent({ who: 'operator-0', name }, 'drop');
    act(stage.server);
    await pass(1_000);
    undo(stage.server);
    await pass(5_000);
    expect(lost.hits).toBeGreaterThan(0);
    expect(stage.outcome.content).toEqual(reference.content);
    lost.remove();
    stage.server.faults.expire();
    await pass(20_000);
    expect(said(stage)).toEqual(reference);
    expectCurrent(stage);
  });

  it.each(PAIRS)('at once, or while the watch is cut, end as if nothing had been: $title', async ({ act, undo }) => {
    const { stage } = await running();
    const reference = said(stage);
    act(stage.server);
    undo(stage.server);
    await pass(20_000);
    expect(said(stage)).toEqual(reference);
    stage.server.outage('refuse');
    act(stage.server);
    await pass(1_000);
    undo(stage.server);
    stage.server.compact();
    stage.server.recover();
    await pass(20_000);
    expect(said(stage)).toEqual(reference);
    expectCurrent(stage);
  });
});

describe('O5: events', () => {
  /** `everyMs`: from one act of a step to the next. */
  async function work(disturb: (server: ApiServer) => void, everyMs = 0): Promise<Stage> {
    const stage = openStage();
    stage.start();
    await pass(3_000);
    for (const { acts } of STEPS) {
      disturb(stage.server);
      for (const act of acts) {
        act(stage.server);
        await pass(everyMs);
      }
      await pass(4_000);
    }
    await stage.settle();
    return stage;
  }

  /** Of what others read: Events tell of what was seen on the way. */
  function changes({ writes }: Stage): number {
    return writes.filter(({ resource, isChange }) => isChange && resource !== 'events').length;
  }

  it.each([
    ['come twice', 0, ['duplicate'] as const],
    [
      'come in another order, or late',
      500,
      ['duplicate', 'swap', { delayMs: 30 }, { delayMs: 300 }, { delayMs: 2_000 }] as const,
    ],
  ])('that %s end the same, with no more writes than without', async (_, everyMs, faults) => {
    const { outcome, ...reference } = await work(() => {}, everyMs).then((stage) => ({
      outcome: stage.outcome,
      changes: changes(stage),
    }));
    const plan = fc.array(fc.tuple(fc.constantFrom(...faults), fc.nat(4)), {
      minLength: STEPS.length,
      maxLength: STEPS.length,
    });
    await fc.assert(
      fc.asyncProperty(plan, async (distortions) => {
        const left = [...distortions];
        const stage = await work((server) => {
          const [fault, skips] = left.shift() ?? [faults[0], 0];
          server.faults.onEvent({ who: 'operator-0', nth: 1 + skips, times: 6 }, fault as EventFault);
        });
        expect(stage.outcome).toEqual(outcome);
        expect(changes(stage)).toBeLessThanOrEqual(reference.changes);
        await stage.close();
      }),
      { numRuns: 20 },
    );
  });
});

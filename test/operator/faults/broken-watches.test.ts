/** O6, O8, O9: watches that expire, fall silent, or say what nobody understands. */
import { describe, expect, it } from 'vitest';
import { SECRETS } from '#crds/api/api-object.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import type { ApiServer } from '../../fakes/api-server/api-server.ts';
import { condition, published, resourceOf } from './outcome.ts';
import { running } from './running.ts';
import { type OperatorRun, openStage, type Stage, useStages } from './stage.ts';
import { BEGINNING, config, secret } from './workload.ts';

useStages();

const CONFIGS = resourceOf('GatewayConfig');

function names({ server }: Stage): string[] {
  return published(server).snapshot.configs.map(({ namespace, name }) => `${namespace}/${name}`);
}

function listsOf(stage: Stage, resource = 'gatewayconfigs'): number {
  return stage.server.requests.filter((one) => one.verb === 'list' && one.resource === resource).length;
}

/** One comes, one goes. */
function change({ server }: Stage): void {
  server.apply(config('team-a/late', { provider: 'simulator' }));
  server.delete(CONFIGS, 'team-b', 'chat');
}

function expectChanged(stage: Stage): void {
  expect(names(stage)).toContain('team-a/late');
  expect(names(stage)).not.toContain('team-b/chat');
  expect(condition(stage.server, 'GatewayConfig team-a/late', 'Ready')).toBe('True Ready');
}

function reasonsOf({ faults }: OperatorRun): unknown[] {
  return faults.map((error) => (error as { reason?: string }).reason);
}

describe('O6: a version that is forgotten', () => {
  it('is followed by one list, which tells of what was deleted meanwhile', async () => {
    const { stage, run } = await running();
    const lists = listsOf(stage);
    stage.server.outage('refuse');
    await pass(2_000);
    change(stage);
    stage.server.compact();
    stage.server.recover();
    await pass(15_000);
    expectChanged(stage);
    expect(reasonsOf(run)).toContain('Expired');
    expect(listsOf(stage)).toBe(lists + 1);
  });

  it('in the middle of a watch is followed by one list', async () => {
    const { stage, run } = await running();
    const lists = listsOf(stage);
    stage.server.faults.expire({ who: 'operator-0' });
    change(stage);
    await pass(15_000);
    expectChanged(stage);
    expect(reasonsOf(run)).toContain('Expired');
    expect(listsOf(stage)).toBe(lists + 1);
  });

  it('in the middle of a list begins it anew', async () => {
    const stage = openStage();
    for (let n = 0; n < 1_100; n++) stage.server.apply(secret(`crowd/s${n}`, { a: 'b' }));
    stage.server.apply(BEGINNING);
    const expired = stage.server.faults.onRequest({ path: /[?&]continue=/, nth: 2, times: 1 }, { status: 410 });
    const run = stage.start();
    await pass(10_000);
    expect(expired.hits).toBe(1);
    expect([run.isLeader(), run.faults]).toEqual([true, []]);
    expect(condition(stage.server, 'GatewayConfig team-a/chat', 'Ready')).toBe('True Ready');
  });

  it('is not met where hours bring nothing but bookmarks', async () => {
    const { stage, run } = await running();
    const lists = listsOf(stage);
    for (let hour = 0; hour < 2; hour++) {
      for (let n = 0; n < 30; n++) {
        stage.server.apply(secret('elsewhere/busy', { n: String(hour * 30 + n) }));
        await pass(120_000);
      }
      // All but what the newest bookmarks told of.
      stage.server.faults.bookmark();
      stage.server.compact();
      stage.server.restart();
    }
    await pass(5_000);
    expect(listsOf(stage)).toBe(lists);
    expect(reasonsOf(run)).not.toContain('Expired');
    change(stage);
    await pass(5_000);
    expectChanged(stage);
  });

  it('after watches that brought bookmarks alone is followed by a list that tells of what they kept back', async () => {
    const { stage } = await running();
    const nothing = stage.server.faults.onlyBookmarks({ who: 'operator-0' });
    change(stage);
    stage.server.faults.bookmark();
    await pass(5_000);
    expect(names(stage)).toContain('team-b/chat');
    nothing.remove();
    stage.server.faults.expire();
    await pass(15_000);
    expectChanged(stage);
  });
});

describe('O8: a half-open connection', () => {
  it('is given up within 60 s, and what happened meanwhile is made up for', async () => {
    const { stage, run } = await running();
    await pass(7_000);
    stage.server.outage('black-hole');
    stage.server.recover();
    change(stage);
    await pass(30_000);
    expect(names(stage)).toContain('team-b/chat');
    await pass(35_000);
    expectChanged(stage);
    expect(reasonsOf(run)).toContain('Silent');
  });

  it('is none where nothing happens for an hour: no list, no fault, no pass without cause', async () => {
    const { stage, run } = await running();
    const lists = listsOf(stage);
    await pass(3_600_000);
    expect([listsOf(stage), run.faults]).toEqual([lists, []]);
  });
});

const NONSENSE: readonly (readonly [string, string, (server: ApiServer) => void])[] = [
  ['half an event', 'BrokenLine', ({ faults }) => faults.sendLine('{"type":"ADDED","object":{"kind', ALL)],
  ['an event that is no object', 'UnknownEvent', ({ faults }) => faults.sendLine('[]', ALL)],
  ['an unknown kind of event', 'UnknownEvent', ({ faults }) => faults.sendLine('{"type":"REPLACED","object":{}}', ALL)],
  [
    'a version of the kind that nobody knows',
    'UnknownKind',
    ({ faults }) =>
      faults.sendLine(
        JSON.stringify({
          type: 'MODIFIED',
          object: {
            apiVersion: 'modelgateway.dev/v9',
            kind: 'GatewayConfig',
            metadata: { namespace: 'team-a', name: 'chat', resourceVersion: '99999' },
          },
        }),
        ALL,
      ),
  ],
  [
    'an object without a name',
    'BrokenLine',
    ({ faults }) =>
      faults.sendLine(
        JSON.stringify({
          type: 'DELETED',
          object: { ...CONFIGS, metadata: { resourceVersion: '99999' } },
        }),
        ALL,
      ),
  ],
  ['a bookmark of no version', 'BrokenLine', ({ faults }) => faults.sendLine('{"type":"BOOKMARK","object":{}}', ALL)],
  ['an object that is too large', 'TooLarge', ({ faults }) => faults.sendOversized(17 * 1024 * 1024, ALL)],
  [
    'the server at its end',
    'InternalError',
    ({ faults }) =>
      faults.sendLine('{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}', ALL),
  ],
];
const ALL = { who: 'operator-0', resource: CONFIGS };

describe('O9: a watch that brings', () => {
  it.each(NONSENSE)('%s is told of, and begun anew with a list', async (_, reason, send) => {
    const { stage, run } = await running();
    const [lists, { outcome }] = [listsOf(stage), stage];
    send(stage.server);
    await pass(5_000);
    expect(reasonsOf(run)).toEqual([reason]);
    expect(listsOf(stage)).toBe(lists + 1);
    expect(stage.outcome).toEqual(outcome);
    change(stage);
    await pass(5_000);
    expectChanged(stage);
  });

  it('nonsense of Secrets alone leaves the others as they are', async () => {
    const { stage, run } = await running();
    const [lists, secrets] = [listsOf(stage), listsOf(stage, 'secrets')];
    stage.server.faults.sendLine('nonsense', { who: 'operator-0', resource: SECRETS });
    stage.server.apply(secret('team-a/vendor', { api_key: 'sk-new' }));
    await pass(5_000);
    expect(JSON.stringify(published(stage.server).snapshot.credentials)).toContain('sk-new');
    expect(new Set(reasonsOf(run))).toEqual(new Set(['BrokenLine']));
    // Our own, the ApiKeys', and all others.
    expect([listsOf(stage), listsOf(stage, 'secrets')]).toEqual([lists, secrets + 3]);
  });
});

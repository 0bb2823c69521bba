/** The client against an API server with the rules of the real one. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { type ApiObject, CONFIG_MAPS, EVENTS, LEASES, SECRETS } from '#crds/api/api-object.ts';
import { EventRecorder } from '#crds/api/event-recorder.ts';
import { LeaderElection } from '#crds/api/lease.ts';
import { type ReflectOptions, reflect } from '#crds/api/reflector.ts';
import { type ApiServer, startApiServer } from '../../fakes/api-server/api-server.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  const closing = cleanups.splice(0).map((clean) => clean());
  await pass(30_000);
  await Promise.all(closing);
});

function serve(): ApiServer {
  const server = startApiServer({ namespaces: ['n'] });
  cleanups.push(() => server.close());
  return server;
}

function configMap(name: string, value: string): ApiObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n' }, data: { value } };
}

function follow(server: ApiServer, options: Partial<ReflectOptions> = {}) {
  const faults: Error[] = [];
  let changes = 0;
  const reflection = reflect({
    client: new ApiClient(server.transport('reflector')),
    resource: CONFIG_MAPS,
    namespace: 'n',
    onChange: () => {
      changes += 1;
    },
    onFault: (error) => faults.push(error),
    ...options,
  });
  cleanups.unshift(() => reflection.close());
  return {
    reflection,
    faults,
    changes: () => changes,
    lists: () => server.requests.filter((one) => one.who === 'reflector' && !one.path.includes('watch=true')).length,
    held: () =>
      Object.fromEntries(
        [...reflection.objects.values()].map((one) => [one.metadata.name, Object(one['data'])['value'] as string]),
      ),
  };
}

function stored(server: ApiServer): Record<string, string> {
  return Object.fromEntries(
    server.list(CONFIG_MAPS, 'n').map((one) => [one.metadata.name, Object(one['data'])['value'] as string]),
  );
}

describe('a reflection', () => {
  it('holds what is stored, list and watch alike, and leaves out what it does not select', async () => {
    const server = serve();
    for (let n = 0; n < 7; n++) server.apply(configMap(`o${n}`, '1'));
    const made = follow(server, { pageSize: 3 });
    await pass();
    expect(made.held()).toEqual(stored(server));
    expect(made.lists()).toBe(3);
    server.patch(CONFIG_MAPS, 'n', 'o1', { data: { value: '2' } });
    server.delete(CONFIG_MAPS, 'n', 'o2');
    server.apply(configMap('new', '1'));
    await pass();
    expect(made.held()).toEqual(stored(server));
    expect(made.held()).toMatchObject({ o1: '2', new: '1' });
    const one = follow(server, { fieldSelector: 'metadata.name=new' });
    await pass();
    expect(one.held()).toEqual({ new: '1' });
    expect(made.faults).toEqual([]);
  });

  it('sees nothing of Secrets but their metadata where it asks for no more', async () => {
    const server = serve();
    server.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'n' }, data: { a: 'eA==' } });
    const made = follow(server, { resource: SECRETS, metadataOnly: true });
    await pass();
    server.patch(SECRETS, 'n', 's', { data: { b: 'eA==' } });
    await pass();
    const object = made.reflection.objects.get('n/s');
    expect(object?.metadata.resourceVersion).toBe(server.get(SECRETS, 'n', 's')?.metadata.resourceVersion);
    expect(JSON.stringify(object)).not.toContain('eA==');
    expect(made.faults).toEqual([]);
  });

  it('asks for one list in an hour in which nothing fails', async () => {
    const server = serve();
    server.apply(configMap('a', '1'));
    const made = follow(server);
    await pass(3_600_000);
    expect(made.lists()).toBe(1);
    expect(made.faults).toEqual([]);
    expect(made.changes()).toBe(1);
    server.apply(configMap('b', '1'));
    await pass();
    expect(made.held()).toEqual(stored(server));
  });

  it.each([
    ['O7: it is away', (server: ApiServer) => server.outage('refuse'), 30 * 60_000, 1],
    ['O8: it is a black hole', (server: ApiServer) => server.outage('black-hole'), 10 * 60_000, 1],
    ['O6: it is away, and has forgotten', (server: ApiServer) => server.outage('refuse'), 30 * 60_000, 2],
  ])('is as it shall be within 10 s after the server is back: %s', async (what, begin, lasts, lists) => {
    const server = serve();
    server.apply([configMap('a', '1'), configMap('b', '1')]);
    const made = follow(server);
    await pass(1_000);
    begin(server);
    await pass(lasts / 2);
    server.delete(CONFIG_MAPS, 'n', 'a');
    server.apply(configMap('c', '1'));
    await pass(lasts / 2);
    expect(made.held()).toEqual({ a: '1', b: '1' });
    if (what.includes('forgotten')) server.compact();
    server.recover();
    await pass(10_000);
    expect(made.held()).toEqual({ b: '1', c: '1' });
    expect(server.requests.filter((one) => one.status === 200 && !one.path.includes('watch=true'))).toHaveLength(lists);
    expect(made.faults.length).toBeGreaterThan(3);
  });

  it('O2: believes no server that lists an older world', async () => {
    const server = serve();
    server.apply(configMap('a', '1'));
    const made = follow(server);
    await pass(1_000);
    const before = server.version;
    server.apply([configMap('a', '2'), configMap('b', '1')]);
    await pass(1_000);
    server.compact();
    server.restart({ olderWorld: before });
    await pass(60_000);
    expect(made.held()).toEqual({ a: '2', b: '1' });
    server.catchUp();
    server.apply(configMap('c', '1'));
    await pass(60_000);
    expect(made.held()).toEqual(stored(server));
    expect(made.faults.length).toBeGreaterThan(0);
  });

  it('O4, O5, O6: ends with what is stored, whatever happened on the way', async () => {
    const steps = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        act: fc.constantFrom('set', 'set', 'set', 'delete', 'cut', 'compact', 'gone', 'broken', 'wait'),
        distort: fc.constantFrom('none', 'duplicate', 'swap', 'late'),
      }),
      { minLength: 1, maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const server = startApiServer({ namespaces: ['n'] });
        const made = follow(server);
        await pass();
        for (const [index, { name, act, distort }] of taken.entries()) {
          // Bytes come late, yet never after what was sent behind them: nothing is under way when a connection is cut.
          if (CUTTING.has(act)) await pass(LATEST_MS);
          disturb(server, distort);
          await ACTS[act]?.(server, name, String(index));
        }
        await pass(60_000);
        expect(made.held()).toEqual(stored(server));
        made.reflection.close();
        server.close();
      }),
      { numRuns: 60 },
    );
  });
});

/** After which they resume where they were, and do not list. */
const CUTTING: ReadonlySet<string> = new Set(['cut', 'compact']);
/** Until the watch is open again, and an event that was held back has come. */
const LATEST_MS = 35_000;

const ACTS: Readonly<Record<string, (server: ApiServer, name: string, value: string) => unknown>> = {
  set: (server, name, value) => server.apply(configMap(name, value)),
  delete: (server, name) => {
    if (server.get(CONFIG_MAPS, 'n', name) !== undefined) server.delete(CONFIG_MAPS, 'n', name);
  },
  cut: (server) => server.restart(),
  compact: (server) => {
    server.compact();
    server.restart();
  },
  gone: (server) => server.faults.expire(),
  broken: (server) => server.faults.sendLine('{"type":"ADDED","object":'),
  wait: () => pass(100),
};

function disturb(server: ApiServer, distort: string): void {
  if (distort === 'none') return;
  const fault = distort === 'late' ? { delayMs: 30 } : (distort as 'duplicate' | 'swap');
  server.faults.onEvent({ times: 1 }, fault);
}

describe('leader election', () => {
  function stand(server: ApiServer, identity: string) {
    const told: string[] = [];
    const faults: Error[] = [];
    const election = new LeaderElection({
      client: new ApiClient(server.transport(identity)),
      namespace: 'n',
      name: 'operator',
      identity,
      fieldManager: 'm',
      onStart: (term) => told.push(`start ${term}`),
      onStop: () => told.push('stop'),
      onFault: (error) => faults.push(error),
    });
    cleanups.unshift(() => election.close());
    return { election, told, faults };
  }

  it('writes what the server takes, and hands over at once', async () => {
    const server = serve();
    const one = stand(server, 'one');
    await pass(1_000);
    const two = stand(server, 'two');
    await pass(20_000);
    expect([one.told, two.told]).toEqual([['start 0'], []]);
    await one.election.close();
    await pass(2_500);
    expect([one.told, two.told]).toEqual([['start 0', 'stop'], ['start 1']]);
    expect(server.find(LEASES, 'n', 'operator')).toMatchObject({
      spec: { holderIdentity: 'two', leaseTransitions: 1 },
    });
    expect([...one.faults, ...two.faults]).toEqual([]);
  });

  it('O14: never has two leaders, whatever fails for whom and however long', async () => {
    const steps = fc.array(
      fc.record({
        who: fc.constantFrom('one', 'two', 'three'),
        forMs: fc.nat(20_000),
        fault: fc.constantFrom('refuse', 'hang'),
      }),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const server = startApiServer({ namespaces: ['n'] });
        const all = ['one', 'two', 'three'].map((identity) => stand(server, identity));
        const leaders = () => all.filter(({ election }) => election.isLeader()).length;
        let most = 0;
        const watch = async (ms: number) => {
          for (let gone = 0; gone < ms; gone += 500) {
            await pass(500);
            most = Math.max(most, leaders());
          }
        };
        for (const { who, forMs, fault } of taken) {
          const injected = server.faults.onRequest({ who }, fault as 'refuse' | 'hang');
          await watch(forMs);
          injected.remove();
        }
        await watch(30_000);
        expect([most, leaders()]).toEqual([1, 1]);
        const closing = all.map(({ election }) => election.close());
        await pass(30_000);
        await Promise.all(closing);
        server.close();
      }),
      { numRuns: 15 },
    );
  });
});

describe('Events', () => {
  it('are such as the server takes, first ones and counts', async () => {
    const server = serve();
    const [regarding] = server.apply(configMap('a', '1'));
    if (regarding === undefined) throw new Error('nothing was applied');
    const recorder = new EventRecorder({
      client: new ApiClient(server.transport('recorder')),
      fieldManager: 'm',
      reportingController: 'modelgateway.dev/operator',
      reportingInstance: 'operator-0',
    });
    cleanups.unshift(() => recorder.close());
    const occurrence = {
      regarding,
      type: 'Warning',
      reason: 'Refused',
      action: 'Compile',
      note: 'ä'.repeat(999),
    } as const;
    for (let n = 0; n < 3; n++) {
      recorder.record(occurrence);
      await pass(1_000);
    }
    await pass(10_000);
    expect(recorder.dropped).toBe(0);
    expect(server.list(EVENTS, 'n')).toMatchObject([
      { reason: 'Refused', regarding: { name: 'a', uid: regarding.metadata.uid }, series: { count: 3 } },
    ]);
  });
});

describe('writes', () => {
  it('that are late are refused', async () => {
    const server = serve();
    const client = new ApiClient(server.transport());
    const first = await client.create(CONFIG_MAPS, configMap('a', '1'), 'm');
    await client.replace(CONFIG_MAPS, { ...first, data: { value: '2' } }, 'm');
    const late = client.replace(CONFIG_MAPS, { ...first, data: { value: '3' } }, 'm');
    await expect(late).rejects.toMatchObject({ status: 409, reason: 'Conflict' });
    await expect(client.create(CONFIG_MAPS, configMap('a', '4'), 'm')).rejects.toThrow(ApiError);
    await expect(client.delete(CONFIG_MAPS, 'n', 'a', { uid: 'another' })).rejects.toMatchObject({ status: 409 });
    expect(stored(server)).toEqual({ a: '2' });
    await client.delete(CONFIG_MAPS, 'n', 'a', { uid: first.metadata.uid ?? '' });
    expect(stored(server)).toEqual({});
  });
});

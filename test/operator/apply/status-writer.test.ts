/** Statuses on their way to an API server, in virtual time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { eventsOf } from '#operator/apply/events.ts';
import { storedProgrammed } from '#operator/apply/status-object.ts';
import { StatusWriter, type WrittenStatus } from '#operator/apply/status-writer.ts';
import { type Condition, type ObjectStatus, withProgrammed } from '#operator/compile/status.ts';
import { statusOf } from './cases.ts';
import { StatusServer } from './status-server.ts';

const MINUTE_MS = 60_000;

let server: StatusServer;
let writer: StatusWriter;
let isLeader: boolean;
let written: WrittenStatus[];
let faults: string[];

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: new Date('2026-01-31T12:00:00.400Z'),
  });
  server = new StatusServer();
  isLeader = true;
  written = [];
  faults = [];
  writer = start();
});

afterEach(() => {
  writer.close();
  vi.useRealTimers();
});

function start(): StatusWriter {
  return new StatusWriter({
    client: new ApiClient(server),
    stored: ({ name }) => server.observed.get(name),
    isLeader: () => isLeader,
    onWritten: (one) => written.push(one),
    onFault: (error, { name }) => faults.push(`${name}: ${error.message}`),
  });
}

type Words = Omit<Condition, 'type'>;
const SERVED: Words = { status: 'True', reason: 'Programmed', message: 'served by 3 of 3 replicas' };
const PENDING: Words = { status: 'False', reason: 'Pending', message: '1 of 3 replicas serve it' };

function status(name: string, programmed: Words = SERVED, how: Parameters<typeof statusOf>[1] = {}): ObjectStatus {
  return withProgrammed(statusOf(name, how), { type: 'Programmed', ...programmed });
}

const elapse = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const namesOf = (writes: readonly { readonly name: string }[]) => writes.map(({ name }) => name).sort();

describe('a status', () => {
  it('is applied to the status subresource by our field manager, with the uid and version that it is meant for', async () => {
    server.put('a', 4);
    writer.want([status('a', SERVED, { generation: 4 })]);
    await elapse(10);
    const [write] = server.writes;
    expect(Object.fromEntries(write?.query ?? [])).toEqual({ fieldManager: 'model-gateway-operator', force: 'true' });
    expect(write?.body).toEqual({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'GatewayConfig',
      metadata: { name: 'a', namespace: 'default', uid: 'uid-of-a', resourceVersion: '1001' },
      status: {
        observedGeneration: 4,
        conditions: [
          { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' },
          { type: 'ResolvedRefs', status: 'True', reason: 'Resolved', message: '' },
          { type: 'Programmed', ...SERVED },
          { type: 'Ready', status: 'True', reason: 'Ready', message: '' },
        ].map((condition) => ({
          ...condition,
          observedGeneration: 4,
          lastTransitionTime: '2026-01-31T12:00:00Z',
        })),
      },
    });
  });

  it('is written once, and never again while nothing changes', async () => {
    for (let index = 0; index < 40; index++) server.put(`o${index}`);
    const all = Array.from({ length: 40 }, (_, index) => status(`o${index}`));
    writer.want(all);
    await elapse(1_000);
    expect(server.asked).toHaveLength(40);
    for (let pass = 0; pass < 20; pass++) {
      writer.want(all);
      await elapse(30_000);
    }
    expect(server.asked).toHaveLength(40);
  });

  it('is not written by an operator that starts and finds it stored', async () => {
    server.put('a');
    writer.want([status('a')]);
    await elapse(100);
    writer.close();
    writer = start();
    writer.want([status('a')]);
    await elapse(MINUTE_MS);
    expect(server.asked).toEqual(['a']);
  });

  it.each<[string, ObjectStatus, number]>([
    ['another count of replicas that served it', status('a', { ...SERVED, message: 'served by 4 of 4 replicas' }), 0],
    ['another generation', status('a', SERVED, { generation: 2 }), 1],
    ['another message of a condition that fails', status('a', { ...PENDING, message: '2 of 3 replicas serve it' }), 1],
    ['another condition', { ...status('a'), conditions: [...status('a').conditions, warning('x')] }, 1],
  ])('that differs in %s is written %3$i times', async (_, next, count) => {
    server.put('a');
    writer.want([status('a')]);
    await elapse(100);
    writer.want([next]);
    await elapse(1_000);
    expect(server.writes).toHaveLength(1 + count);
  });

  it('loses a warning that is over, and keeps conditions of others', async () => {
    server.put('a');
    const foreign = { type: 'Audited', status: 'True', reason: 'Fine', message: '' };
    writer.want([{ ...status('a'), conditions: [...status('a').conditions, warning('x')] }]);
    await elapse(100);
    writer.want([status('a')]);
    await elapse(100);
    expect(server.condition('a', 'Warning')).toBeUndefined();
    server.setStatus('a', { ...(server.object('a')['status'] as object), conditions: [...conditionsOf('a'), foreign] });
    await elapse(MINUTE_MS);
    expect(server.writes).toHaveLength(2);
  });

  it('says when each condition changed, not when it was written', async () => {
    server.put('a');
    writer.want([status('a', PENDING)]);
    await elapse(60_000);
    writer.want([status('a', SERVED, { generation: 2 })]);
    await elapse(100);
    expect(server.condition('a', 'Accepted')?.lastTransitionTime).toBe('2026-01-31T12:00:00Z');
    expect(server.condition('a', 'Programmed')?.lastTransitionTime).toBe('2026-01-31T12:01:00Z');
  });

  it('is compared with what was written, not with what an older watch event says', async () => {
    server.watches = false;
    server.put('a');
    server.catchUp();
    writer.want([status('a')]);
    await elapse(100);
    writer.want([status('a')]);
    await elapse(MINUTE_MS);
    expect(server.asked).toEqual(['a']);
  });

  it('that somebody else changed is mended, once', async () => {
    server.put('a');
    writer.want([status('a')]);
    await elapse(100);
    server.setStatus('a', { conditions: [] });
    await elapse(11_000);
    expect(server.condition('a', 'Ready')?.status).toBe('True');
    await elapse(10 * MINUTE_MS);
    expect(server.asked).toHaveLength(2);
  });

  it('that the server answers otherwise than it was written is not written for ever', async () => {
    server.put('a');
    const apply = server.setStatus.bind(server);
    server.setStatus = (name, value) => apply(name, { ...(value as object), observedGeneration: 7 });
    writer.want([status('a')]);
    await elapse(10 * MINUTE_MS);
    expect(server.asked).toHaveLength(1);
  });

  it('that is passing is not written if it is over soon, and is written if it lasts', async () => {
    server.put('a');
    server.put('b');
    writer.want([status('a', PENDING), status('b', PENDING)]);
    await elapse(300);
    expect(server.asked).toEqual([]);
    writer.want([status('a'), status('b', { ...PENDING, message: '2 of 3 replicas serve it' })]);
    await elapse(100);
    expect(namesOf(server.writes)).toEqual(['a']);
    await elapse(150);
    expect(server.condition('b', 'Programmed')?.message).toBe('2 of 3 replicas serve it');
  });

  it.each([
    ['an object without uid', { ...status('a'), uid: undefined }],
    ['an object that gives way to another', { ...status('a'), isDuplicate: true }],
    ['a kind that is not ours', { ...status('a'), kind: 'Secret' }],
    ['an object that is gone', status('gone')],
  ])('of %s is not written', async (_, one) => {
    server.put('a');
    writer.want([one]);
    await elapse(MINUTE_MS);
    expect(server.asked).toEqual([]);
  });
});

function warning(message: string): Condition {
  return { type: 'Warning', status: 'True', reason: 'NoEffect', message };
}

function conditionsOf(name: string): readonly unknown[] {
  return (server.object(name)['status'] as { conditions: readonly unknown[] }).conditions;
}

describe('writes', () => {
  it('are 16 at once at most', async () => {
    server.latencyMs = 50;
    const names = Array.from({ length: 100 }, (_, index) => `o${index}`);
    for (const name of names) server.put(name);
    writer.want(names.map((name) => status(name)));
    await elapse(5_000);
    expect(server.writes).toHaveLength(100);
    expect(server.mostInFlight).toBe(16);
  });

  it('take the newest status: one that comes meanwhile replaces what waits, and follows what is being written', async () => {
    server.latencyMs = 100;
    server.put('a');
    writer.want([status('a', SERVED, { generation: 1 })]);
    await elapse(50);
    for (const generation of [2, 3, 4]) writer.want([status('a', SERVED, { generation })]);
    await elapse(1_000);
    expect(server.writes.map(({ body }) => Object(body['status']).observedGeneration)).toEqual([1, 4]);
    expect(server.mostInFlight).toBe(1);
  });

  it('are made by the leader alone, asked before each', async () => {
    server.latencyMs = 100;
    const all = Array.from({ length: 40 }, (_, index) => `o${index}`);
    for (const name of all) server.put(name);
    writer.want(all.map((name) => status(name)));
    await elapse(50);
    isLeader = false;
    await elapse(MINUTE_MS);
    expect(server.asked).toHaveLength(16);
    isLeader = true;
    writer.want(all.map((name) => status(name)));
    await elapse(1_000);
    expect(server.asked).toHaveLength(40);
  });

  it('are over when idle() says so', async () => {
    server.put('a');
    server.fault = () => (server.asked.length < 3 ? { status: 500 } : undefined);
    let isIdle = false;
    await writer.idle();
    writer.want([status('a', PENDING)]);
    void writer.idle().then(() => {
      isIdle = true;
    });
    await elapse(400);
    expect(isIdle).toBe(false);
    await elapse(1_000);
    expect(isIdle).toBe(true);
    expect(server.writes).toHaveLength(1);
  });

  it('end with close()', async () => {
    server.put('a');
    server.fault = () => ({ status: 500 });
    writer.want([status('a')]);
    await elapse(100);
    const count = server.asked.length;
    writer.close();
    await writer.idle();
    await elapse(MINUTE_MS);
    expect(server.asked.length).toBeLessThanOrEqual(count + 1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a write that fails (O10)', () => {
  it.each([[409], [422], [429], [500], [503]])(
    'with %i is tried again, less and less often; others are not affected',
    async (code) => {
      server.put('a');
      server.put('b');
      server.fault = (name) => (name === 'a' ? { status: code } : undefined);
      writer.want([status('a'), status('b')]);
      await elapse(100);
      expect(namesOf(server.writes)).toEqual(['b']);
      await elapse(30 * MINUTE_MS);
      const times = server.refused.map(({ atMs }) => atMs);
      const waits = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
      for (const [index, wait] of waits.entries()) {
        const bound = Math.min(5 * 2 ** index, 1_000_000);
        expect(wait).toBeGreaterThanOrEqual(bound / 2);
        expect(wait).toBeLessThanOrEqual(bound + 2);
      }
      expect(waits.length).toBeGreaterThanOrEqual(17);
      expect(faults.length).toBe(times.length);
      server.fault = () => undefined;
      await elapse(1_000_001);
      expect(namesOf(server.writes)).toEqual(['a', 'b']);
      expect(writer.counts).toMatchObject({ writes: 2, failures: times.length, retries: times.length, depth: 0 });
    },
  );

  it('waits as long as the server says', async () => {
    server.put('a');
    server.fault = () => (server.asked.length === 1 ? { status: 429, retryAfter: '30' } : undefined);
    writer.want([status('a')]);
    await elapse(29_900);
    expect(server.asked).toHaveLength(1);
    writer.want([status('a', { ...PENDING })]);
    await elapse(4_000);
    expect(server.writes).toHaveLength(1);
    expect(server.condition('a', 'Programmed')?.reason).toBe('Pending');
  });

  it('is tried at once for a new version of the object', async () => {
    server.put('a');
    server.fault = ({ length }) =>
      length > 0 && server.object('a').metadata.generation === 1 ? { status: 422 } : undefined;
    writer.want([status('a')]);
    await elapse(10 * MINUTE_MS);
    server.put('a', 2);
    writer.want([status('a', SERVED, { generation: 2 })]);
    await elapse(10);
    expect(server.writes).toHaveLength(1);
  });

  it('because the object is gone is forgotten', async () => {
    server.watches = false;
    server.put('a');
    server.catchUp();
    server.remove('a');
    writer.want([status('a')]);
    await elapse(5_000);
    expect(server.asked).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  it('because the object was made anew gives it nothing of the old one (O3)', async () => {
    server.watches = false;
    server.put('a');
    server.catchUp();
    server.remove('a');
    server.put('a', 1, 'another');
    writer.want([status('a')]);
    await elapse(100);
    expect(server.refused.length).toBeGreaterThan(0);
    server.catchUp();
    await elapse(1_000);
    const asked = server.asked.length;
    await elapse(MINUTE_MS);
    expect(server.asked).toHaveLength(asked);
    expect(server.object('a')['status']).toBeUndefined();
    writer.want([status('a', PENDING, { uid: 'another' })]);
    await elapse(1_000);
    expect(server.condition('a', 'Programmed')?.reason).toBe('Pending');
  });
});

describe('an API server that does not answer (O7)', () => {
  it('is asked rarely, and has all statuses soon after it is back', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `o${index}`);
    for (const name of names) server.put(name);
    server.fault = () => 'no answer';
    writer.want(names.map((name) => status(name)));
    await elapse(30 * MINUTE_MS);
    expect(server.asked.length).toBeLessThan(4_000);
    expect(server.asked.length).toBeGreaterThan(1_000);
    server.fault = () => undefined;
    await elapse(10_000);
    expect(namesOf(server.writes)).toEqual([...names].sort());
  });

  it('of one object alone delays the others little', async () => {
    for (const name of ['a', 'b', 'c']) server.put(name);
    server.fault = (name) => (name === 'a' ? 'no answer' : undefined);
    writer.want([status('a'), status('b'), status('c')]);
    await elapse(200);
    writer.want([status('a'), status('b', SERVED, { generation: 2 }), status('c')]);
    await elapse(1_500);
    expect(namesOf(server.writes)).toEqual(['b', 'b', 'c']);
  });
});

describe('what is stored', () => {
  it('tells an operator that starts how an object was served, of exactly this version', async () => {
    server.put('a');
    writer.want([status('a')]);
    await elapse(100);
    const object = server.object('a');
    expect(storedProgrammed(object, status('a'))).toBe('served by 3 of 3 replicas');
    expect(storedProgrammed(object, status('a', SERVED, { generation: 2 }))).toBeUndefined();
    expect(storedProgrammed(object, status('a', SERVED, { uid: 'another' }))).toBeUndefined();
    expect(storedProgrammed(undefined, status('a'))).toBeUndefined();
    writer.want([status('a', PENDING)]);
    await elapse(1_000);
    expect(storedProgrammed(server.object('a'), status('a'))).toBeUndefined();
  });
});

describe('events', () => {
  const told = () =>
    written
      .flatMap(eventsOf)
      .map(({ type, reason, action, note, regarding }) => [
        `${regarding.kind} ${regarding.metadata.uid}`,
        `${type} ${reason} ${action}`,
        note,
      ]);

  it('tell what a new object has come to', async () => {
    server.put('a');
    writer.want([status('a')]);
    await elapse(100);
    expect(told()).toEqual([
      ['GatewayConfig uid-of-a', 'Normal Accepted Check', 'Accepted=True: The object is used as it is written.'],
      ['GatewayConfig uid-of-a', 'Normal Programmed Program', 'Programmed=True: served by 3 of 3 replicas'],
    ]);
  });

  it('tell what is the matter, each once, and that it is over', async () => {
    server.put('a');
    writer.want([status('a', { status: 'False', reason: 'LastGoodServed', message: '' }, { isRefused: true })]);
    await elapse(100);
    expect(told().map(([, what]) => what)).toEqual([
      'Warning InvalidSpec Check',
      'Normal NotResolved ResolveRefs',
      'Warning LastGoodServed Program',
      'Normal NotReady Judge',
    ]);
    expect(told()[0]?.[2]).toBe('Accepted=False: spec: bad');
    written.length = 0;
    writer.want([status('a')]);
    await elapse(100);
    expect(told().map(([, what]) => what)).toEqual([
      'Normal Accepted Check',
      'Normal Resolved ResolveRefs',
      'Normal Programmed Program',
      'Normal Ready Judge',
    ]);
  });

  it('tell nothing of another message, another generation, or a start', async () => {
    server.put('a');
    writer.want([status('a', PENDING)]);
    await elapse(1_000);
    written.length = 0;
    writer.want([status('a', { ...PENDING, message: '2 of 3 replicas serve it' }, { generation: 2 })]);
    await elapse(1_000);
    writer.close();
    writer = start();
    writer.want([status('a', { ...PENDING, message: '0 of 3 replicas serve it' }, { generation: 2 })]);
    await elapse(1_000);
    expect(written).toHaveLength(2);
    expect(told()).toEqual([]);
  });
});

/** What a status says besides its conditions, on its way to an API server; in virtual time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiClient } from '#crds/api/api-client.ts';
import { StatusWriter } from '#operator/apply/status-writer.ts';
import { type ObjectStatus, type StatusFields, withFields, withProgrammed } from '#operator/compile/status.ts';
import { statusOf } from './cases.ts';
import { StatusServer } from './status-server.ts';

let server: StatusServer;
let writer: StatusWriter;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: new Date('2026-01-31T12:00:00Z'),
  });
  server = new StatusServer();
  server.put('a');
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
    isLeader: () => true,
  });
}

const SERVED = {
  type: 'Programmed',
  status: 'True',
  reason: 'Programmed',
  message: 'served by 1 of 1 replica',
} as const;
const PENDING = { type: 'Programmed', status: 'False', reason: 'RefusedByGateway', message: 'no' } as const;
const elapse = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function statusWith(fields: StatusFields, programmed: typeof SERVED | typeof PENDING = SERVED): ObjectStatus {
  return withFields(withProgrammed(statusOf('a'), programmed), fields);
}

function storedFields(): object {
  const { conditions: _, observedGeneration: __, ...fields } = Object(server.object('a')['status']);
  return fields;
}

describe('fields of a status', () => {
  it('are written beside the conditions', async () => {
    writer.want([statusWith({ used: '12', groups: [{ key: 'x', used: '1' }] })]);
    await elapse(10);
    expect(storedFields()).toEqual({ used: '12', groups: [{ key: 'x', used: '1' }] });
    expect(server.condition('a', 'Ready')?.status).toBe('True');
  });

  it('that say the same in other objects are written once', async () => {
    for (let pass = 0; pass < 20; pass++) {
      writer.want([statusWith({ groups: [{ key: 'x', used: '1' }] })]);
      await elapse(10_000);
    }
    expect(server.writes).toHaveLength(1);
  });

  it('that change all the time are written every five seconds at most, the last value in the end', async () => {
    for (let used = 1; used <= 200; used++) {
      writer.want([statusWith({ used })]);
      await elapse(100);
    }
    expect(server.writes.length).toBeGreaterThan(2);
    expect(server.writes.length).toBeLessThanOrEqual(5);
    await elapse(5_000);
    expect(storedFields()).toEqual({ used: 200 });
  });

  it('do not hold up a condition', async () => {
    writer.want([statusWith({ used: 1 })]);
    await elapse(10);
    writer.want([statusWith({ used: 2 })]);
    await elapse(1_000);
    expect(storedFields()).toEqual({ used: 1 });
    writer.want([statusWith({ used: 3 }, PENDING)]);
    await elapse(10);
    expect(server.condition('a', 'Programmed')?.reason).toBe('RefusedByGateway');
    expect(storedFields()).toEqual({ used: 3 });
  });

  it('that are not known stay as they are stored, over a restart of the operator too', async () => {
    writer.want([statusWith({ used: 7, since: 'monday' })]);
    await elapse(10);
    writer.close();
    writer = start();
    writer.want([statusWith({})]);
    await elapse(30_000);
    writer.want([statusWith({ since: 'tuesday' })]);
    await elapse(30_000);
    writer.want([statusWith({ since: 'tuesday' }, PENDING)]);
    await elapse(30_000);
    expect(storedFields()).toEqual({ used: 7, since: 'tuesday' });
  });

  it('that are undefined are taken away, once', async () => {
    writer.want([statusWith({ until: 'noon', used: 1 })]);
    await elapse(10);
    for (let pass = 0; pass < 5; pass++) {
      writer.want([statusWith({ until: undefined, used: 1 })]);
      await elapse(10_000);
    }
    expect(storedFields()).toEqual({ used: 1 });
    expect(server.writes).toHaveLength(2);
  });

  it('that somebody else changed are mended', async () => {
    writer.want([statusWith({ used: 1 })]);
    await elapse(10);
    server.setStatus('a', { ...Object(server.object('a')['status']), used: 99 });
    await elapse(15_000);
    expect(storedFields()).toEqual({ used: 1 });
  });

  it('are the same object again for the same status and fields', () => {
    const status = statusOf('a');
    const fields = { used: 1 };
    expect(withFields(status, fields)).toBe(withFields(status, fields));
    expect(withFields(status, undefined)).toBe(status);
    expect(withFields(withFields(status, fields), { since: 2 }).fields).toEqual({ used: 1, since: 2 });
  });
});

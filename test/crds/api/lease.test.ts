import { afterEach, describe, expect, it } from 'vitest';
import { LeaderElection } from '#crds/api/lease.ts';
import { LeaseStore } from './lease-store.ts';
import { pass, useVirtualTime } from './virtual-time.ts';

useVirtualTime();

const open: LeaderElection[] = [];

function candidate(store: LeaseStore, identity: string) {
  const way = store.client();
  const told: string[] = [];
  const faults: Error[] = [];
  const election = new LeaderElection({
    client: way.client,
    namespace: 'n',
    name: 'operator',
    identity,
    fieldManager: 'm',
    onStart: (term) => told.push(`start ${term}`),
    onStop: () => told.push('stop'),
    onFault: (error) => faults.push(error),
  });
  open.push(election);
  return { way, told, faults, election };
}

afterEach(async () => {
  const closing = open.splice(0).map((election) => election.close());
  await pass(30_000);
  await Promise.all(closing);
});

describe('a candidate', () => {
  it('leads at once where there is no Lease', async () => {
    const store = new LeaseStore();
    const { election, told } = candidate(store, 'one');
    expect(election.isLeader()).toBe(false);
    await pass();
    expect(election.isLeader()).toBe(true);
    expect(election.term).toBe(0);
    expect(told).toEqual(['start 0']);
    expect(store.stored).toMatchObject({
      metadata: { name: 'operator', namespace: 'n' },
      spec: {
        holderIdentity: 'one',
        leaseDurationSeconds: 15,
        leaseTransitions: 0,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        renewTime: '2026-01-01T00:00:00.000000Z',
      },
    });
  });

  it('renews every two seconds or so, and changes nothing else', async () => {
    const store = new LeaseStore();
    const { told } = candidate(store, 'one');
    await pass(60_000);
    expect(store.writes.length).toBeGreaterThan(20);
    expect(store.writes.length).toBeLessThan(32);
    expect(store.stored?.spec).toMatchObject({
      holderIdentity: 'one',
      leaseTransitions: 0,
      acquireTime: '2026-01-01T00:00:00.000000Z',
    });
    expect(String(store.stored?.spec['renewTime'])).toMatch(/^2026-01-01T00:00:5\d\.\d{6}Z$/);
    expect(told).toEqual(['start 0']);
  });

  it('is one of several: all others wait', async () => {
    const store = new LeaseStore();
    const all = ['one', 'two', 'three'].map((identity) => candidate(store, identity));
    await pass(120_000);
    expect(all.filter(({ election }) => election.isLeader())).toHaveLength(1);
    expect(all.flatMap(({ told }) => told)).toEqual(['start 0']);
    expect(all.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('waits for 15 s of its own time, however old the record says it is', async () => {
    const store = new LeaseStore();
    store.change({ holderIdentity: 'gone', leaseDurationSeconds: 15, renewTime: '1999-01-01T00:00:00.000000Z' });
    const { election, told } = candidate(store, 'one');
    await pass(14_900);
    expect(election.isLeader()).toBe(false);
    await pass(2_600);
    expect(election.isLeader()).toBe(true);
    expect(told).toEqual(['start 1']);
  });

  it('waits while the record changes, even where its clock is years ahead', async () => {
    const store = new LeaseStore();
    const { election } = candidate(store, 'one');
    await election.close();
    const { told } = candidate(store, 'two');
    for (let second = 0; second < 60; second += 5) {
      store.change({ holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: `2099-01-01T00:00:${second}Z` });
      await pass(5_000);
    }
    expect(told).toEqual([]);
  });

  it('honours the duration that the record has', async () => {
    const store = new LeaseStore();
    store.change({ holderIdentity: 'gone', leaseDurationSeconds: 60 });
    const { election } = candidate(store, 'one');
    await pass(59_000);
    expect(election.isLeader()).toBe(false);
    await pass(4_000);
    expect(election.isLeader()).toBe(true);
  });

  it('takes up what its own identity held before it was started anew, as another term', async () => {
    const store = new LeaseStore();
    store.change({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 4 });
    const { told } = candidate(store, 'one');
    await pass();
    expect(told).toEqual(['start 5']);
  });

  it('keeps what others wrote into the Lease', async () => {
    const store = new LeaseStore();
    store.change({ holderIdentity: '', preferredHolder: 'two', strategy: 'OldestEmulationVersion' });
    candidate(store, 'one');
    await pass();
    expect(store.stored?.spec).toMatchObject({ preferredHolder: 'two', strategy: 'OldestEmulationVersion' });
  });

  it('gives way where another is faster', async () => {
    const store = new LeaseStore();
    store.change({ holderIdentity: '' });
    const both = [candidate(store, 'one'), candidate(store, 'two')];
    await pass();
    expect(both.map(({ told }) => told.length).sort()).toEqual([0, 1]);
    expect(store.writes).toHaveLength(1);
  });

  it('keeps trying while the server cannot be reached', async () => {
    const store = new LeaseStore();
    const { way, election, faults } = candidate(store, 'one');
    way.fault = 'refuse';
    await pass(60_000);
    expect(faults.length).toBeGreaterThan(10);
    way.fault = 'none';
    await pass(2_500);
    expect(election.isLeader()).toBe(true);
  });
});

describe('a leader', () => {
  it.each(['refuse', 'black-hole'] as const)(
    'has lost after 10 s without renewal (%s), before another leads',
    async (fault) => {
      const store = new LeaseStore();
      const one = candidate(store, 'one');
      await pass();
      const two = candidate(store, 'two');
      await pass();
      one.way.fault = fault;
      await pass(9_000);
      expect(one.election.isLeader()).toBe(true);
      await pass(1_000);
      expect(one.election.isLeader()).toBe(false);
      expect(one.told).toEqual(['start 0', 'stop']);
      expect(two.told).toEqual([]);
      await pass(8_000);
      expect(two.told).toEqual(['start 1']);
      one.way.fault = 'none';
      await pass(60_000);
      expect(one.told).toEqual(['start 0', 'stop']);
      expect([one.election.isLeader(), two.election.isLeader()]).toEqual([false, true]);
    },
  );

  it('leads on where the server was away for less than that', async () => {
    const store = new LeaseStore();
    const { way, election, told } = candidate(store, 'one');
    await pass();
    for (let round = 0; round < 10; round++) {
      way.fault = 'black-hole';
      await pass(5_000);
      way.fault = 'none';
      await pass(5_000);
    }
    expect(election.isLeader()).toBe(true);
    expect(told).toEqual(['start 0']);
  });

  it('leads on where its own write was done but the answer was lost', async () => {
    const store = new LeaseStore();
    const { way, told, election } = candidate(store, 'one');
    await pass();
    way.fault = 'lost';
    await pass(3_000);
    way.fault = 'none';
    await pass(30_000);
    expect(told).toEqual(['start 0']);
    expect(election.isLeader()).toBe(true);
  });

  it('leads on where somebody edits the Lease beside it', async () => {
    const store = new LeaseStore();
    const { told, election } = candidate(store, 'one');
    await pass();
    store.change({ preferredHolder: 'x' });
    await pass(30_000);
    expect(told).toEqual(['start 0']);
    expect(election.isLeader()).toBe(true);
  });

  it('O14: is none any more as soon as it wakes from a pause, before any timer has run', async () => {
    const store = new LeaseStore();
    const { election } = candidate(store, 'one');
    await pass();
    const realNow = performance.now;
    expect(election.isLeader()).toBe(true);
    const frozenAt = performance.now();
    performance.now = () => frozenAt + 11_000;
    const [leads, term] = [election.isLeader(), election.term];
    performance.now = realNow;
    expect([leads, term]).toEqual([false, undefined]);
  });

  it('stops where another has taken the Lease over', async () => {
    const store = new LeaseStore();
    const { told, election } = candidate(store, 'one');
    await pass();
    store.change({ holderIdentity: 'two', leaseTransitions: 1 });
    await pass(2_500);
    expect(election.isLeader()).toBe(false);
    expect(told).toEqual(['start 0', 'stop']);
  });

  it('stops where another of its own identity has taken the Lease over', async () => {
    const store = new LeaseStore();
    const { told } = candidate(store, 'one');
    await pass();
    store.change({ holderIdentity: 'one', leaseTransitions: 1 });
    await pass(2_500);
    expect(told.slice(0, 2)).toEqual(['start 0', 'stop']);
  });

  it('leads by a later term where somebody deletes the Lease', async () => {
    const store = new LeaseStore();
    store.change({ holderIdentity: '', leaseTransitions: 7 });
    const { told } = candidate(store, 'one');
    await pass();
    store.stored = undefined;
    await pass(10_000);
    expect(told).toEqual(['start 8', 'stop', 'start 9']);
    expect(store.stored).toMatchObject({ spec: { holderIdentity: 'one', leaseTransitions: 9 } });
  });
});

describe('close', () => {
  it('stops, and empties the Lease so that another need not wait', async () => {
    const store = new LeaseStore();
    const one = candidate(store, 'one');
    await pass();
    const two = candidate(store, 'two');
    await pass();
    await one.election.close();
    expect(one.told).toEqual(['start 0', 'stop']);
    expect(one.election.isLeader()).toBe(false);
    expect(store.stored?.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 0 });
    await pass(2_500);
    expect(two.told).toEqual(['start 1']);
  });

  it('writes nothing where it does not lead', async () => {
    const store = new LeaseStore();
    const one = candidate(store, 'one');
    await pass();
    const two = candidate(store, 'two');
    await pass();
    const before = store.writes.length;
    await two.election.close();
    expect(store.writes).toHaveLength(before);
    expect(one.election.isLeader()).toBe(true);
    expect(two.told).toEqual([]);
  });

  it('gives up a Lease that it got meanwhile, without ever leading', async () => {
    const store = new LeaseStore();
    const { election, told } = candidate(store, 'one');
    await election.close();
    await election.close();
    expect(told).toEqual([]);
    expect(store.stored?.spec['holderIdentity'] ?? '').toBe('');
  });

  it('ends, and never rejects, where the server does not answer', async () => {
    const store = new LeaseStore();
    const { way, election, told, faults } = candidate(store, 'one');
    await pass();
    way.fault = 'black-hole';
    let isClosed = false;
    const closing = election.close().then(() => {
      isClosed = true;
    });
    expect(told).toEqual(['start 0', 'stop']);
    await pass(10_000);
    expect(isClosed).toBe(true);
    await closing;
    expect(faults).toHaveLength(1);
  });
});

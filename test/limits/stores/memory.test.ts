/** What memory does beyond what every store does. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryStore } from '#gateway/limits/memory-store.ts';
import type { Counter } from '#gateway/limits/store.ts';
import { budget, demands, rate } from './counters.ts';
import { mostInAnyWindow } from './windows.ts';

const BEGIN_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

function staged() {
  const clock = { nowMs: BEGIN_MS };
  return { clock, store: new MemoryStore({ now: () => clock.nowMs }) };
}

describe('a window', () => {
  it('is exact to the millisecond while entries are few', () => {
    const entry = fc.record({ afterMs: fc.nat({ max: 2_000 }), amount: fc.nat({ max: 12 }) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(entry, { maxLength: 230 }), (value, entries) => {
        const { clock, store } = staged();
        const admitted: { atMs: number; amount: number }[] = [];
        for (const { afterMs, amount } of entries) {
          clock.nowMs += afterMs;
          const used = admitted
            .filter(({ atMs }) => atMs + MINUTE_MS > clock.nowMs)
            .reduce((sum, one) => sum + one.amount, 0);
          const decision = store.reserve(demands(rate('minute', value), amount));
          expect(decision.ok).toBe(used + amount <= value);
          if (decision.ok) admitted.push({ atMs: clock.nowMs, amount });
        }
      }),
      { numRuns: 100 },
    );
  });

  it('says to the millisecond when a request could be met', () => {
    const entry = fc.record({ afterMs: fc.nat({ max: 9_000 }), amount: fc.integer({ min: 1, max: 12 }) });
    fc.assert(
      fc.property(fc.integer({ min: 12, max: 60 }), fc.array(entry, { maxLength: 100 }), (value, entries) => {
        const { clock, store } = staged();
        for (const { afterMs, amount } of entries) {
          clock.nowMs += afterMs;
          const all = demands(rate('minute', value), amount);
          const decision = store.reserve(all);
          if (decision.ok || decision.retryMs === undefined) continue;
          clock.nowMs += decision.retryMs - 1;
          expect(store.reserve(all).ok).toBe(false);
          clock.nowMs += 1;
          expect(store.reserve(all).ok).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('with many entries never admits too much, and gives room at most a 120th of its length late', () => {
    const { clock, store } = staged();
    const admissions: { fromMs: number; toMs: number; amount: number }[] = [];
    const one = demands(rate('minute', 5_000), 1);
    for (let step = 0; step < 60_000; step++) {
      clock.nowMs += 5;
      if (store.reserve(one).ok) admissions.push({ fromMs: clock.nowMs, toMs: clock.nowMs, amount: 1 });
    }
    expect(mostInAnyWindow(admissions.slice(0, 6_000), MINUTE_MS)).toBeLessThanOrEqual(5_000);
    // 5,000 in each of five windows, each of them late by a 120th at most.
    expect(admissions.length).toBeGreaterThan(5 * 5_000 * (1 - 2 / 120));
    expect(admissions.length).toBeLessThanOrEqual(25_000);
  });

  it('stands still where a clock goes back', () => {
    const { clock, store } = staged();
    const all = demands(rate('minute', 1), 1);
    expect(store.reserve(all).ok).toBe(true);
    clock.nowMs -= 10 * MINUTE_MS;
    expect(store.reserve(all)).toMatchObject({ ok: false, retryMs: MINUTE_MS });
    clock.nowMs += 11 * MINUTE_MS;
    expect(store.reserve(all).ok).toBe(true);
  });
});

describe('counters that nobody needs', () => {
  it('are dropped as others come', () => {
    const { clock, store } = staged();
    for (let round = 0; round < 20; round++) {
      for (let at = 0; at < 1_000; at++) {
        const decision = store.reserve(demands(rate(`${round}/${at}`, 5), 1, periodic(round, at), 1));
        if (decision.ok) decision.hold.settle([1, 1]);
      }
      clock.nowMs += 20 * MINUTE_MS;
    }
    expect(store.size).toBeLessThan(20_000);
    for (let round = 0; round < 20; round++) settleAll(store, clock, round);
    expect(store.size).toBeLessThan(6_000);
    function periodic(round: number, at: number): Counter {
      return budget(`budget/${round}/${at}`, 5n, { endsMs: clock.nowMs + MINUTE_MS });
    }
  });

  it('are kept while a request holds of them, and what it used is told', () => {
    const { clock, store } = staged();
    const money = budget('ended', 100n, { endsMs: BEGIN_MS + MINUTE_MS });
    const held = store.reserve(demands(rate('free', 5), 0, money, 10));
    clock.nowMs += 60 * MINUTE_MS;
    settleAll(store, clock, 0);
    if (!held.ok) throw new Error('it was refused');
    held.hold.settle([3, 9]);
    expect([...store.usage()].find(({ key }) => key === 'ended')?.used).toBe(9n);
    expect(store.reserve(demands(rate('free', 5), 0)).readings[0]).toMatchObject({ used: 0 });
    expect(store.reserve(demands(money, 92))).toMatchObject({ ok: false, readings: [{ used: 9 }] });
  });

  it('are found again by a counter that knew them', () => {
    const { clock, store } = staged();
    const [counter, same] = [rate('minute', 5), rate('minute', 5)];
    const taken = store.reserve(demands(counter, 5));
    if (taken.ok) taken.hold.settle([5]);
    clock.nowMs += 10 * MINUTE_MS;
    settleAll(store, clock, 0);
    expect(store.reserve(demands(counter, 3)).ok).toBe(true);
    expect(store.reserve(demands(same, 3)).ok).toBe(false);
  });

  function settleAll(store: MemoryStore, clock: { nowMs: number }, round: number): void {
    for (let at = 0; at < 1_000; at++) {
      const decision = store.reserve(demands(rate(`settled/${round}/${at}`, 5), 1));
      if (decision.ok) decision.hold.settle([1]);
    }
    clock.nowMs += 2 * MINUTE_MS;
  }
});

describe('memory', () => {
  const collect = (): number => {
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    return process.memoryUsage().heapUsed;
  };

  it.each([
    ['few', 3],
    ['very many', 400],
  ])(
    'holds 100,000 live counters of %s entries in 100 MiB',
    (_, entries) => {
      const clock = { nowMs: BEGIN_MS };
      const before = collect();
      const store = new MemoryStore({ now: () => clock.nowMs });
      const { rule } = rate('', 1_000_000);
      const counters = Array.from({ length: 100_000 }, (_, at) => ({
        key: `policies/per-user|rpm||somebody-${at}`,
        ...{ rule, state: undefined as unknown },
      }));
      for (let entry = 0; entry < entries; entry++) {
        clock.nowMs += 100;
        for (const counter of counters) store.reserve([{ counter, amount: 10 }]);
      }
      const used = collect() - before;
      expect(store.size).toBe(counters.length);
      expect(used).toBeLessThan(100 * 2 ** 20);
      process.stdout.write(`100,000 counters of ${entries} entries: ${(used / 2 ** 20).toFixed(0)} MiB\n`);
    },
    120_000,
  );
});

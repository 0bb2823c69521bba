/** What every store must do, whatever holds its counts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayStore } from '#gateway/limits/open-store.ts';
import type { Refused } from '#gateway/limits/store.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { budget, demands, mustTake, rate, take } from './counters.ts';

export interface StoreUnderTest {
  readonly store: GatewayStore;
  /** Another process' view of the same counts; undefined: nobody shares them. */
  readonly other: GatewayStore | undefined;
  /** Until so many milliseconds are over: real ones, or the clock's of the test. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Short enough to wait for, long enough to be slow in. */
const WINDOW_MS = 3_000;

export function itIsAStore(open: () => Promise<StoreUnderTest>): void {
  let at: StoreUnderTest;
  let lastKey = 0;
  const newKey = () => `policies/minute|${++lastKey}|a "key"|%7c`;
  beforeAll(async () => {
    at = await open();
  }, 60_000);
  afterAll(async () => at.close());

  const usedOf = (key: string) => [...(at.store.usage?.() ?? [])].find((budget) => budget.key === key)?.used;
  const untilUsed = (key: string, used: bigint) => waitFor(() => usedOf(key) === used, `${key} to be used by ${used}`);

  describe('a rate limit', () => {
    it('admits as much as its value, and tells when there is room again', async () => {
      const counter = rate(newKey(), 10, WINDOW_MS);
      await mustTake(at.store, counter, 4);
      const { readings } = await mustTake(at.store, counter, 6);
      expect(readings).toEqual([{ used: 10, remaining: 0, resetMs: expect.any(Number) }]);
      const refused = (await take(at.store, counter, 1)) as Refused;
      expect(refused).toMatchObject({ ok: false, refused: 0, readings: [{ used: 10, remaining: 0 }] });
      expect(refused.retryMs).toBeGreaterThan(0);
      expect(refused.retryMs).toBeLessThanOrEqual(WINDOW_MS);
      await at.pass(refused.retryMs ?? 0);
      await mustTake(at.store, counter, 4);
    });

    it('frees what is older than its window and nothing else', async () => {
      const counter = rate(newKey(), 10, WINDOW_MS);
      await mustTake(at.store, counter, 7);
      await at.pass(WINDOW_MS / 2);
      await mustTake(at.store, counter, 3);
      expect(await take(at.store, counter, 1)).toMatchObject({ ok: false });
      await at.pass(WINDOW_MS / 2);
      expect(await take(at.store, counter, 8)).toMatchObject({ ok: false });
      await mustTake(at.store, counter, 7);
    });

    it('never admits what is more than its value, and says that waiting does not help', async () => {
      const decision = await take(at.store, rate(newKey(), 10), 11);
      expect(decision).toMatchObject({ ok: false, refused: 0, retryMs: undefined });
    });

    it('admits what was given back, at once', async () => {
      const counter = rate(newKey(), 100);
      const { hold } = await mustTake(at.store, counter, 100);
      hold.settle([30]);
      const { readings } = await mustTake(at.store, counter, 70);
      expect(readings[0]).toMatchObject({ used: 100, remaining: 0 });
      expect(await take(at.store, counter, 1)).toMatchObject({ ok: false });
    });

    it('counts what was used beyond its reservation', async () => {
      const counter = rate(newKey(), 100);
      const { hold } = await mustTake(at.store, counter, 10);
      hold.settle([90]);
      expect(await take(at.store, counter, 11)).toMatchObject({ ok: false, readings: [{ used: 90, remaining: 10 }] });
      const { hold: free } = await mustTake(at.store, counter, 0);
      free.settle([30]);
      expect(await take(at.store, counter, 1)).toMatchObject({ ok: false, readings: [{ used: 120, remaining: 0 }] });
    });

    it('takes a settlement once', async () => {
      const counter = rate(newKey(), 100);
      const { hold } = await mustTake(at.store, counter, 100);
      hold.settle([60]);
      hold.settle([0]);
      expect(await take(at.store, counter, 41)).toMatchObject({ ok: false });
      await mustTake(at.store, counter, 40);
    });

    it('is not changed by what is settled after its window', async () => {
      const counter = rate(newKey(), 100, WINDOW_MS);
      const late = await mustTake(at.store, counter, 100);
      await at.pass(WINDOW_MS);
      await mustTake(at.store, counter, 60);
      late.hold.settle([0]);
      expect(await take(at.store, counter, 41)).toMatchObject({ ok: false, readings: [{ used: 60, remaining: 40 }] });
      await mustTake(at.store, counter, 40);
    });

    it('keeps its counts under another value', async () => {
      const key = newKey();
      await mustTake(at.store, rate(key, 10), 8);
      expect(await take(at.store, rate(key, 5), 1)).toMatchObject({ ok: false, readings: [{ used: 8, remaining: 0 }] });
      const { readings } = await mustTake(at.store, rate(key, 20), 12);
      expect(readings[0]).toMatchObject({ used: 20, remaining: 0 });
    });

    it('counts many small amounts exactly', async () => {
      const counter = rate(newKey(), 1_000);
      for (let taken = 0; taken < 1_000; taken += 2) {
        await mustTake(at.store, counter, 2);
        if (taken % 20 === 0) await at.pass(1);
      }
      expect(await take(at.store, counter, 1)).toMatchObject({ ok: false, readings: [{ used: 1_000 }] });
    });
  });

  describe('several demands at once', () => {
    it('are taken all or none', async () => {
      const counters = [rate(newKey(), 10), budget(newKey(), 10n), rate(newKey(), 5)] as const;
      const refused = await take(at.store, counters[0], 10, counters[1], 10, counters[2], 6);
      expect(refused).toMatchObject({ ok: false, refused: 2 });
      expect(refused.readings.map(({ used }) => used)).toEqual([0, 0, 0]);
      const { readings } = await mustTake(at.store, counters[0], 10, counters[1], 10, counters[2], 5);
      expect(readings.map(({ remaining }) => remaining)).toEqual([0, 0, 0]);
    });

    it('name the one that must wait longest, and of those that wait for ever the first', async () => {
      const [short, long] = [rate(newKey(), 1, 10_000), rate(newKey(), 1, 60_000)];
      await mustTake(at.store, short, 1, long, 1);
      const waiting = (await take(at.store, long, 1, short, 1)) as Refused;
      expect(waiting).toMatchObject({ ok: false, refused: 0 });
      expect(waiting.retryMs).toBeGreaterThan(20_000);
      const spent = [budget(newKey(), 0n), budget(newKey(), 0n)] as const;
      const forever = await take(at.store, long, 1, spent[0], 1, spent[1], 1);
      expect(forever).toMatchObject({ ok: false, refused: 1, retryMs: undefined });
    });

    it('count twice where they name a counter twice', async () => {
      const counter = rate(newKey(), 10);
      expect(await take(at.store, counter, 6, counter, 6)).toMatchObject({ ok: false });
      const { readings } = await mustTake(at.store, counter, 4, counter, 6);
      expect(readings.at(-1)).toMatchObject({ used: 10, remaining: 0 });
    });

    it('may be none', async () => {
      const { readings, hold } = await mustTake(at.store);
      expect(readings).toEqual([]);
      expect(() => hold.settle([])).not.toThrow();
    });
  });

  describe('200 requests at once', () => {
    it('get exactly the value of a rate limit and of a budget', async () => {
      const all = demands(rate(newKey(), 50), 1, budget(newKey(), 1_000n), 7);
      const decisions = await Promise.all(Array.from({ length: 200 }, async () => at.store.reserve(all)));
      expect(decisions.filter(({ ok }) => ok)).toHaveLength(50);
      const money = demands(budget(newKey(), 700n), 7);
      const bought = await Promise.all(Array.from({ length: 200 }, async () => at.store.reserve(money)));
      expect(bought.filter(({ ok }) => ok)).toHaveLength(100);
    });
  });

  describe('a budget', () => {
    it('is not outrun by what is held, and has back what was not used', async () => {
      const counter = budget(newKey(), 100n);
      const first = await mustTake(at.store, counter, 60);
      expect(await take(at.store, counter, 41)).toMatchObject({ ok: false, refused: 0, retryMs: undefined });
      await mustTake(at.store, counter, 40);
      first.hold.settle([10]);
      await untilUsed(counter.key, 10n);
      expect(await take(at.store, counter, 51)).toMatchObject({ ok: false, readings: [{ used: 50, remaining: 50 }] });
      await mustTake(at.store, counter, 50);
    });

    it('counts what was used beyond its reservation, and is spent then', async () => {
      const counter = budget(newKey(), 100n);
      const { hold } = await mustTake(at.store, counter, 10);
      hold.settle([130]);
      await untilUsed(counter.key, 130n);
      expect(await take(at.store, counter, 0)).toMatchObject({ ok: false, readings: [{ used: 130, remaining: 0 }] });
    });

    it('is exact in sums far beyond 2^53 and 2^63', async () => {
      const most = BigInt(Number.MAX_SAFE_INTEGER);
      const counter = budget(newKey(), 1_500n * most + 1n);
      for (let round = 0; round < 15; round++) {
        const taken = await Promise.all(
          Array.from({ length: 100 }, () => mustTake(at.store, counter, Number.MAX_SAFE_INTEGER)),
        );
        for (const { hold } of taken) hold.settle([Number.MAX_SAFE_INTEGER]);
      }
      await untilUsed(counter.key, 1_500n * most);
      expect(await take(at.store, counter, 2)).toMatchObject({ ok: false, retryMs: undefined });
      const { hold, readings } = await mustTake(at.store, counter, 1);
      expect(readings[0]?.remaining).toBe(0);
      hold.settle([1]);
      await untilUsed(counter.key, 1_500n * most + 1n);
    });

    it('tells when its period ends, and nothing where it never does', async () => {
      const ends = budget(newKey(), 10n, { endsMs: Date.now() + 3_600_000 });
      const [reading] = (await mustTake(at.store, ends, 1)).readings;
      expect(reading?.resetMs).toBeGreaterThan(3_000_000);
      expect(reading?.resetMs).toBeLessThanOrEqual(3_600_000 + 60_000);
      const [never] = (await mustTake(at.store, budget(newKey(), 10n), 1)).readings;
      expect(never?.resetMs).toBeUndefined();
    });

    it('keeps its counts under another limit', async () => {
      const key = newKey();
      (await mustTake(at.store, budget(key, 10n), 8)).hold.settle([8]);
      await untilUsed(key, 8n);
      expect(await take(at.store, budget(key, 8n), 1)).toMatchObject({ ok: false });
      await mustTake(at.store, budget(key, 12n), 4);
    });

    it('takes what makes no sense for what was demanded', async () => {
      const counter = budget(newKey(), 1_000n);
      for (const nonsense of [Number.NaN, -5, 0.5, Number.POSITIVE_INFINITY])
        (await mustTake(at.store, counter, 10)).hold.settle([nonsense]);
      (await mustTake(at.store, counter, 10)).hold.settle([]);
      await untilUsed(counter.key, 50n);
    });
  });

  describe('another process', () => {
    it('sees the same counts, or has its own', async () => {
      if (at.other === undefined) return expect(at.store.mode ?? 'own').toBe('own');
      expect(at.store.mode).toBe('total');
      const key = newKey();
      const money = budget(newKey(), 100n);
      const { hold } = await mustTake(at.store, rate(key, 10), 6, money, 60);
      expect(await take(at.other, rate(key, 10), 5)).toMatchObject({
        ok: false,
        readings: [{ used: 6, remaining: 4 }],
      });
      expect(await take(at.other, money, 41)).toMatchObject({ ok: false });
      await mustTake(at.other, rate(key, 10), 4, money, 40);
      hold.settle([1, 1]);
      await untilUsed(money.key, 1n);
      await mustTake(at.other, rate(key, 10), 5, money, 59);
    });

    it('shares a limit exactly when both ask at once', async () => {
      const { store, other } = at;
      const stores = other === undefined ? [store] : [store, other];
      const counter = rate(newKey(), 77);
      const all = Array.from({ length: 200 }, async (_, index) =>
        take(stores[index % stores.length] ?? store, counter, 1),
      );
      expect((await Promise.all(all)).filter(({ ok }) => ok)).toHaveLength(77);
    });
  });

  it('is well at the end', () => {
    expect(at.store.state?.() ?? 'ok').toBe('ok');
    expect([...(at.store.faults?.() ?? [])]).toEqual([]);
  });
}

/** Limits that replicas divide, in virtual time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryStore } from '#gateway/limits/memory-store.ts';
import { budgetPart, ratePart, type Share, WHOLE } from '#gateway/limits/share.ts';
import type { Hold } from '#gateway/limits/store.ts';
import { budget, demands, rate } from './counters.ts';
import { type Admission, mostInAnyWindow } from './windows.ts';

const BEGIN_MS = Date.UTC(2026, 0, 1);

describe('the parts of all replicas', () => {
  it('sum to the value of a rate limit, and none is far from another', () => {
    const input = fc.record({ value: fc.nat({ max: 1e9 }), count: fc.integer({ min: 1, max: 300 }), hash: fc.nat() });
    fc.assert(
      fc.property(input, ({ value, count, hash }) => {
        const ranks = Array.from({ length: count }, (_, rank) => ({ ...WHOLE, count, rank }));
        const parts = ranks.map((share) => ratePart(value, share, hash));
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(value);
        expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('sum to what is left of a budget, and to nothing where nothing is', () => {
    const input = fc.record({
      left: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      count: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(input, fc.maxSafeNat(), ({ left, count }, hash) => {
        const ranks = Array.from({ length: count }, (_, rank) => ({ ...WHOLE, count, rank }));
        const sum = ranks.reduce((all, share) => all + budgetPart(left, share, hash), 0n);
        expect(sum).toBe(left > 0n ? left : 0n);
      }),
    );
  });

  it('give what cannot be divided to different replicas for different limits', () => {
    const share = { ...WHOLE, count: 3, rank: 0 };
    const lucky = Array.from({ length: 3_000 }, (_, hash) => ratePart(1, share, hash)).filter((part) => part === 1);
    expect(lucky).toHaveLength(1_000);
  });
});

interface Step {
  readonly afterMs: number;
  readonly replica: number;
  readonly amount: number;
  /** Of the amount, in percent. */
  readonly used: number;
  readonly settleAfterMs: number;
}

const STEP = fc.record<Step>({
  afterMs: fc.oneof(fc.constant(0), fc.nat({ max: 50 }), fc.nat({ max: 20_000 })),
  replica: fc.nat({ max: 3 }),
  amount: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 60 })),
  used: fc.nat({ max: 100 }),
  settleAfterMs: fc.oneof(fc.constant(0), fc.nat({ max: 90_000 })),
});

interface Pending {
  readonly atMs: number;
  readonly settle: () => void;
}

/** Steps in time, and settlements when they are due. */
function play(
  steps: readonly Step[],
  act: (step: Step, nowMs: number) => Pending | undefined,
  reach: (ms: number) => void,
): void {
  const pending: Pending[] = [];
  let nowMs = BEGIN_MS;
  for (const step of steps) {
    const nextMs = nowMs + step.afterMs;
    for (const due of pending.splice(0).toSorted((one, other) => one.atMs - other.atMs)) {
      if (due.atMs > nextMs) pending.push(due);
      else {
        reach(due.atMs);
        due.settle();
      }
    }
    nowMs = nextMs;
    reach(nowMs);
    const more = act(step, nowMs);
    if (more !== undefined) pending.push(more);
  }
}

describe('replicas that divide a rate limit', () => {
  it('admit no more than its value in any window, by whatever clocks they go', () => {
    const world = fc.record({
      value: fc.integer({ min: 1, max: 200 }),
      count: fc.integer({ min: 1, max: 4 }),
      skews: fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), { minLength: 4, maxLength: 4 }),
      steps: fc.array(STEP, { minLength: 50, maxLength: 600 }),
    });
    fc.assert(
      fc.property(world, ({ value, count, skews, steps }) => {
        let nowMs = BEGIN_MS;
        const stores = skews.map(
          (skew, rank) =>
            new MemoryStore({ now: () => nowMs + skew, share: () => ({ ...WHOLE, count, rank: rank % count }) }),
        );
        const admissions: { fromMs: number; toMs: number; amount: number }[] = [];
        const act = ({ replica, amount, used, settleAfterMs }: Step, atMs: number): Pending | undefined => {
          const decision = stores[replica % count]?.reserve(demands(rate('minute', value), amount));
          if (decision?.ok !== true) return undefined;
          const own = { fromMs: atMs, toMs: atMs, amount };
          admissions.push(own);
          const settle = () => {
            own.amount = Math.floor((amount * used) / 100);
            decision.hold.settle([own.amount]);
          };
          return { atMs: atMs + settleAfterMs, settle };
        };
        play(steps, act, (ms) => {
          nowMs = ms;
        });
        expect(mostInAnyWindow(admissions satisfies Admission[], 60_000)).toBeLessThanOrEqual(value);
      }),
      { numRuns: 200 },
    );
  });
});

const POLL_MS = 2_000;
const MAX_DELAY_MS = 2_000;

/** Replicas and what is published of them, as the operator does it: asked every two seconds, heard of a while later. */
class DividedBudget {
  nowMs = BEGIN_MS;
  readonly stores: MemoryStore[];
  readonly #shares: Share[];
  readonly #deliveries: { readonly atMs: number; readonly replica: number; readonly share: Share }[] = [];
  #publishedMs = BEGIN_MS;

  constructor(count: number) {
    this.#shares = Array.from({ length: count }, (_, rank) => ({ ...WHOLE, count, rank }));
    this.stores = this.#shares.map(
      (_, replica) => new MemoryStore({ now: () => this.nowMs, share: () => this.#shares[replica] ?? WHOLE }),
    );
  }

  usedBy(store: MemoryStore): bigint {
    return [...store.usage()].reduce((sum, { used }) => sum + used, 0n);
  }

  get used(): bigint {
    return this.stores.reduce((sum, store) => sum + this.usedBy(store), 0n);
  }

  reach(ms: number, delayMs: (replica: number) => number): void {
    while (this.#publishedMs + POLL_MS <= ms) {
      this.#publishedMs += POLL_MS;
      this.#deliver(this.#publishedMs);
      const used = this.stores.map((store) => this.usedBy(store));
      const all = used.reduce((sum, one) => sum + one, 0n);
      for (const [replica, own] of used.entries()) {
        const others = all - own;
        const share = { count: used.length, rank: replica, usedByOthers: () => others };
        this.#deliveries.push({ atMs: this.#publishedMs + delayMs(replica), replica, share });
      }
    }
    this.#deliver(ms);
  }

  #deliver(ms: number): void {
    for (const delivery of this.#deliveries.splice(0)) {
      if (delivery.atMs > ms) this.#deliveries.push(delivery);
      else this.#shares[delivery.replica] = delivery.share;
    }
    this.nowMs = ms;
  }
}

describe('replicas that divide a budget', () => {
  it('never use more than its limit together, however late they hear of each other', () => {
    const world = fc.record({
      limit: fc.integer({ min: 1, max: 2_000 }),
      count: fc.integer({ min: 1, max: 4 }),
      steps: fc.array(STEP, { minLength: 50, maxLength: 500 }),
      delays: fc.array(fc.nat({ max: MAX_DELAY_MS }), { minLength: 1, maxLength: 40 }),
    });
    fc.assert(
      fc.property(world, ({ limit, count, steps, delays }) => {
        const divided = new DividedBudget(count);
        let heard = 0;
        const delayMs = () => delays[heard++ % delays.length] ?? 0;
        const act = ({ replica, amount, used, settleAfterMs }: Step, atMs: number): Pending | undefined => {
          const decision = divided.stores[replica % count]?.reserve(demands(budget('money', BigInt(limit)), amount));
          if (decision?.ok !== true) return undefined;
          return {
            atMs: atMs + settleAfterMs,
            settle: () => decision.hold.settle([Math.floor((amount * used) / 100)]),
          };
        };
        play(steps, act, (ms) => divided.reach(ms, delayMs));
        expect(divided.used).toBeLessThanOrEqual(BigInt(limit));
      }),
      { numRuns: 200 },
    );
  });

  it('let one of them use nearly all of it, when the others use nothing', () => {
    const divided = new DividedBudget(3);
    const all = demands(budget('money', 1_000n), 1);
    const used: bigint[] = [];
    for (let second = 0; second < 120; second++) {
      divided.reach(BEGIN_MS + 1_000 * second, () => 500);
      for (let request = 0; request < 1_000; request++) {
        const decision = divided.stores[0]?.reserve(all);
        if (decision?.ok === true) decision.hold.settle([1]);
      }
      used.push(divided.used);
    }
    expect(used[0]).toBeLessThanOrEqual(334n);
    expect(used[30]).toBeGreaterThan(700n);
    expect(used.at(-1)).toBeGreaterThan(980n);
    expect(used.at(-1)).toBeLessThanOrEqual(1_000n);
  });

  it('hold by less at once, and by more only when all have heard of it', () => {
    let nowMs = BEGIN_MS;
    let share: Share = { count: 2, rank: 0, usedByOthers: () => 0n };
    const store = new MemoryStore({ now: () => nowMs, share: () => share });
    const remaining = () => store.readings(demands(budget('money', 100n), 0))[0]?.remaining;
    const hear = (others: bigint) => {
      share = { count: 2, rank: 0, usedByOthers: () => others };
    };
    expect(remaining()).toBe(50);
    hear(60n);
    expect(remaining()).toBe(20);
    hear(0n);
    expect(remaining()).toBe(20);
    nowMs += 3_000;
    hear(20n);
    expect(remaining()).toBe(20);
    nowMs += 3_000;
    expect(remaining()).toBe(40);
    hear(100n);
    expect(remaining()).toBe(0);
  });
});

describe('a request that is too much for a part', () => {
  it('may try again after a window, as another replica may have more', () => {
    const store = new MemoryStore({ share: () => ({ ...WHOLE, count: 3, rank: 0 }) });
    const decision = store.reserve(demands(rate('minute', 9), 4));
    expect(decision).toMatchObject({ ok: false, retryMs: 60_000 });
  });
});

describe('a replica that becomes one of more', () => {
  it('keeps what it has admitted, and admits by its smaller part from then on', () => {
    let share: Share = WHOLE;
    const store = new MemoryStore({ share: () => share });
    const one = demands(rate('minute', 10), 1);
    const holds: Hold[] = [];
    const fill = () => {
      for (let decision = store.reserve(one); decision.ok; decision = store.reserve(one)) holds.push(decision.hold);
      return holds.length;
    };
    expect(fill()).toBe(10);
    share = { ...WHOLE, count: 2, rank: 0 };
    for (const hold of holds.splice(0, 4)) hold.settle([0]);
    expect(fill()).toBe(6);
    for (const hold of holds.splice(0, 2)) hold.settle([0]);
    expect(fill()).toBe(5);
  });
});

/** The bookkeeping of sums: against a model that knows everything, with processes and operators that die at any time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageSums } from '#operator/usage/sums.ts';

const MINUTE_MS = 60_000;
const KEYS = ['a|0|', 'b|0|', 'c|0|'];

const told = (amounts: Readonly<Record<string, bigint>>) =>
  Object.entries(amounts).map(([key, used]) => ({ key, used: String(used) }));

function restored(sums: UsageSums, nowMs: number): UsageSums {
  const next = new UsageSums();
  next.restore(JSON.parse(JSON.stringify(sums.published())), nowMs);
  return next;
}

describe('sums', () => {
  it('are of what each process told last', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 5n, y: 1n }), 0);
    sums.heard('two', '2', told({ x: 7n }), 0);
    sums.heard('one', '1', told({ x: 6n }), 1);
    expect([sums.used('x'), sums.used('y'), sums.used('z')]).toEqual([13n, 1n, 0n]);
  });

  it('hold money beyond what a double can', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 9_007_199_254_740_993n }), 0);
    sums.heard('two', '2', told({ x: 1n }), 0);
    expect(restored(sums, 0).used('x')).toBe(9_007_199_254_740_994n);
  });

  it('keep what a process told that is no more, once, whoever sums', () => {
    let sums = new UsageSums();
    sums.heard('one', '1', told({ x: 5n }), 0);
    sums.heard('one', 'again', told({ x: 2n }), 1);
    expect(sums.used('x')).toBe(7n);
    sums = restored(sums, 2);
    sums.heard('one', 'again', told({ x: 3n }), 3);
    expect(sums.used('x')).toBe(8n);
    expect(sums.published().processes).toEqual([{ incarnation: 'again', pod: 'one' }]);
  });

  it('do not believe a process that was replaced', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 5n }), 0);
    sums.heard('one', '2', told({ x: 1n }), 1);
    sums.heard('one', '1', told({ x: 5n }), 2);
    expect(sums.used('x')).toBe(6n);
  });

  it('count a pod that was away for a while once', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 5n }), 0);
    sums.present(new Set(), 9 * MINUTE_MS);
    sums.heard('one', '1', told({ x: 6n }), 9 * MINUTE_MS);
    expect(sums.used('x')).toBe(6n);
  });

  it('are not told by process any more once it is gone for good', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 5n }), 0);
    sums.present(new Set(), 10 * MINUTE_MS);
    expect(sums.published()).toEqual({ processes: [], budgets: [{ key: 'x', used: '5' }] });
    expect(restored(sums, 0).used('x')).toBe(5n);
  });

  it('of many processes that are gone are bounded', () => {
    const sums = new UsageSums();
    for (let n = 0; n < 100; n++) sums.heard(`pod-${n}`, `process-${n}`, told({ x: 1n }), n);
    sums.present(new Set(['pod-7']), 1_000);
    expect(sums.used('x')).toBe(100n);
    const { processes } = sums.published();
    expect(processes).toHaveLength(65);
    expect(processes).toContainEqual({ incarnation: 'process-7', pod: 'pod-7' });
  });

  it('say nothing of processes that used nothing', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 0n }), 0);
    expect(sums.published()).toEqual({ processes: [], budgets: [] });
  });

  it('of budgets that hold no more are forgotten', () => {
    const sums = new UsageSums();
    sums.heard('one', '1', told({ x: 5n, y: 6n }), 0);
    sums.keepOnly((key) => key === 'y');
    expect(sums.published().budgets.map(({ key }) => key)).toEqual(['y']);
  });
});

type Step =
  | { readonly do: 'use'; readonly pod: number; readonly key: number; readonly amount: number }
  | { readonly do: 'hear' | 'restart' | 'remove'; readonly pod: number }
  | { readonly do: 'publish' | 'crash' }
  | { readonly do: 'wait'; readonly minutes: number };

const pod = fc.nat({ max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('use' as const), pod, key: fc.nat({ max: 2 }), amount: fc.nat({ max: 9 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('hear' as const), pod }) },
  fc.record({ do: fc.constantFrom('restart' as const, 'remove' as const), pod }),
  fc.record({ do: fc.constantFrom('publish' as const, 'crash' as const) }),
  fc.record({ do: fc.constant('wait' as const), minutes: fc.nat({ max: 15 }) }),
);

/** Gateways, and what an operator has heard of them at best. */
class Model {
  sums = new UsageSums();
  /** What a crash leaves. */
  #kept = new UsageSums().published();
  #nowMs = 0;
  #starts = 0;
  readonly #pods = new Map<number, { incarnation: string; used: Map<string, bigint> }>();
  /** By process and key: what was told last to an operator that lives, or to one that published it. */
  #heard = new Map<string, bigint>();
  #keptHeard = new Map<string, bigint>();

  run(one: Step): void {
    if (one.do === 'publish') {
      this.#kept = this.sums.published();
      this.#keptHeard = new Map(this.#heard);
    } else if (one.do === 'crash') {
      this.sums = new UsageSums();
      this.sums.restore(JSON.parse(JSON.stringify(this.#kept)), this.#nowMs);
      this.#heard = new Map(this.#keptHeard);
    } else if (one.do === 'wait') {
      this.#nowMs += one.minutes * MINUTE_MS;
      this.sums.present(new Set([...this.#pods.keys()].map(String)), this.#nowMs);
    } else this.#runOf(one as Exclude<Step, { do: 'publish' | 'crash' | 'wait' }>);
  }

  expected(key: string): bigint {
    return [...this.#heard].reduce((sum, [id, used]) => (id.endsWith(` ${key}`) ? sum + used : sum), 0n);
  }

  #runOf(one: Exclude<Step, { do: 'publish' | 'crash' | 'wait' }>): void {
    if (one.do === 'remove') {
      this.#pods.delete(one.pod);
      return;
    }
    if (one.do === 'restart' || !this.#pods.has(one.pod))
      this.#pods.set(one.pod, { incarnation: `process-${this.#starts++}`, used: new Map() });
    const gateway = this.#pods.get(one.pod);
    if (gateway === undefined) return;
    const { incarnation, used } = gateway;
    if (one.do === 'use') {
      const key = KEYS[one.key] ?? '';
      used.set(key, (used.get(key) ?? 0n) + BigInt(one.amount));
    }
    if (one.do !== 'hear') return;
    this.sums.heard(String(one.pod), incarnation, told(Object.fromEntries(used)), this.#nowMs);
    for (const [key, amount] of used) this.#heard.set(`${incarnation} ${key}`, amount);
  }
}

it('are what was heard, each process once, whatever dies when', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const model = new Model();
      for (const one of steps) {
        model.run(one);
        for (const key of KEYS) expect(model.sums.used(key)).toBe(model.expected(key));
      }
    }),
    { numRuns: 400 },
  );
});

/** Limits over replicas that share no store: each takes its share, and the operator tells each of the others. */
import { describe, it, type TestContext } from 'vitest';
import { sharesIn } from '../faults/outcome.ts';
import { policy } from '../faults/workload.ts';
import { type Asked, type Fleet, mostWithin, startFleet } from './fleet.ts';

const TIMEOUT_MS = 120_000;
const MINUTE_MS = 60_000;
const BY_WORKSPACE = { conditions: [{ key: 'workspace_id', value: '*' }], group_by: [{ key: 'workspace_id' }] };
/** A minute of limits is three seconds. */
const PACE = 20;
const VALUE = 60;

/** Most of a test's time is waiting: all of them run at once, each with its own fleet. */
async function begin({ onTestFinished }: TestContext, options: Parameters<typeof startFleet>[0]): Promise<Fleet> {
  const fleet = await startFleet(options);
  onTestFinished(() => fleet.close());
  return fleet;
}

/** By all gateways, a few at a time, for so long on the clock of limits. */
async function load(on: Fleet, forMs: number, body: object = {}): Promise<Asked[]> {
  const asked: Asked[] = [];
  const untilMs = on.now() + forMs;
  let turn = 0;
  const caller = async () => {
    while (on.now() < untilMs) {
      asked.push(await on.ask(turn++, body));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await Promise.all(Array.from({ length: 4 }, caller));
  return asked;
}

function codes(asked: readonly Asked[]): readonly number[] {
  return [...new Set(asked.map(({ status }) => status))].sort();
}

describe('a rate limit over three replicas', () => {
  it.concurrent(
    'admits no more than its value in any window, and nearly as much',
    async (test) => {
      const { expect } = test;
      const rate = { type: 'requests', unit: 'rpm', value: VALUE, ...BY_WORKSPACE };
      const on = await begin(test, { pace: PACE, limits: [policy('RateLimitPolicy', 'team-a/minute', rate)] });
      const asked = await load(on, 5 * MINUTE_MS);
      expect(codes(asked)).toEqual([200, 429]);
      expect(mostWithin(asked, MINUTE_MS)).toBeLessThanOrEqual(VALUE);
      expect(asked.filter(({ status }) => status === 200).length).toBeGreaterThan(3 * VALUE);
      expect(on.faults).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it.concurrent(
    'admits at most a share more while a replica comes or goes, and no more once all know of it',
    async (test) => {
      const { expect } = test;
      const rate = { type: 'requests', unit: 'rpm', value: VALUE, ...BY_WORKSPACE };
      const on = await begin(test, { pace: PACE, limits: [policy('RateLimitPolicy', 'team-a/minute', rate)] });
      const coming = await Promise.all([load(on, 3 * MINUTE_MS), on.add('gateway-3')]);
      const more = mostWithin(coming[0], MINUTE_MS);
      await on.settled();
      await load(on, MINUTE_MS);
      expect(mostWithin(await load(on, 2 * MINUTE_MS), MINUTE_MS)).toBeLessThanOrEqual(VALUE);
      const going = load(on, 3 * MINUTE_MS);
      await on.remove('gateway-0');
      const less = mostWithin(await going, MINUTE_MS);
      await on.settled();
      await load(on, MINUTE_MS);
      expect(mostWithin(await load(on, 2 * MINUTE_MS), MINUTE_MS)).toBeLessThanOrEqual(VALUE);
      // The newcomer's quarter, while the others still have what they admitted in their window; then a quarter that is gone.
      expect(more).toBeLessThanOrEqual(VALUE + VALUE / 3);
      expect(less).toBeLessThanOrEqual(VALUE + VALUE / 3);
    },
    TIMEOUT_MS,
  );
});

describe('a budget of money over three replicas', () => {
  /** 9 tokens of prompt and 12 of answer. */
  const USUAL_USD = 0.33;
  const LIMIT_USD = 40;

  it.concurrent(
    'is not outrun by parallel requests, and can be used nearly to its end',
    async (test) => {
      const { expect } = test;
      const budget = { type: 'cost', credit_limit: LIMIT_USD, ...BY_WORKSPACE };
      const on = await begin(test, { limits: [policy('UsageLimitPolicy', 'team-a/money', budget)] });
      const burst = (count: number) => Promise.all(Array.from({ length: count }, (_, turn) => on.ask(turn)));
      const asked = await burst(300);
      expect(codes(asked)).toEqual([200, 412]);
      expect(on.upstream.calls.length * USUAL_USD).toBeLessThanOrEqual(LIMIT_USD);
      for (let round = 0; round < 8; round++) {
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        asked.push(...(await burst(60)));
      }
      const served = asked.filter(({ status }) => status === 200).length;
      expect(on.upstream.calls.length).toBe(served);
      expect(served * USUAL_USD).toBeLessThanOrEqual(LIMIT_USD);
      expect(served * USUAL_USD).toBeGreaterThan(LIMIT_USD * 0.8);
    },
    TIMEOUT_MS,
  );

  it.concurrent(
    'that one replica alone is asked for grows towards it, though the others had their shares',
    async (test) => {
      const { expect } = test;
      const budget = { type: 'cost', credit_limit: LIMIT_USD, ...BY_WORKSPACE };
      const on = await begin(test, { limits: [policy('UsageLimitPolicy', 'team-a/money', budget)] });
      const endMs = Date.now() + 30_000;
      let served = 0;
      while (Date.now() < endMs && served * USUAL_USD < LIMIT_USD * 0.6) {
        const asked = await Promise.all(Array.from({ length: 20 }, () => on.ask(0)));
        served += asked.filter(({ status }) => status === 200).length;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      expect(served * USUAL_USD).toBeGreaterThanOrEqual(LIMIT_USD * 0.6);
      expect(served * USUAL_USD).toBeLessThanOrEqual(LIMIT_USD);
    },
    TIMEOUT_MS,
  );
});

describe('a replica that goes', () => {
  it.concurrent(
    'has told all that it used before it is gone, and the others count it',
    async (test) => {
      const { expect } = test;
      const budget = { type: 'tokens', credit_limit: 1_000_000, ...BY_WORKSPACE };
      const on = await begin(test, { limits: [policy('UsageLimitPolicy', 'team-a/tokens', budget)] });
      for (let round = 0; round < 3; round++) {
        await Promise.all(Array.from({ length: 30 }, () => on.ask(0)));
        await on.remove(`gateway-${round}`);
        if (round < 2) await on.add(`gateway-${round + 3}`);
        await on.settled();
      }
      const [known] = sharesIn(on.server)?.budgets ?? [];
      // 9 tokens of prompt and 12 of answer.
      expect(known?.used).toBe(String(90 * 21));
    },
    TIMEOUT_MS,
  );
});

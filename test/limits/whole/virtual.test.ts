/** Limits as a whole, in a time of the test's: whatever happens, no window and no budget has more than it may, and all of it is in the ledger. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../../fakes/replies.ts';
import { startUpstream, type Upstream } from '../../fakes/upstream.ts';
import { budgetExcess, type Condition, countersOf, PICO, type Policy, rateExcess } from './policy-model.ts';
import { type AskStep, type Outcome, type Scenario, ScenarioRun, type Step } from './scenario.ts';

const RUNS = process.env.CI === undefined ? 8 : 25;
const REPLICAS = 3;
const DAY_MS = 86_400_000;
/** Most of them end just before a window does, where one that is too short would be seen. */
const PASSES_MS = [1, 20_000, 59_998, 59_999, 59_999, 60_000, 3_599_999, 3_600_000, DAY_MS - 1, DAY_MS, 7 * DAY_MS];

const condition: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Condition>({ key: 'api_key', value: '*' }) },
  fc.constant<Condition>({ key: 'api_key', value: ['one', 'two'] }),
  fc.constant<Condition>({ key: 'api_key', value: '*', excludes: 'three' }),
  fc.constant<Condition>({ key: 'metadata.team', value: '*' }),
  fc.constant<Condition>({ key: 'metadata.team', value: 'red' }),
  fc.constant<Condition>({ key: 'metadata.team', value: '*', excludes: ['red'] }),
  fc.constant<Condition>({ key: 'model', value: 'gpt-4o' }),
  fc.constant<Condition>({ key: 'model', value: '*', excludes: 'gpt-4o' }),
  fc.constant<Condition>({ key: 'workspace_id', value: 'default' }),
  fc.constant<Condition>({ key: 'provider', value: 'openai' }),
  fc.constant<Condition>({ key: 'endpoint_type', value: ['embed', 'chatComplete'] }),
);
const scope = {
  conditions: fc.uniqueArray(condition, { minLength: 1, maxLength: 2, selector: ({ key }) => key }),
  groupBy: fc.uniqueArray(fc.constantFrom('workspace_id', 'workspace_id', 'api_key', 'metadata.team', 'model'), {
    minLength: 1,
    maxLength: 2,
  }),
};
const unit = fc.constantFrom('rpm', 'rpm', 'rph', 'rpd', 'rpw');
const requestRate = fc.record({ ...scope, type: fc.constant('requests'), unit, value: fc.integer({ min: 1, max: 4 }) });
const tokenRate = fc.record({ ...scope, type: fc.constant('tokens'), unit, value: fc.integer({ min: 60, max: 300 }) });
const reset = fc.constantFrom('never', 'weekly', 'monthly', 1, 3);
const tokenBudget = fc.record({
  ...scope,
  type: fc.constant('tokens'),
  limit: fc.integer({ min: 60, max: 900 }),
  reset,
});
const moneyBudget = fc.record({
  ...scope,
  type: fc.constant('cost'),
  limit: fc.integer({ min: 100, max: 5_000 }).map((millionths) => (millionths * PICO) / 1e6),
  reset,
});
const policies = fc
  .array(
    fc.oneof(
      fc.oneof(requestRate, tokenRate).map((rest) => ({ kind: 'RateLimitPolicy', ...rest })),
      fc.oneof(tokenBudget, moneyBudget).map((rest) => ({ kind: 'UsageLimitPolicy', ...rest })),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((all) => all.map((rest, index) => ({ name: `policy-${index}`, ...rest }) as Policy));

/** `mostPercent`: beyond 100, upstreams use more than they were asked to. */
function ask(mostPercent: number): fc.Arbitrary<AskStep> {
  return fc.record({
    replica: fc.nat(REPLICAS - 1),
    caller: fc.nat(2),
    team: fc.nat(2),
    model: fc.nat(1),
    words: fc.integer({ min: 1, max: 20 }),
    maxTokens: fc.integer({ min: 3, max: 60 }),
    usedPercent: fc.integer({ min: 0, max: mostPercent }),
    way: fc.constantFrom('whole', 'whole', 'stream', 'leave', 'held', 'held stream'),
  });
}

function step(mostPercent: number): fc.Arbitrary<Step> {
  const asks = (most: number) => fc.array(ask(mostPercent), { minLength: 1, maxLength: most });
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), asks: asks(1) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), asks: asks(6) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(...PASSES_MS) }) },
    { weight: 3, arbitrary: fc.constant<Step>({ kind: 'release' }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('swap' as const), active: fc.subarray([0, 1, 2, 3]) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), replica: fc.nat(REPLICAS - 1) }) },
  );
}

function scenario(mostPercent: number): fc.Arbitrary<Scenario> {
  const skewMs = fc.constantFrom(0, 0, 1, 900, 30_000, DAY_MS / 2);
  return fc.record({
    skewsMs: fc.array(skewMs, { minLength: REPLICAS, maxLength: REPLICAS }),
    policies,
    steps: fc.array(step(mostPercent), { minLength: 20, maxLength: 40 }),
  });
}

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream(chat());
});
afterAll(() => upstream.close());

/** What is wrong with what a policy let in. */
function excesses({ policies: all }: Scenario, { taken }: Outcome): string[] {
  return all.flatMap((policy) =>
    [...countersOf(policy, taken)].flatMap(([counter, own]) => {
      const excess = policy.kind === 'RateLimitPolicy' ? rateExcess(policy, own) : budgetExcess(policy, own);
      return excess > 0 ? [`${policy.name} ${counter}: ${excess} ${policy.type} too many`] : [];
    }),
  );
}

function sumOf(lines: Outcome['lines'], ...fields: readonly string[]): number {
  return lines.reduce((sum, line) => sum + fields.reduce((part, field) => part + Number(line[field] ?? 0), 0), 0);
}

function check(one: Scenario, outcome: Outcome): void {
  expect(excesses(one, outcome)).toEqual([]);
  expect(outcome.disputes).toEqual([]);
  const counted = outcome.lines.filter(({ estimated }) => estimated !== true);
  expect(sumOf(counted, 'input_tokens', 'output_tokens')).toBe(outcome.servedTokens);
  const told = outcome.answers.map(({ requestId }) => requestId);
  expect(new Set(told).size).toBe(outcome.answers.length);
  expect(new Set(outcome.lines.map((line) => line['request_id'])).size).toBe(outcome.lines.length);
  expect(outcome.lines).toHaveLength(outcome.answers.length);
  for (const { status, text } of outcome.answers) {
    expect([200, 400, 412, 429], text).toContain(status);
    if (status === 400) expect(JSON.parse(text).error.code).toBe('request_exceeds_limit');
  }
}

describe.each([
  ['that use what they reserved or less', 100],
  ['that use more than anybody could know', 160],
])('random policies, replicas, clocks and requests %s', (_title, mostPercent) => {
  it(`no window and no budget ever has more than it may, nobody is refused without need, and the ledger adds up`, async () => {
    let [taken, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(scenario(mostPercent), async (one) => {
        const outcome = await new ScenarioRun(one, upstream).run();
        taken += outcome.taken.length;
        refused += outcome.refused;
        check(one, outcome);
      }),
      { numRuns: RUNS, endOnFailure: true, interruptAfterTimeLimit: 60_000 },
    );
    // Neither all nor none: else nothing would be said of limits.
    expect(taken).toBeGreaterThan(RUNS);
    expect(refused).toBeGreaterThan(RUNS);
  }, 150_000);
});

/** After any load: what is counted is what was served, nothing stays reserved, and every turn is free again. */
import { afterEach, describe, expect, it } from 'vitest';
import { HI, target } from '../conformance/stage.ts';
import { apiKey, defaultConfig } from '../fakes/objects.ts';
import { chat, chatStream, gated, type Pace, problem, type Reply, resetBeforeHeaders } from '../fakes/replies.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { seeded } from '../gateway/route/world.ts';
import {
  answerOf,
  ask,
  idle,
  type LimitStage,
  rateLimit,
  rates,
  startLimitStage,
  usageLimit,
  usedOf,
} from './stage.ts';

const KEY = 'key-busy-00000000000';
const AS_BUSY = { 'x-gateway-api-key': KEY };
const IN_FLIGHT = 40;
const TOKENS = 1e9;

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

/** All kinds of limits at once, none of which is ever reached but the cap of the key. */
async function start(): Promise<LimitStage> {
  const limits = [
    apiKey('busy', KEY, { concurrency: { max_in_flight: IN_FLIGHT, max_queued: 1_000, max_wait_ms: 60_000 } }),
    rateLimit('tokens', { type: 'tokens', value: TOKENS }),
    rateLimit('requests', { value: TOKENS }),
    rateLimit('provider', {
      value: TOKENS,
      conditions: [{ key: 'provider', value: '*' }],
      group_by: [{ key: 'model' }],
    }),
    usageLimit('budget', { credit_limit: TOKENS }),
  ];
  stage = await startLimitStage(limits.join(''), {
    count: 2,
    configs: (upstreams) =>
      defaultConfig('two', {
        strategy: { mode: 'fallback' },
        targets: upstreams.map((upstream) =>
          target(upstream, { strategy: { mode: 'single', concurrency: { max_in_flight: IN_FLIGHT } } }),
        ),
      }),
  });
  return stage;
}

/** A reply that serves `tokens` in all. */
function serving(tokens: number, stream: boolean, pace: Pace = {}): Reply {
  const usage = { prompt_tokens: 9, completion_tokens: tokens - 9, total_tokens: tokens };
  return stream ? chatStream({ usage }, pace) : chat({ usage });
}

/** Each cap lets as many pass at once as it should: no turn was lost, none was gained. */
async function expectFreeTurns(on: LimitStage): Promise<void> {
  const gate = gated(chat());
  for (const upstream of on.upstreams) upstream.answer(gate.reply);
  const before = on.at(0).calls.length;
  const running = Array.from({ length: IN_FLIGHT }, () => ask(on, AS_BUSY));
  await on.at(0).called(before + IN_FLIGHT);
  const late = ask(on, AS_BUSY);
  gate.open();
  for (const { status } of await Promise.all([...running, late])) expect(status).toBe(200);
  expect(on.at(0).calls.length).toBeGreaterThanOrEqual(before + IN_FLIGHT);
}

describe('a mixed load', () => {
  it('adds up: every answer counts once, whichever target gave it; failures count nothing', async () => {
    const on = await start();
    const random = seeded(42);
    let served = 0;
    for (const upstream of on.upstreams) {
      upstream.answer((call) => {
        const draw = random();
        if (draw < 0.2) return problem(503);
        if (draw < 0.3) return resetBeforeHeaders;
        const tokens = 10 + Math.floor(random() * 90);
        served += tokens;
        return serving(tokens, JSON.parse(call.body).stream === true);
      });
    }
    const answers = await Promise.all(
      Array.from({ length: 600 }, (_, index) => ask(on, AS_BUSY, { max_tokens: 100, stream: index % 2 === 0 })),
    );
    const good = answers.filter(({ status }) => status === 200).length;
    expect(good).toBeGreaterThan(450);
    await idle(on);
    expect(await usedOf(on)).toEqual([served]);
    for (const upstream of on.upstreams) upstream.answer(serving(21, false));
    const { headers } = await ask(on, AS_BUSY, { max_tokens: 0 });
    const remaining = Number(rates(headers, 'tokens')[1]);
    expect(TOKENS - served - remaining).toBeLessThan(30);
    await expectFreeTurns(on);
  });

  it('leaves nothing behind where callers leave and streams are cut', async () => {
    const on = await start();
    const random = seeded(7);
    for (const upstream of on.upstreams) {
      upstream.answer((call) => {
        const isStream = JSON.parse(call.body).stream === true;
        const ending = (['end', 'reset', 'stall'] as const)[Math.floor(random() * 3)] ?? 'end';
        return isStream ? serving(30, true, { gapMs: 1, ending }) : serving(30, false);
      });
    }
    const requests = Array.from({ length: 300 }, async (_, index) => {
      const leave = new AbortController();
      const timer = setTimeout(() => leave.abort(), 10 + Math.floor(random() * 200));
      const body = { ...HI, max_tokens: 50, stream: index % 3 !== 0 };
      const read = async () => (await answerOf(await on.gateway.chat(body, AS_BUSY, leave.signal))).status;
      const status = await read().catch(() => 499);
      clearTimeout(timer);
      return status;
    });
    const statuses = await Promise.all(requests);
    expect(new Set(statuses).isSubsetOf(new Set([200, 499]))).toBe(true);
    // Of those who have left, some are still to be read by the gateway.
    await waitFor(async () => {
      await idle(on);
      const [used = 0] = await usedOf(on);
      const { headers } = await ask(on, AS_BUSY, { max_tokens: 0 });
      return used > 0 && Math.abs(TOKENS - used - Number(rates(headers, 'tokens')[1])) < 31;
    }, 'the window and the budget to have counted the same');
    const [used = 0] = await usedOf(on);
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThan(310 * 60);
    await expectFreeTurns(on);
  });
});

/** Budgets of money and tokens: spent ones refuse, and parallel requests cannot outrun them (G17). */
import { afterEach, describe, expect, it } from 'vitest';
import { estimatePrompt } from '#gateway/limits/estimate.ts';
import { HI, HI_MESSAGE } from '../conformance/stage.ts';
import { apiKey, object } from '../fakes/objects.ts';
import { chat, chatStream, gated, problem } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import {
  answerOf,
  ask,
  idle,
  type LimitStage,
  NOON_MS,
  startLimitStage,
  statuses,
  usageLimit,
  usedOf,
} from './stage.ts';

const DAY_MS = 86_400_000;
const PROMPT = estimatePrompt(HI);

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function limited(limits: string, configs?: Parameters<typeof startLimitStage>[1]): Promise<LimitStage> {
  stage = await startLimitStage(limits, configs);
  return stage;
}

/** An Integration `priced` whose model m costs a cent a prompt token and two an answer's. */
function priced([upstream]: readonly Upstream[]): string {
  const prices = { request_token: { price: '0.01' }, response_token: { price: '0.02' } };
  return object('Integration', 'priced', {
    provider: 'openai',
    configurations: { custom_host: `${upstream?.origin}/v1` },
    models: [{ slug: 'm', pricing_config: { pay_as_you_go: prices, version: 'test-1' } }],
  });
}

const PRICED = { model: '@priced/m' };
const CENT = 1e10;
/** What the fakes' usual answer costs: 9 tokens of prompt, 12 of answer. */
const USUAL = (9 + 2 * 12) * CENT;

describe('a budget', () => {
  it('that is spent refuses with 412, without retry-after, and says that it does not come back', async () => {
    const on = await limited(usageLimit('tight', { credit_limit: 130, name: 'Tight' }));
    expect(await statuses(2, () => ask(on, {}, { max_tokens: 12 }))).toEqual([200, 200]);
    await idle(on);
    const refused = await ask(on, {}, { max_tokens: 100 });
    expect([refused.status, refused.type, refused.code]).toEqual([412, 'usage_limit_error', 'usage_limit_exceeded']);
    expect(refused.message).toBe(
      'The usage limit "Tight" of 130 tokens leaves too little for this request: it does not start anew by itself.',
    );
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(refused.headers.get('x-ratelimit-limit-tokens')).toBeNull();
    expect((await ask(on, {}, { max_tokens: 12 })).status).toBe(200);
  });

  it("in Anthropic's dialect too", async () => {
    const on = await limited(usageLimit('spent', { credit_limit: 0 }));
    const response = await on.gateway.post('/v1/messages', HI_MESSAGE);
    expect(response.status).toBe(412);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'usage_limit_error', code: 'usage_limit_exceeded', message: expect.stringContaining('is spent') },
    });
  });

  it('of money counts what answers cost, to the last unit', async () => {
    const on = await limited(usageLimit('money', { type: 'cost', credit_limit: 2 }), { configs: priced });
    expect(await statuses(3, () => ask(on, {}, { ...PRICED, max_tokens: 20 }))).toEqual([200, 200, 200]);
    await idle(on);
    expect(await usedOf(on)).toEqual([3 * USUAL]);
    const refused = await ask(on, {}, { ...PRICED, max_tokens: 50 });
    expect([refused.status, refused.code]).toEqual([412, 'usage_limit_exceeded']);
    expect(refused.message).toContain('"UsageLimitPolicy money" of 2 USD');
    expect((await ask(on, {}, { ...PRICED, max_tokens: 40 })).status).toBe(200);
  });

  it('of money is not moved by a model without a known price', async () => {
    const on = await limited(usageLimit('money', { type: 'cost', credit_limit: 0.01 }));
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 200]);
    await idle(on);
    expect(await usedOf(on)).toEqual([0]);
  });

  it('gets back what a failed request had reserved', async () => {
    const on = await limited(usageLimit('money', { type: 'cost', credit_limit: 1 }), { configs: priced });
    on.at(0).answer([problem(500), chat()]);
    const body = { ...PRICED, max_tokens: 40 };
    expect((await ask(on, {}, body)).status).toBe(500);
    await idle(on);
    expect(await usedOf(on)).toEqual([0]);
    expect((await ask(on, {}, body)).status).toBe(200);
  });

  it('of a key, as one object, is about that key alone', async () => {
    const on = await limited(
      apiKey('poor', 'key-poor-00000000000', { usage_limits: { type: 'tokens', credit_limit: 0 } }),
    );
    const refused = await ask(on, { 'x-gateway-api-key': 'key-poor-00000000000' });
    expect([refused.status, refused.message]).toEqual([412, expect.stringContaining('"ApiKey poor"')]);
    expect((await ask(on)).status).toBe(200);
  });

  it('counts a stream once it is over', async () => {
    const on = await limited(usageLimit('money', { type: 'cost', credit_limit: 1 }), { configs: priced });
    on.at(0).answer(chatStream());
    const { status } = await ask(on, {}, { ...PRICED, max_tokens: 40, stream: true });
    expect(status).toBe(200);
    await idle(on);
    expect(await usedOf(on)).toEqual([USUAL]);
  });
});

describe('a period', () => {
  const spent = async (on: LimitStage) => {
    const first = await ask(on, {}, { max_tokens: 20 });
    await idle(on);
    return [first.status, (await ask(on, {}, { max_tokens: 20 })).status];
  };

  it.each([
    ['weekly, on Monday', { periodic_reset: 'weekly' }, '2026-11-23T00:00:00.000Z'],
    ['monthly, on the first', { periodic_reset: 'monthly' }, '2026-12-01T00:00:00.000Z'],
    [
      'every 10 days from a day that is given',
      { periodic_reset_days: 10, next_usage_reset_at: '2026-11-24T15:00:00Z' },
      '2026-11-24T00:00:00.000Z',
    ],
  ])('starts anew %s', async (_, reset, at) => {
    const on = await limited(usageLimit('periodic', { credit_limit: PROMPT + 30, ...reset }));
    expect(await spent(on)).toEqual([200, 412]);
    expect((await ask(on, {}, { max_tokens: 20 })).message).toContain(`it starts anew at ${at}`);
    on.pass(Date.parse(at) - NOON_MS - 1);
    expect((await ask(on, {}, { max_tokens: 20 })).status).toBe(412);
    on.pass(1);
    expect(await spent(on)).toEqual([200, 412]);
  });

  it('that never ends does not start anew', async () => {
    const on = await limited(usageLimit('ever', { credit_limit: PROMPT + 30 }));
    expect(await spent(on)).toEqual([200, 412]);
    on.pass(1_000 * DAY_MS);
    expect((await ask(on, {}, { max_tokens: 20 })).status).toBe(412);
  });

  it('starts anew by hand: for all, or for one group', async () => {
    const grouped = { credit_limit: PROMPT + 30, group_by: [{ key: 'metadata.team' }] };
    const on = await limited(usageLimit('teams', grouped));
    const as = (team: string) => ask(on, { 'x-gateway-metadata': JSON.stringify({ team }) }, { max_tokens: 20 });
    expect([(await as('a')).status, (await as('b')).status]).toEqual([200, 200]);
    await idle(on);
    expect([(await as('a')).status, (await as('b')).status]).toEqual([412, 412]);
    const { groupIdOf } = await import('#crds/limits/counter-key.ts');
    const annotations = { [`modelgateway.dev/reset-usage.${groupIdOf(['a'])}`]: 'now' };
    on.limit(usageLimit('teams', grouped, { annotations }));
    expect([(await as('a')).status, (await as('b')).status]).toEqual([200, 412]);
    await idle(on);
    on.limit(usageLimit('teams', grouped, { annotations: { 'modelgateway.dev/reset-usage': 'again' } }));
    expect([(await as('a')).status, (await as('b')).status]).toEqual([200, 200]);
  });
});

describe('parallel requests (G17)', () => {
  it('1,000 streams at once against the edge of a budget spend no more than it has', async () => {
    const admitted = 300;
    const reserved = PROMPT + 100;
    const on = await limited(usageLimit('edge', { credit_limit: admitted * reserved + 50 }));
    const gate = gated(
      chatStream({ usage: { prompt_tokens: PROMPT, completion_tokens: 100, total_tokens: reserved } }),
    );
    on.at(0).answer(gate.reply);
    const answers = Array.from({ length: 1_000 }, async () =>
      answerOf(await on.gateway.chat({ ...HI, max_tokens: 100, stream: true })),
    );
    await on.at(0).called(admitted);
    gate.open();
    const all = await Promise.all(answers);
    const statusesOf = (status: number) => all.filter((answer) => answer.status === status);
    expect(statusesOf(412).length + statusesOf(200).length).toBe(1_000);
    expect(statusesOf(200).every(({ text }) => text.endsWith('data: [DONE]\n\n'))).toBe(true);
    await idle(on);
    expect(on.at(0).calls).toHaveLength(admitted);
    expect(await usedOf(on)).toEqual([admitted * reserved]);
    expect(await on.gateway.metric('modelgateway_ratelimit_rejections_total', { kind: 'UsageLimitPolicy' })).toBe(700);
  });

  it('the same of money, where each answer costs less than was reserved: all that is left can still be spent', async () => {
    const on = await limited(usageLimit('edge', { type: 'cost', credit_limit: 10 }), { configs: priced });
    on.at(0).answer(chatStream());
    let spent = 0;
    for (let round = 0; round < 8; round += 1) {
      const body = { ...HI, ...PRICED, max_tokens: 40, stream: true };
      const answers = await Promise.all(Array.from({ length: 25 }, async () => answerOf(await on.gateway.chat(body))));
      spent += answers.filter(({ status }) => status === 200).length * USUAL;
      await idle(on);
      expect(spent).toBeLessThanOrEqual(10 * 100 * CENT);
    }
    expect(await usedOf(on)).toEqual([spent]);
    expect(spent).toBeGreaterThan((10 - 1) * 100 * CENT);
  });
});

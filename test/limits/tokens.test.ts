/** Tokens: reserved before a request is sent, and counted as the provider does once it is over. */
import { afterEach, describe, expect, it } from 'vitest';
import { estimatePrompt } from '#gateway/limits/estimate.ts';
import { bodyOf, broken, CHAT_STREAM, eventsOf, good, pathOf, targetOf, WAYS } from '../conformance/routing/ways.ts';
import { HI, HI_MESSAGE, target } from '../conformance/stage.ts';
import { ANTHROPIC_USAGE } from '../fakes/anthropic-wire.ts';
import { config } from '../fakes/objects.ts';
import { openAiEmbedding } from '../fakes/openai-wire.ts';
import {
  chat,
  chatStream,
  hangBeforeHeaders,
  json,
  pieces,
  problem,
  resetBeforeHeaders,
  resetMidBody,
} from '../fakes/replies.ts';
import {
  answerOf,
  ask,
  idle,
  type LimitStage,
  rateLimit,
  rates,
  readAndLeave,
  startLimitStage,
  usageLimit,
  usedOf,
} from './stage.ts';

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

const PROMPT = estimatePrompt(HI);
const tokenLimit = (value: number) => rateLimit('tokens', { type: 'tokens', value });
const remaining = async (on: LimitStage, body: object = { max_tokens: 0 }) =>
  Number(rates((await ask(on, {}, body)).headers, 'tokens')[1]);

async function limited(limits: string, configs?: Parameters<typeof startLimitStage>[1]): Promise<LimitStage> {
  stage = await startLimitStage(limits, configs);
  return stage;
}

describe('what is reserved', () => {
  const cases: readonly (readonly [what: string, body: object, output: number])[] = [
    ['max_tokens', { max_tokens: 100 }, 100],
    ['max_completion_tokens', { max_completion_tokens: 200 }, 200],
    ['the larger of both', { max_tokens: 100, max_completion_tokens: 200 }, 200],
    ['each of n answers', { max_tokens: 100, n: 3 }, 300],
    ['what a model is taken to write at most where nothing says it', {}, 4_096],
    ["the model's own maximum where it is known", { model: 'gpt-4o-mini' }, 16_384],
  ];

  it.each(cases)('%s', async (_, body, output) => {
    const on = await limited(tokenLimit(100_000));
    expect(await remaining(on, body)).toBe(100_000 - PROMPT - output);
  });

  it('what a config puts in its place', async () => {
    const override_params = { max_tokens: 50, n: 2 };
    const on = await limited(tokenLimit(100_000), {
      configs: ([upstream]) => (upstream === undefined ? '' : config('own', target(upstream, { override_params }))),
    });
    const { headers } = await ask(on, { 'x-gateway-config': 'own' }, { max_tokens: 9_000 });
    expect(rates(headers, 'tokens')[1]).toBe(String(100_000 - PROMPT - 100));
  });

  it('nothing of an answer that has no tokens: embeddings', async () => {
    const on = await limited(tokenLimit(1_000));
    on.at(0).answer(json(200, openAiEmbedding()));
    const { headers } = await on.gateway.post('/v1/embeddings', { model: 'm', input: 'four words of text' });
    expect(rates(headers, 'tokens')[1]).toBe(String(1_000 - 6));
  });

  it('a count of tokens is a request that costs none', async () => {
    const on = await limited(
      tokenLimit(10) + rateLimit('few', { value: 1 }) + usageLimit('budget', { credit_limit: 1 }),
      {
        configs: ([upstream]) =>
          upstream === undefined
            ? ''
            : config('own', { provider: 'anthropic', api_key: 'k', custom_host: `${upstream.origin}/v1` }),
      },
    );
    on.at(0).answer(json(200, { input_tokens: 5_000 }));
    const send = () =>
      on.gateway.post(
        '/v1/messages/count_tokens',
        { model: 'm', messages: HI.messages },
        { 'x-gateway-config': 'own' },
      );
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(429);
    await idle(on);
    expect(await usedOf(on)).toEqual([0]);
  });

  it('a request that needs more than the whole window is wrong, not early', async () => {
    const on = await limited(rateLimit('tokens', { type: 'tokens', value: 200, name: 'Two hundred' }));
    const refused = await ask(on, {}, { max_tokens: 300 });
    expect([refused.status, refused.type, refused.code]).toEqual([
      400,
      'invalid_request_error',
      'request_exceeds_limit',
    ]);
    expect(refused.message).toContain('"Two hundred"');
    expect(refused.message).toContain(`${PROMPT + 300} tokens`);
    expect(refused.headers.get('retry-after')).toBeNull();
    const anthropic = await on.gateway.post('/v1/messages', { ...HI_MESSAGE, max_tokens: 300 });
    expect(await anthropic.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'request_exceeds_limit' },
    });
    expect((await ask(on, {}, { max_tokens: 100 })).status).toBe(200);
  });

  it('waits for room: the second of two that do not fit together comes when the first has left the window', async () => {
    const on = await limited(tokenLimit(200));
    on.at(0).answer(chat({ usage: { prompt_tokens: 50, completion_tokens: 70, total_tokens: 120 } }));
    expect((await ask(on, {}, { max_tokens: 150 })).status).toBe(200);
    await idle(on);
    on.pass(20_000);
    const refused = await ask(on, {}, { max_tokens: 150 });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40']);
    expect(rates(refused.headers, 'tokens')).toEqual(['200', '80', '40']);
    on.pass(40_000);
    expect((await ask(on, {}, { max_tokens: 150 })).status).toBe(200);
  });
});

describe('what is counted in the end', () => {
  it.each(WAYS)("the provider's own count: %s", async (_, way) => {
    const on = await limited(tokenLimit(10_000) + usageLimit('budget', { credit_limit: 10_000 }), {
      configs: ([upstream]) => (upstream === undefined ? '' : config('own', targetOf(way.wire, upstream))),
    });
    on.at(0).answer(good(way));
    const own = { 'x-gateway-config': 'own' };
    const body = bodyOf(way, { max_tokens: 500 });
    const answer = await answerOf(await on.gateway.post(pathOf(way.wire), body, own));
    expect([answer.status, rates(answer.headers, 'tokens')[1]]).toEqual([200, String(10_000 - PROMPT - 500)]);
    await idle(on);
    expect(await usedOf(on)).toEqual([21]);
    const next = await on.gateway.post(pathOf(way.wire), body, own);
    expect(rates(next.headers, 'tokens')[1]).toBe(String(10_000 - 21 - PROMPT - 500));
    await next.text();
  });

  it('more than was reserved, where the provider says so', async () => {
    const on = await limited(usageLimit('budget', { credit_limit: 10_000 }));
    on.at(0).answer(chat({ usage: { prompt_tokens: 900, completion_tokens: 800, total_tokens: 1_700 } }));
    await ask(on, {}, { max_tokens: 10 });
    await idle(on);
    expect(await usedOf(on)).toEqual([1_700]);
  });

  it.each([
    ['an error answer', problem(500)],
    ['a broken connection', resetBeforeHeaders],
    ['a body that broke off', resetMidBody(JSON.stringify(chat()))],
    ['no answer within the time', hangBeforeHeaders],
  ])('nothing after %s, and the reservation is given back', async (_, reply) => {
    const on = await limited(tokenLimit(1_000) + usageLimit('budget', { credit_limit: 1_000 }));
    on.at(0).answer(reply);
    const failed = await ask(on, { 'x-gateway-request-timeout': '200' }, { max_tokens: 900 });
    expect(failed.status).toBeGreaterThanOrEqual(400);
    await idle(on);
    expect(await usedOf(on)).toEqual([0]);
    on.at(0).answer(chat());
    expect(await remaining(on)).toBe(1_000 - PROMPT);
  });

  it('once, however often the target was tried again', async () => {
    const on = await limited(tokenLimit(2_000) + rateLimit('requests'), {
      configs: ([upstream]) =>
        upstream === undefined ? '' : config('own', target(upstream, { retry: { attempts: 2 } })),
    });
    on.at(0).answer([problem(500), problem(500), chat()]);
    const { status, headers } = await ask(on, { 'x-gateway-config': 'own' }, { max_tokens: 1_500 });
    expect([status, headers.get('x-gateway-retry-attempt-count')]).toEqual([200, '2']);
    expect(rates(headers, 'tokens')[1]).toBe(String(2_000 - PROMPT - 1_500));
    expect(rates(headers, 'requests')[1]).toBe('1');
    await idle(on);
    const next = await ask(on, { 'x-gateway-config': 'own' }, { max_tokens: 0 });
    expect(rates(next.headers, 'tokens')[1]).toBe(String(2_000 - 21 - PROMPT));
  });

  it('of a stream that was cut: what came of it, where the provider said nothing', async () => {
    const on = await limited(usageLimit('budget', { credit_limit: 10_000 }));
    on.at(0).answer(broken('openai', { ending: 'reset' }));
    const { text } = await ask(on, {}, { stream: true, max_tokens: 500 });
    expect(text).toContain('upstream_cut');
    await idle(on);
    const [used = 0] = await usedOf(on);
    expect(used).toBe(PROMPT + 3);
  });

  it('of a stream whose provider had counted its beginning: the prompt as it says, and what came', async () => {
    const on = await limited(usageLimit('budget', { credit_limit: 10_000 }), {
      configs: ([upstream]) =>
        upstream === undefined ? '' : config('own', target(upstream, { provider: 'anthropic' })),
    });
    on.at(0).answer(broken('anthropic', { ending: 'reset' }));
    const send = await on.gateway.post('/v1/messages', { ...HI_MESSAGE, stream: true }, { 'x-gateway-config': 'own' });
    expect(await send.text()).toContain('upstream_cut');
    await idle(on);
    expect(await usedOf(on)).toEqual([ANTHROPIC_USAGE.input_tokens + 2]);
  });

  it('of a stream that its caller left: the same', async () => {
    const on = await limited(usageLimit('budget', { credit_limit: 10_000 }) + rateLimit('few'));
    on.at(0).answer(pieces(eventsOf('openai', 'word '.repeat(200)), { gapMs: 10 }));
    await readAndLeave(on, '/v1/chat/completions', { ...HI, max_tokens: 5_000 }, 5);
    const [used = 0] = await usedOf(on);
    expect(used).toBeGreaterThanOrEqual(PROMPT + 5);
    expect(used).toBeLessThan(PROMPT + 200);
    on.at(0).answer(good(CHAT_STREAM));
    expect(rates((await ask(on, {}, { stream: true })).headers, 'requests')[1]).toBe('0');
  });

  it('of a stream that ended well without any count: what came of it', async () => {
    const on = await limited(usageLimit('budget', { credit_limit: 10_000 }));
    on.at(0).answer(chatStream({ text: 'one two three four', includeUsage: false }));
    await ask(on, {}, { stream: true });
    await idle(on);
    const [used = 0] = await usedOf(on);
    expect(used).toBeGreaterThanOrEqual(PROMPT + 4);
    expect(used).toBeLessThanOrEqual(PROMPT + 7);
  });
});

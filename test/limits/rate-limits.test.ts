/** Requests per window: who is let in, what all are told, and when they may come again. */
import { afterEach, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, target } from '../conformance/stage.ts';
import { apiKey, object } from '../fakes/objects.ts';
import { chatStream, json, messageStream, problem } from '../fakes/replies.ts';
import { answerOf, ask, type LimitStage, rateLimit, rates, startLimitStage, statuses } from './stage.ts';

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function limited(limits: string): Promise<LimitStage> {
  stage = await startLimitStage(limits);
  return stage;
}

const SECOND = 1_000;
const WINDOWS = [
  ['rpm', 60, 'minute'],
  ['rph', 3_600, 'hour'],
  ['rpd', 86_400, 'day'],
  ['rpw', 604_800, 'week'],
] as const;

describe('a window', () => {
  it.each(WINDOWS)(
    '%s admits its value in any %i seconds, and tells the second at which it admits again',
    async (unit, seconds, span) => {
      const on = await limited(rateLimit('few', { unit }));
      expect(await statuses(1, () => ask(on))).toEqual([200]);
      on.pass(10.5 * SECOND);
      expect(await statuses(1, () => ask(on))).toEqual([200]);
      on.pass(5 * SECOND);
      const refused = await ask(on);
      expect(refused.status).toBe(429);
      expect(refused.message).toContain(`of 2 requests in any ${span}`);
      const wait = seconds - 15;
      expect(refused.headers.get('retry-after')).toBe(String(wait));
      on.pass((wait - 0.5) * SECOND - 1);
      expect(await statuses(1, () => ask(on))).toEqual([429]);
      on.pass(1);
      expect(await statuses(2, () => ask(on))).toEqual([200, 429]);
    },
  );

  it('slides: what was admitted at its end counts in the next one', async () => {
    const on = await limited(rateLimit('few'));
    on.pass(59 * SECOND);
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 429]);
    on.pass(2 * SECOND);
    expect(await statuses(1, () => ask(on))).toEqual([429]);
    on.pass(58 * SECOND);
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 429]);
  });

  it('of 0 admits nothing, and a retry is never told to wait for longer than the window', async () => {
    const on = await limited(rateLimit('none', { value: 0 }));
    const refused = await ask(on);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(rates(refused.headers, 'requests')).toEqual(['0', '0', '0']);
    expect(on.at(0).calls).toHaveLength(0);
  });

  it('counts no request that it refused', async () => {
    const on = await limited(rateLimit('few'));
    expect(await statuses(20, () => ask(on))).toEqual([200, 200, ...Array(18).fill(429)]);
    on.pass(60 * SECOND);
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 429]);
  });

  it('counts a request that failed upstream, and none that was wrong from the start', async () => {
    const on = await limited(rateLimit('few'));
    on.at(0).answer(problem(400));
    expect((await ask(on, {}, { temperature: 7 })).status).toBe(400);
    expect((await ask(on, { 'x-gateway-api-key': 'wrong' })).status).toBe(401);
    expect(await statuses(3, () => ask(on))).toEqual([400, 400, 429]);
    expect(on.at(0).calls).toHaveLength(2);
  });
});

describe('what callers are told (G16)', () => {
  it('limit, remaining and seconds to the reset stand on every answer', async () => {
    const on = await limited(rateLimit('few'));
    expect(rates((await ask(on)).headers, 'requests')).toEqual(['2', '1', '60']);
    on.pass(10 * SECOND + 1);
    expect(rates((await ask(on)).headers, 'requests')).toEqual(['2', '0', '60']);
    const refused = await ask(on);
    expect(rates(refused.headers, 'requests')).toEqual(['2', '0', '60']);
    expect(refused.headers.get('retry-after')).toBe('50');
    expect(rates(refused.headers, 'tokens')).toEqual([null, null, null]);
  });

  it('on streams and on failures too', async () => {
    const on = await limited(rateLimit('few'));
    on.at(0).answer([chatStream(), problem(503)]);
    const stream = await ask(on, {}, { stream: true });
    expect([stream.status, ...rates(stream.headers, 'requests')]).toEqual([200, '2', '1', '60']);
    const failed = await ask(on);
    expect([failed.status, ...rates(failed.headers, 'requests')]).toEqual([503, '2', '0', '60']);
  });

  it("the provider's own are told only where no limit of ours applies", async () => {
    const own = { 'x-ratelimit-remaining-requests': '7', 'x-ratelimit-remaining-tokens': '700', 'x-other': 'kept' };
    const on = await limited('');
    on.at(0).answer(json(200, { id: 'x', choices: [] }, own));
    expect(rates((await ask(on)).headers, 'tokens')[1]).toBe('700');
    on.limit(rateLimit('few'));
    const { headers } = await ask(on);
    expect(rates(headers, 'requests')).toEqual(['2', '1', '60']);
    expect(rates(headers, 'tokens')).toEqual([null, null, null]);
    expect(headers.get('x-other')).toBe('kept');
  });

  it('a refusal names the policy: by its name for people, else by its object', async () => {
    const on = await limited(rateLimit('few', { name: 'Two a minute', value: 0 }));
    const named = await ask(on);
    expect([named.status, named.type, named.code]).toEqual([429, 'rate_limit_error', 'rate_limited']);
    expect(named.message).toBe(
      'The rate limit "Two a minute" of 0 requests in any minute is reached: try again in 60 s.',
    );
    on.limit(rateLimit('few', { value: 0 }));
    expect((await ask(on)).message).toContain('"RateLimitPolicy few"');
  });

  it("in Anthropic's dialect the envelope is Anthropic's", async () => {
    const on = await limited(rateLimit('few', { value: 0 }));
    const response = await on.gateway.post('/v1/messages', HI_MESSAGE);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        code: 'rate_limited',
        message: expect.stringContaining('RateLimitPolicy few'),
      },
    });
  });

  it('the log line and the metric say which limit it was', async () => {
    const on = await limited(rateLimit('few', { name: 'Two a minute', value: 0 }));
    await ask(on);
    const line = (await on.gateway.logs()).find(({ msg }) => msg === 'request');
    expect(line).toMatchObject({ status: 429, error: 'rate_limited', refused_by: 'Two a minute' });
    const labels = { kind: 'RateLimitPolicy', reason: 'rate_limited' };
    expect(await on.gateway.metric('modelgateway_ratelimit_rejections_total', labels)).toBe(1);
    expect(await on.gateway.metric('modelgateway_ratelimit_rejections_total')).toBe(1);
  });
});

describe('several limits', () => {
  it('all must have room; the strictest answers, and none counts what another refused', async () => {
    const on = await limited(rateLimit('minute', { value: 3 }) + rateLimit('hour', { unit: 'rph', value: 4 }));
    expect(rates((await ask(on)).headers, 'requests')).toEqual(['3', '2', '60']);
    expect(await statuses(5, () => ask(on))).toEqual([200, 200, 429, 429, 429]);
    on.pass(60 * SECOND);
    const last = await ask(on);
    expect([last.status, ...rates(last.headers, 'requests')]).toEqual([200, '4', '0', '3600']);
    const refused = await ask(on);
    expect(refused.message).toContain('RateLimitPolicy hour');
    expect(refused.headers.get('retry-after')).toBe(String(3_600 - 60));
  });

  it('of requests and of tokens are told side by side', async () => {
    const on = await limited(rateLimit('requests') + rateLimit('tokens', { type: 'tokens', value: 10_000 }));
    const { headers } = await ask(on, {}, { max_tokens: 100 });
    expect(rates(headers, 'requests')).toEqual(['2', '1', '60']);
    const [limit, remaining, reset] = rates(headers, 'tokens');
    expect([limit, reset]).toEqual(['10000', '60']);
    expect(Number(remaining)).toBeGreaterThan(9_800);
    expect(Number(remaining)).toBeLessThan(9_900);
  });
});

describe('limits of a key, an Integration and a workspace', () => {
  const rate_limits = { type: 'requests', unit: 'rpm', value: 1 };

  it('of a key: its requests alone', async () => {
    const on = await limited(apiKey('one', 'key-one-000000000000', { rate_limits: [rate_limits] }));
    const one = { 'x-gateway-api-key': 'key-one-000000000000' };
    expect(await statuses(2, () => ask(on, one))).toEqual([200, 429]);
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 200]);
    expect((await ask(on, one)).message).toContain('"ApiKey one"');
  });

  it('of a workspace: all its requests, as one object too', async () => {
    const on = await limited(
      object('Workspace', 'default', { rate_limits }, { namespace: 'model-gateway' }) +
        apiKey('one', 'key-one-000000000000'),
    );
    expect(await statuses(2, () => ask(on, { 'x-gateway-api-key': 'key-one-000000000000' }))).toEqual([200, 429]);
    expect(await statuses(1, () => ask(on))).toEqual([429]);
  });

  it('of an Integration: whoever goes there, and nobody else', async () => {
    const shared = { namespace: 'model-gateway' };
    stage = await startLimitStage(apiKey('there', 'key-there-0000000000', {}, 'team-b'), {
      configs: ([upstream]) =>
        object(
          'Integration',
          'shared',
          {
            provider: 'openai',
            configurations: { custom_host: `${upstream?.origin}/v1` },
            allow_all_workspaces: true,
            rate_limits,
          },
          shared,
        ) + object('GatewayConfig', 'other', target(upstream as NonNullable<typeof upstream>)),
    });
    const on = stage;
    const model = { model: '@shared/gpt' };
    expect(await statuses(2, () => ask(on, {}, model))).toEqual([200, 429]);
    expect((await ask(on, { 'x-gateway-api-key': 'key-there-0000000000' }, model)).status).toBe(429);
    expect(await statuses(2, () => ask(on, { 'x-gateway-config': 'other' }))).toEqual([200, 200]);
  });
});

describe('live edits', () => {
  it('a new value holds at once, and what was counted stays counted', async () => {
    const on = await limited(rateLimit('few', { value: 3 }));
    expect(await statuses(2, () => ask(on))).toEqual([200, 200]);
    on.limit(rateLimit('few', { value: 2 }));
    expect(await statuses(1, () => ask(on))).toEqual([429]);
    on.limit(rateLimit('few', { value: 4 }));
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 429]);
  });

  it('an archived or deleted policy limits nothing', async () => {
    const on = await limited(rateLimit('few', { value: 0 }));
    expect((await ask(on)).status).toBe(429);
    on.limit(rateLimit('few', { value: 0, status: 'archived' }));
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 200]);
    on.limit(rateLimit('few', { value: 0 }));
    expect((await ask(on)).status).toBe(429);
    on.limit('');
    const { status, headers } = await ask(on);
    expect([status, ...rates(headers, 'requests')]).toEqual([200, null, null, null]);
  });
});

it('a hundred requests at once are let in as far as the limit goes, in both dialects together', async () => {
  const on = await limited(rateLimit('few', { value: 30 }));
  on.at(0).answer((call) => (call.path.endsWith('/messages') ? messageStream() : chatStream()));
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      index % 2 === 0
        ? on.gateway.chat({ ...HI, stream: true })
        : on.gateway.post('/v1/messages', { ...HI_MESSAGE, stream: true }),
    ),
  );
  const answers = await Promise.all(responses.map(answerOf));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(30);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(70);
  expect(on.at(0).calls).toHaveLength(30);
});

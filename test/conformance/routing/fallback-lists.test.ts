/** Fallback by `on_status_codes`: where the list stands, what counts as which status, and what it is not asked about. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config, object, secret } from '../../fakes/objects.ts';
import { openAiChat, openAiError } from '../../fakes/openai-wire.ts';
import {
  chat,
  gzipped,
  hangAfterHeaders,
  hangBeforeHeaders,
  json,
  pieces,
  type Reply,
  resetBeforeHeaders,
  resetMidBody,
  text,
} from '../../fakes/replies.ts';
import type { Upstream } from '../../fakes/upstream.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { type Asked, askBy, CHAT, CHAT_STREAM, errorOf, good, targetOf, WAYS, type Way } from './ways.ts';

let stage: Stage;

function integration(name: string, upstream: Upstream, spec: object): string {
  const configurations = { custom_host: `${upstream.origin}/v1` };
  return object('Integration', name, { provider: 'openai', configurations, ...spec });
}

function stored(upstreams: readonly Upstream[]): string {
  const [first, second] = upstreams as [Upstream, Upstream];
  const mapping = (secret_name: string) => ({
    secret_mappings: [{ target_field: 'api_key', secret_name, secret_key: 'api_key' }],
  });
  const narrow = { allow_all_models: false, models: [{ slug: 'small', enabled: true }] };
  return [
    secret('stored', { api_key: 'a-stored-key' }),
    integration('narrow', first, { ...mapping('stored'), ...narrow }),
    integration('wide', first, { ...mapping('stored'), allow_all_models: true }),
    integration('keyless', first, { ...mapping('nowhere'), allow_all_models: true }),
    ...[undefined, 403, 500, 501, 503, 401, 502].flatMap((code) =>
      ['narrow', 'wide', 'keyless'].map((slug) => {
        const list = code === undefined ? {} : { on_status_codes: [code] };
        const targets = [{ provider: `@${slug}` }, target(second)];
        return config(`${slug}-${code ?? 'default'}`, { strategy: { mode: 'fallback', ...list }, targets });
      }),
    ),
  ].join('');
}

beforeAll(async () => {
  stage = await startStage(2);
  stage.gateway.apply(stored(stage.upstreams), { allowComplaints: true });
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

/** Puts a fallback of two targets into use beside what is stored, and asks through it while the first one fails. */
async function fall(way: Way, spec: object, reply: Reply): Promise<Asked> {
  const targets = stage.upstreams.map((upstream) => targetOf(way.wire, upstream));
  stage.gateway.apply(stored(stage.upstreams) + config('fall', { targets, ...spec }), { allowComplaints: true });
  stage.at(0).answer(reply);
  stage.at(1).answer(good(way));
  return askBy(stage, way, 'fall');
}

function listing(...codes: number[]): object {
  return { strategy: { mode: 'fallback', on_status_codes: codes } };
}

describe('a list', () => {
  const PLACES: readonly (readonly [string, (codes: number[]) => object])[] = [
    ['on the strategy', (codes) => listing(...codes)],
    ['beside the strategy', (codes) => ({ strategy: { mode: 'fallback' }, on_status_codes: codes })],
  ];
  describe.each(PLACES)('%s', (_place, spec) => {
    it.each(WAYS)('takes the place of the default: %s', async (_name, way) => {
      for (const [status, moves] of [
        [402, true],
        [422, true],
        [429, false],
        [500, false],
        [503, false],
        [401, false],
      ] as const) {
        const asked = await fall(way, spec([402, 422]), json(status, openAiError()));
        expect([status, asked.calls]).toEqual([status, [1, moves ? 1 : 0]]);
      }
    });

    it('that is empty never moves on', async () => {
      for (const status of [400, 429, 500, 503])
        expect((await fall(CHAT, spec([]), json(status, openAiError()))).calls).toEqual([1, 0]);
      expect((await fall(CHAT, spec([]), resetBeforeHeaders)).status).toBe(502);
    });
  });

  it('of a target is no list of the fallback that it is in', async () => {
    const targets = stage.upstreams.map((upstream) => target(upstream, { on_status_codes: [418] }));
    const spec = { strategy: { mode: 'fallback' }, targets };
    expect((await fall(CHAT, spec, json(418, openAiError()))).calls).toEqual([1, 0]);
    expect((await fall(CHAT, spec, json(503, openAiError()))).calls).toEqual([1, 1]);
  });

  it('is not handed down to a fallback below', async () => {
    const inner = { strategy: { mode: 'fallback' }, targets: stage.upstreams.map((upstream) => target(upstream)) };
    const spec = { ...listing(418), targets: [inner] };
    expect((await fall(CHAT, spec, json(418, openAiError()))).calls).toEqual([1, 0]);
    expect((await fall(CHAT, spec, json(503, openAiError()))).calls).toEqual([1, 1]);
  });

  it.each([[[99]], [[600]], [['500']], [[500.5]], ['5xx']])('refuses %j', async (codes) => {
    const spec = { strategy: { mode: 'fallback', on_status_codes: codes }, targets: [{ provider: 'simulator' }] };
    const { status, text: body } = await askBy(stage, CHAT, spec);
    expect(status).toBe(400);
    expect(errorOf(body)).toMatchObject({ code: 'invalid_config' });
    expect(String(errorOf(body)['message'])).toContain('on_status_codes');
  });

  it.each(['single', 'loadbalance'])('has no place on the strategy %s', async (mode) => {
    const spec = { strategy: { mode, on_status_codes: [500] }, targets: [{ provider: 'simulator' }] };
    const { status, text: body } = await askBy(stage, CHAT, spec);
    expect({ status, message: String(errorOf(body)['message']) }).toMatchObject({
      status: 400,
      message: expect.stringContaining('on_status_codes'),
    });
  });
});

const NETWORK: readonly (readonly [what: string, way: Way, reply: Reply])[] = [
  ['a reset before any answer', CHAT, resetBeforeHeaders],
  ['a reset in the body', CHAT, resetMidBody(JSON.stringify(openAiChat()))],
  ['an answer cut short', CHAT, pieces(['{"id"'], { headers: { 'content-type': 'application/json' } })],
  ['an answer that is no JSON', CHAT, text(200, 'hello')],
  ['a compressed answer', CHAT, gzipped(openAiChat())],
  ['a redirect', CHAT, text(307, '', { location: '/' })],
  ['a reset before a stream', CHAT_STREAM, resetBeforeHeaders],
  ['a stream without an event', CHAT_STREAM, pieces([])],
  ['JSON for a stream', CHAT_STREAM, chat()],
  ['a stream that begins with garbage', CHAT_STREAM, pieces(['data: hello\n\n'])],
];

describe('in a list a network error counts as 502:', () => {
  it.each(NETWORK)('%s', async (_what, way, reply) => {
    expect(await fall(way, listing(502), reply)).toMatchObject({ status: 200, calls: [1, 1] });
    expect(await fall(way, listing(500, 503, 504, 408), reply)).toMatchObject({ status: 502, calls: [1, 0] });
  });
});

describe('in a list a timeout counts as 408:', () => {
  it.each(
    WAYS.flatMap(([name, way]) => [
      [`${name}: no answer`, way, hangBeforeHeaders] as const,
      [`${name}: headers alone`, way, hangAfterHeaders] as const,
    ]),
  )('%s', async (_what, way, reply) => {
    const hasty = { request_timeout: 40 };
    expect(await fall(way, { ...listing(408), ...hasty }, reply)).toMatchObject({ status: 200, calls: [1, 1] });
    expect(await fall(way, { ...listing(502, 504), ...hasty }, reply)).toMatchObject({ status: 408, calls: [1, 0] });
  });

  it('a stream that is silent before its first event', async () => {
    const idle = (code: number) => ({
      strategy: { mode: 'fallback', on_status_codes: [code], stream_idle_timeout: 40 },
    });
    const reply = pieces([': wait\n\n'], { ending: 'stall' });
    expect(await fall(CHAT_STREAM, idle(408), reply)).toMatchObject({ status: 200, calls: [1, 1] });
    expect(await fall(CHAT_STREAM, idle(502), reply)).toMatchObject({ status: 504, calls: [1, 0] });
  });

  it('and so does an upstream’s own 408', async () => {
    expect((await fall(CHAT, listing(408), json(408, openAiError()))).calls).toEqual([1, 1]);
  });
});

describe('a list sees the upstream’s own status', () => {
  it.each([
    [401, 'wide-401', [1, 1]],
    [403, 'wide-403', [1, 1]],
    [401, 'wide-502', [1, 0]],
    [403, 'wide-502', [1, 0]],
  ])('%i of a stored credential, through %s', async (status, name, calls) => {
    stage.at(0).answer(json(status, openAiError()));
    const asked = await askBy(stage, CHAT, name);
    expect(asked.calls).toEqual(calls);
    if (asked.status !== 200) expect(errorOf(asked.text)).toMatchObject({ code: 'upstream_auth' });
  });

  it('and the answer becomes 502 only at the end', async () => {
    stage.at(0).answer(json(503, openAiError()));
    stage.at(1).answer(json(401, openAiError('Incorrect API key: upstream-key')));
    const { status, text: body } = await askBy(stage, CHAT, 'wide-default');
    expect(status).toBe(502);
    expect(errorOf(body)).toMatchObject({ code: 'upstream_auth' });
    expect(body).not.toContain('upstream-key');
  });
});

describe('our own refusal of a target counts as its answer:', () => {
  it.each([
    ['narrow-default', [0, 1], 200],
    ['narrow-403', [0, 1], 200],
    ['narrow-500', [0, 0], 403],
    ['keyless-default', [0, 1], 200],
    ['keyless-503', [0, 1], 200],
    ['keyless-500', [0, 0], 503],
  ])('%s', async (name, calls, status) => {
    for (const [, way] of WAYS.filter(([, { wire }]) => wire === 'openai')) {
      stage.at(1).answer(good(way));
      expect(await askBy(stage, way, name)).toMatchObject({ calls, status });
    }
  });

  it('a model that the target has is not refused', async () => {
    expect(await askBy(stage, CHAT, 'narrow-default', { body: { model: 'small' } })).toMatchObject({ calls: [1, 0] });
  });
});

describe('the last answer', () => {
  it('keeps status, words, param and headers', async () => {
    stage.at(0).answer(json(500, openAiError('the first')));
    const error = { message: 'Slow down.', type: 'tokens', param: 'messages', code: 'rate_limit_exceeded' };
    stage.at(1).answer(json(429, { error }, { 'retry-after': '17', 'x-ratelimit-remaining-tokens': '0' }));
    const asked = await askBy(stage, CHAT, 'wide-default');
    expect(asked).toMatchObject({ status: 429, calls: [1, 1], path: 'config.targets[1]' });
    expect(JSON.parse(asked.text)).toEqual({ error, provider: 'openai' });
    expect(asked.headers.get('retry-after')).toBe('17');
    expect(asked.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
  });

  it.each(WAYS)('is an ordinary error, whatever was asked: %s', async (_name, way) => {
    const spec = { strategy: { mode: 'fallback' } };
    const down = json(503, openAiError('the second', 'server_error', 'their_code'));
    const targets = stage.upstreams.map((upstream) => target(upstream));
    stage.gateway.apply(stored(stage.upstreams) + config('down', { ...spec, targets }), { allowComplaints: true });
    stage.at(0).answer(json(500, openAiError('the first')));
    stage.at(1).answer(down);
    const asked = await askBy(stage, way, 'down');
    expect(asked).toMatchObject({ status: 503, calls: [1, 1], path: 'config.targets[1]', retries: '0' });
    expect(asked.headers.get('content-type')).toBe('application/json');
    expect(errorOf(asked.text)).toMatchObject({ message: 'the second' });
    expect(asked.text).not.toContain('the first');
  });
});

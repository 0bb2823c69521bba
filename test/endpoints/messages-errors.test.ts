/** Whatever goes wrong at `/v1/messages` is told in Anthropic's envelope. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI_MESSAGE } from '../conformance/stage.ts';
import { anthropicError, anthropicEvents } from '../fakes/anthropic-wire.ts';
import { startTestGateway } from '../fakes/gateway.ts';
import { apiKey, object } from '../fakes/objects.ts';
import { openAiError, openAiEvents } from '../fakes/openai-wire.ts';
import {
  chat,
  hangBeforeHeaders,
  json,
  message,
  pieces,
  type Reply,
  resetBeforeHeaders,
  text,
} from '../fakes/replies.ts';
import { readSse } from '../fakes/sse.ts';
import { startWires, type Wire, type Wires } from './wires.ts';

const NARROW_KEY = 'narrow-key-0123456789abcdef';
const PATHS = ['/v1/messages', '/v1/messages/count_tokens'] as const;

let wires: Wires;
beforeAll(async () => {
  wires = await startWires(apiKey('narrow', NARROW_KEY, { scopes: ['prompts.render'] }));
});
afterAll(() => wires.close());

/** Envelope and nothing of the other dialect's. */
async function assertError(response: Response, status: number, type: string, code: string): Promise<string> {
  const said = await response.text();
  expect({ status: response.status, said }).toMatchObject({ status });
  expect(response.headers.get('content-type')).toBe('application/json');
  const body = JSON.parse(said) as { error: { message: string } };
  expect(body).toMatchObject({
    type: 'error',
    error: { type, message: expect.stringMatching(/\S/), code, details: { error_code: code } },
  });
  return body.error.message;
}

type Ask = (path: string) => Promise<Response>;
const GOOD = HI_MESSAGE;
const post = (body: unknown, headers: Record<string, string> = {}): Ask => {
  return (path) => wires.gateway.post(path, body, { 'x-gateway-config': 'anthropic', ...headers });
};

describe.each(PATHS)('%s', (path) => {
  it.each<readonly [what: string, ask: Ask, status: number, type: string, code: string]>([
    ['no JSON', post('{"model"'), 400, 'invalid_request_error', 'invalid_json'],
    ['an empty body', post(''), 400, 'invalid_request_error', 'invalid_json'],
    ['a list', post([]), 400, 'invalid_request_error', 'invalid_json'],
    ['poison', post('{"__proto__":{}}'), 400, 'invalid_request_error', 'invalid_json'],
    ['too deep', post(`{"a":${'['.repeat(70)}${']'.repeat(70)}}`), 400, 'invalid_request_error', 'too_deep'],
    [
      'no JSON by its type',
      post(GOOD, { 'content-type': 'text/plain' }),
      415,
      'invalid_request_error',
      'unsupported_media_type',
    ],
    ['no key', post(GOOD, { 'x-gateway-api-key': '' }), 401, 'authentication_error', 'invalid_api_key'],
    [
      'a wrong key',
      post(GOOD, { 'x-gateway-api-key': 'nobodys-key-0123456789' }),
      401,
      'authentication_error',
      'invalid_api_key',
    ],
    [
      'a key without the scope',
      post(GOOD, { 'x-gateway-api-key': NARROW_KEY }),
      403,
      'permission_error',
      'missing_scope',
    ],
    [
      'an unknown config',
      post(GOOD, { 'x-gateway-config': 'nobodys' }),
      400,
      'invalid_request_error',
      'unknown_config',
    ],
    [
      'a bad inline config',
      post(GOOD, { 'x-gateway-config': '{"x":1}' }),
      400,
      'invalid_request_error',
      'invalid_config',
    ],
    [
      'a bad header of ours',
      post(GOOD, { 'x-gateway-request-timeout': 'soon' }),
      400,
      'invalid_request_error',
      'invalid_value',
    ],
    [
      'an unknown provider',
      post(GOOD, { 'x-gateway-config': '', 'x-gateway-provider': 'nobodys' }),
      400,
      'invalid_request_error',
      'unknown_provider',
    ],
    [
      'an unknown slug',
      post(GOOD, { 'x-gateway-config': '', 'x-gateway-provider': '@nobodys' }),
      400,
      'invalid_request_error',
      'unknown_slug',
    ],
    ['no provider at all', post(GOOD, { 'x-gateway-config': '' }), 400, 'invalid_request_error', 'no_provider'],
    [
      'a host of its own',
      post(GOOD, { 'x-gateway-custom-host': 'https://x.example' }),
      400,
      'invalid_request_error',
      'override_not_allowed',
    ],
  ])('%s', async (_what, ask, status, type, code) => {
    const before = wires.at(0).calls.length;
    await assertError(await ask(path), status, type, code);
    expect(wires.at(0).calls.length).toBe(before);
  });

  it('before the first configuration', async () => {
    const gateway = await startTestGateway({ empty: true });
    try {
      const response = await gateway.post(path, GOOD);
      expect(response.headers.get('retry-after')).toBe('1');
      await assertError(response, 503, 'overloaded_error', 'not_ready');
    } finally {
      await gateway.close();
    }
  });
});

const ROWS: readonly (readonly [status: number, type: string])[] = [
  [400, 'invalid_request_error'],
  [402, 'billing_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [422, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
];
const ERRORS = (['openai', 'anthropic'] as const).flatMap((wire) =>
  ROWS.map(([status, type]) => [wire, status, type] as const),
);

function ask(wire: Wire, reply: Reply, more: object = {}, headers: Record<string, string> = {}): Promise<Response> {
  return wires.ask('/v1/messages', wire, { ...GOOD, ...more }, reply, headers);
}

describe('an upstream’s error', () => {
  it.each(ERRORS)('over the wire of %s, %i, is told as %s', async (wire, status, type) => {
    const body =
      wire === 'openai' ? openAiError('It was said.', 'x', 'its_code') : anthropicError(type, 'It was said.');
    const response = await ask(wire, json(status, body, { 'retry-after': '3' }));
    const said = (await response.json()) as { error: { type: string; message: string; code: string } };
    expect(response.status).toBe(status);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(said).toMatchObject({ type: 'error', provider: wire, error: { type, message: 'It was said.' } });
    if (wire === 'openai') expect(said.error.code).toBe('its_code');
  });

  it.each([
    ['openai', 401],
    ['openai', 403],
    ['anthropic', 401],
    ['anthropic', 403],
  ] as const)('over the wire of %s, %i of our credential, is no concern of the caller', async (wire, status) => {
    await assertError(await ask(wire, text(status, 'no')), 502, 'api_error', 'upstream_auth');
  });

  it.each([
    ['openai', 'hangs up', resetBeforeHeaders, 502, 'api_error', 'upstream_unreachable'],
    ['anthropic', 'hangs up', resetBeforeHeaders, 502, 'api_error', 'upstream_unreachable'],
    ['openai', 'sends HTML', text(200, '<html>'), 502, 'api_error', 'upstream_invalid'],
    ['anthropic', 'sends HTML', text(200, '<html>'), 502, 'api_error', 'upstream_invalid'],
    ['openai', 'redirects', text(302, '', { location: '/x' }), 502, 'api_error', 'upstream_redirect'],
    ['anthropic', 'redirects', text(302, '', { location: '/x' }), 502, 'api_error', 'upstream_redirect'],
  ] as const)('over the wire of %s that %s', async (wire, _what, reply, status, type, code) => {
    await assertError(await ask(wire, reply), status, type, code);
  });

  it.each(['openai', 'anthropic'] as const)('over the wire of %s that never comes', async (wire) => {
    const response = await ask(wire, hangBeforeHeaders, {}, { 'x-gateway-request-timeout': '50' });
    await assertError(response, 408, 'timeout_error', 'request_timeout');
  });

  it.each([
    ['openai', 'a whole answer', { stream: true }, chat()],
    ['anthropic', 'a whole answer', { stream: true }, message()],
    ['openai', 'a stream', { stream: false }, pieces(openAiEvents())],
    ['anthropic', 'a stream', { stream: false }, pieces(anthropicEvents())],
  ] as const)('over the wire of %s that gives %s where the other was asked for', async (wire, _what, more, reply) => {
    await assertError(await ask(wire, reply, more), 502, 'api_error', 'upstream_invalid');
  });
});

describe('a stream that breaks', () => {
  it.each([
    ['openai', openAiEvents({ text: 'a b c' }).slice(0, 3), 'upstream_cut'],
    ['anthropic', anthropicEvents({ text: 'a b c' }).slice(0, 5), 'upstream_cut'],
    ['openai', [...openAiEvents({ text: 'a b c' }).slice(0, 3), 'data: nonsense\n\n'], 'upstream_invalid'],
    ['anthropic', [...anthropicEvents({ text: 'a b c' }).slice(0, 5), 'data: nonsense\n\n'], 'upstream_invalid'],
    [
      'openai',
      [...openAiEvents({ text: 'a b' }).slice(0, 3), 'data: {"error":{"message":"Later."}}\n\n'],
      'upstream_error',
    ],
    [
      'anthropic',
      [
        ...anthropicEvents({ text: 'a b' }).slice(0, 5),
        `event: error\ndata: ${JSON.stringify(anthropicError('api_error', 'Later.'))}\n\n`,
      ],
      'upstream_error',
    ],
  ] as const)('over the wire of %s ends with an error event', async (wire, events, code) => {
    const { events: read } = await readSse(await ask(wire, pieces(events, { gapMs: 15 }), { stream: true }));
    const last = read.at(-1);
    expect(last?.event).toBe('error');
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ type: 'error', error: { type: 'api_error', code } });
    expect(read.map(({ event }) => event)).not.toContain('message_stop');
    expect(read[0]?.event).toBe('message_start');
  });
});

describe('what the dialect requires', () => {
  it.each(['openai', 'anthropic'] as const)('max_tokens, over the wire of %s', async (wire) => {
    const before = wires.at(0).calls.length;
    const body = { model: 'm', messages: GOOD.messages };
    const response = await wires.ask('/v1/messages', wire, body, chat());
    expect(await assertError(response, 400, 'invalid_request_error', 'missing_field')).toContain('max_tokens');
    expect(wires.at(0).calls.length).toBe(before);
  });

  it('messages', async () => {
    const response = await wires.ask('/v1/messages', 'anthropic', { model: 'm', max_tokens: 1 }, message());
    expect(await assertError(response, 400, 'invalid_request_error', 'missing_field')).toContain('messages');
  });

  it('a model that the Integration lists', async () => {
    const spec = { provider: 'simulator', allow_all_models: false, models: [{ slug: 'echo', enabled: true }] };
    wires.gateway.apply(wires.manifests + object('Integration', 'small', spec));
    const headers = { 'x-gateway-provider': '@small' };
    expect((await wires.gateway.post('/v1/messages', { ...GOOD, model: 'echo' }, headers)).status).toBe(200);
    const response = await wires.gateway.post('/v1/messages', { ...GOOD, model: 'long-3' }, headers);
    await assertError(response, 403, 'permission_error', 'model_not_allowed');
  });
});

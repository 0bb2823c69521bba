/** Fallback: which answers move on to the next target, and what the caller then gets. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { anthropicError } from '../../fakes/anthropic-wire.ts';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import {
  chat,
  chatStream,
  gzipped,
  hangBeforeHeaders,
  json,
  pieces,
  resetBeforeHeaders,
  resetMidBody,
  text,
} from '../../fakes/replies.ts';
import { failureOf, HI, HI_MESSAGE, type Stage, startStage, target } from '../stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(3, (upstreams) => {
    const [first, second, third] = upstreams;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three upstreams');
    const targets = [target(first), target(second)];
    const anthropic = (upstream = first) => target(upstream, { provider: 'anthropic' });
    return [
      config('default', { strategy: { mode: 'fallback' }, targets }),
      config('three', { strategy: { mode: 'fallback' }, targets: [...targets, target(third)] }),
      config('listed', { strategy: { mode: 'fallback', on_status_codes: [418, 502, 408] }, targets }),
      config('beside', { strategy: { mode: 'fallback' }, on_status_codes: [418], targets }),
      config('hasty', { strategy: { mode: 'fallback' }, request_timeout: 60, targets }),
      config('hasty-listed', { strategy: { mode: 'fallback', on_status_codes: [408] }, request_timeout: 60, targets }),
      config('hasty-other', { strategy: { mode: 'fallback', on_status_codes: [500] }, request_timeout: 60, targets }),
      config('mixed', { strategy: { mode: 'fallback' }, targets: [anthropic(), target(second)] }),
      config('lacking', { strategy: { mode: 'fallback' }, targets: [anthropic(), target(second)] }),
      config('dead', {
        strategy: { mode: 'fallback' },
        targets: [{ provider: 'openai', api_key: 'k', custom_host: 'http://127.0.0.1:1/v1' }, target(second)],
      }),
    ].join('');
  });
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

async function ask(name: string, body: object = HI) {
  const counts = stage.upstreams.map((upstream) => upstream.calls.length);
  const response = await stage.gateway.chat(body, { 'x-gateway-config': name });
  const asked = stage.upstreams.map((upstream, index) => upstream.calls.length - (counts[index] ?? 0));
  return { response, asked };
}

/** 401 and 403 become 502 only in the answer; redirects are never followed. */
const MOVES_ON = [401, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504, 505, 529, 599];
const STAYS = [400, 402, 405, 406, 410, 411, 413, 415, 418, 422, 426, 428, 451, 499];

describe('fallback without a list', () => {
  it.each(MOVES_ON)('moves on after %i', async (status) => {
    stage.at(0).answer(json(status, openAiError()));
    const { response, asked } = await ask('default');
    expect(response.status).toBe(200);
    expect(asked).toEqual([1, 1, 0]);
    expect(response.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
  });

  it.each(STAYS)('returns %i as it is', async (status) => {
    stage.at(0).answer(json(status, openAiError('It was said.', 'some_type', 'some_code')));
    const { response, asked } = await ask('default');
    expect(asked).toEqual([1, 0, 0]);
    expect(response.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[0]');
    expect(await failureOf(response)).toMatchObject({
      status,
      code: 'some_code',
      type: 'some_type',
      message: 'It was said.',
    });
  });

  it.each([
    ['a reset before any answer', resetBeforeHeaders],
    ['a reset in the middle', resetMidBody(JSON.stringify({ a: 'b'.repeat(1000) }))],
    ['an answer that is no JSON', text(200, '<html>hello</html>')],
    ['an answer cut short', pieces(['{"id":"x"'], { headers: { 'content-type': 'application/json' } })],
    ['an answer in gzip', gzipped({})],
    ['an empty answer', text(200, '')],
    ['a redirect', text(302, '', { location: 'http://127.0.0.1:1/' })],
  ])('moves on after %s', async (_what, reply) => {
    stage.at(0).answer(reply);
    const { response, asked } = await ask('default');
    expect(response.status).toBe(200);
    expect(asked).toEqual([1, 1, 0]);
  });

  it('moves on from a host that refuses connections', async () => {
    const { response } = await ask('dead');
    expect(response.status).toBe(200);
  });

  it('moves on after a timeout', async () => {
    stage.at(0).answer(hangBeforeHeaders);
    expect((await ask('hasty')).response.status).toBe(200);
  });

  it.each([
    ['code', openAiError('too long', 'invalid_request_error', 'context_length_exceeded'), true],
    ['words', openAiError("This model's maximum context length is 8192 tokens.", 'invalid_request_error'), true],
    ['content policy', openAiError('refused', 'invalid_request_error', 'content_policy_violation'), false],
    ['anything else', openAiError('bad', 'invalid_request_error', 'invalid_value'), false],
  ])('a 400 of OpenAI’s: %s', async (_what, body, moves) => {
    stage.at(0).answer(json(400, body));
    const { response, asked } = await ask('default');
    expect(response.status).toBe(moves ? 200 : 400);
    expect(asked).toEqual([1, moves ? 1 : 0, 0]);
  });

  it.each([
    ['prompt is too long: 210000 tokens > 200000 maximum', true],
    ['messages: text content blocks must be non-empty', false],
  ])('a 400 of Anthropic’s: %s', async (message, moves) => {
    stage.at(0).answer(json(400, anthropicError('invalid_request_error', message)));
    const { response, asked } = await ask('mixed');
    expect(response.status).toBe(moves ? 200 : 400);
    expect(asked).toEqual([1, moves ? 1 : 0, 0]);
  });

  it('returns the last answer as it is, whichever that is', async () => {
    stage.at(0).answer(json(500, openAiError('first')));
    stage.at(1).answer(json(429, openAiError('second')));
    stage.at(2).answer(json(503, openAiError('third', 'own_type', 'own_code')));
    const { response, asked } = await ask('three');
    expect(asked).toEqual([1, 1, 1]);
    expect(response.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[2]');
    expect(await failureOf(response)).toMatchObject({ status: 503, message: 'third', code: 'own_code' });
  });

  it('an operation that the first target lacks is the next one’s', async () => {
    const response = await stage.gateway.post(
      '/v1/embeddings',
      { model: 'm', input: 'x' },
      { 'x-gateway-config': 'lacking' },
    );
    expect(response.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
  });

  it('holds for streams before their first byte', async () => {
    stage.at(0).answer(json(503, openAiError()));
    stage.at(1).answer(chatStream({ text: 'from the second' }));
    const { response, asked } = await ask('default', { ...HI, stream: true });
    expect(asked).toEqual([1, 1, 0]);
    expect(await response.text()).toMatch(/second[\s\S]*\[DONE\]/);
  });

  it('holds for a stream request that is answered with JSON', async () => {
    stage.at(0).answer(chat());
    stage.at(1).answer(chatStream());
    const { response, asked } = await ask('default', { ...HI, stream: true });
    expect(asked).toEqual([1, 1, 0]);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    await response.text();
  });

  it('holds for /v1/messages', async () => {
    stage.at(0).answer(json(529, anthropicError('overloaded_error')));
    const response = await stage.gateway.post('/v1/messages', HI_MESSAGE, { 'x-gateway-config': 'mixed' });
    expect(await response.json()).toMatchObject({ type: 'message', content: [{ text: 'Hello!' }] });
  });
});

describe('fallback with a list', () => {
  it.each([
    ['listed', 418, true],
    ['listed', 502, true],
    ['listed', 500, false],
    ['listed', 429, false],
    ['listed', 400, false],
    ['beside', 418, true],
    ['beside', 503, false],
  ])('%s: %i moves on: %s', async (name, status, moves) => {
    stage.at(0).answer(json(status, openAiError()));
    const { response, asked } = await ask(name);
    expect(asked).toEqual([1, moves ? 1 : 0, 0]);
    expect(response.status).toBe(moves ? 200 : status);
  });

  it('counts a network error as 502', async () => {
    stage.at(0).answer(resetBeforeHeaders);
    expect((await ask('listed')).asked).toEqual([1, 1, 0]);
    expect((await ask('beside')).response.status).toBe(502);
  });

  it.each([
    ['hasty-listed', 200],
    ['hasty-other', 408],
  ])('counts a timeout as 408: %s gives %i', async (name, status) => {
    stage.at(0).answer(hangBeforeHeaders);
    expect((await ask(name)).response.status).toBe(status);
  });

  it('sees 401 where the caller sees 502', async () => {
    stage.at(0).answer(json(401, openAiError()));
    const { response, asked } = await ask('listed');
    expect(asked).toEqual([1, 0, 0]);
    expect(await failureOf(response)).toMatchObject({ status: 502, code: 'upstream_auth' });
  });
});

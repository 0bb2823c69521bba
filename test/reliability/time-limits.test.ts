/** The clocks of a request: to the first byte, between bytes, over all attempts; whose limit it was, and what it cost. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failureOf, HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import {
  chat,
  chatStream,
  hangAfterHeaders,
  hangBeforeHeaders,
  json,
  after as later,
  pieces,
  type Reply,
} from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

const FIRST_BYTE_MS = 250;
const ATTEMPTS_MS = 900;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(
    2,
    (upstreams) => {
      const [first, second] = upstreams as [Upstream, Upstream];
      const both = [target(first), target(second)];
      return [
        defaultConfig('house', target(first)),
        config('own', target(first, { request_timeout: 120 })),
        config('fall', { strategy: { mode: 'fallback' }, targets: both }),
        config('fall-own', { strategy: { mode: 'fallback' }, request_timeout: 120, targets: both }),
        config(
          'retry',
          target(first, {
            api_key: 'retrying',
            retry: { attempts: 5, on_status_codes: [503], use_retry_after_headers: true },
          }),
        ),
        config(
          'retry-408',
          target(first, { api_key: 'retry-408', request_timeout: 100, retry: { attempts: 1, on_status_codes: [408] } }),
        ),
        config('idle', { strategy: { mode: 'single', stream_idle_timeout: 120 }, targets: [target(first)] }),
      ].join('');
    },
    () => ({ limits: { firstByteMs: FIRST_BYTE_MS, attemptsMs: ATTEMPTS_MS } }),
  );
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

async function timed(name: string, body: object = HI) {
  const startedMs = performance.now();
  const response = await stage.gateway.chat(body, { 'x-gateway-config': name });
  const headMs = performance.now() - startedMs;
  return { response, headMs };
}

const SILENT: readonly (readonly [string, Reply])[] = [
  ['says nothing', hangBeforeHeaders],
  ['sends its head alone', hangAfterHeaders],
];

describe.each(SILENT)('an upstream that %s', (_what, reply) => {
  it('meets the installation’s limit with 504', async () => {
    stage.at(0).answer(reply);
    const { response, headMs } = await timed('house');
    expect(await failureOf(response)).toMatchObject({ status: 504, code: 'upstream_timeout', type: 'upstream_error' });
    expect(headMs).toBeGreaterThanOrEqual(FIRST_BYTE_MS - 5);
    expect(headMs).toBeLessThan(FIRST_BYTE_MS + 1_000);
  });

  it('meets the config’s own with 408', async () => {
    stage.at(0).answer(reply);
    const { response, headMs } = await timed('own');
    const failure = await failureOf(response);
    expect(failure).toMatchObject({ status: 408, code: 'request_timeout', type: 'timeout_error' });
    expect(failure.message).toContain('120');
    expect(headMs).toBeGreaterThanOrEqual(115);
    expect(headMs).toBeLessThan(120 + 1_000);
  });

  it.each(['fall', 'fall-own'])('is left for the next target: %s', async (name) => {
    stage.at(0).answer(reply);
    const { response } = await timed(name);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
  });

  it('is tried again where 408 is listed', async () => {
    stage.at(0).answer([reply, chat()]);
    const { response } = await timed('retry-408');
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-retry-attempt-count')).toBe('1');
  });

  it('meets the same limits in Anthropic’s words', async () => {
    stage.at(0).answer(reply);
    const response = await stage.gateway.post('/v1/messages', HI_MESSAGE, { 'x-gateway-config': 'own' });
    expect(response.status).toBe(408);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: expect.any(String) } });
  });

  it('is hung up on', async () => {
    stage.at(0).answer(reply);
    const before = stage.at(0).calls.length;
    await timed('own');
    await expect.poll(() => stage.at(0).calls[before]?.abortedAt).toBeDefined();
  });
});

describe('once its first byte has come', () => {
  const SLOW = (JSON.stringify(openAiChat()).match(/[\s\S]{1,30}/g) ?? []).slice(0, 40);

  it.each(['house', 'own'])('a slow whole answer is waited for: %s', async (name) => {
    stage.at(0).answer(pieces(SLOW, { gapMs: 40, headers: { 'content-type': 'application/json' } }));
    const { response, headMs } = await timed(name);
    expect(response.status).toBe(200);
    expect(headMs).toBeGreaterThan(300);
  });

  it('a whole answer ends with the limit of all attempts', async () => {
    const endless = Array.from({ length: 100 }, () => ' ');
    stage.at(0).answer(pieces(['{', ...endless], { gapMs: 30, headers: { 'content-type': 'application/json' } }));
    const { response, headMs } = await timed('house');
    expect(await failureOf(response)).toMatchObject({ status: 504, code: 'upstream_timeout' });
    expect(headMs).toBeGreaterThanOrEqual(ATTEMPTS_MS - 5);
    expect(headMs).toBeLessThan(ATTEMPTS_MS + 1_500);
  });

  it('a running stream is cut by neither limit', async () => {
    const events = openAiEvents({ text: 'a b c d e f g h i j k l m n o p q r s t u v' });
    stage.at(0).answer(pieces(events, { gapMs: 60 }));
    const startedMs = performance.now();
    const { response } = await timed('own', { ...HI, stream: true });
    expect(await response.text()).toContain('[DONE]');
    expect(performance.now() - startedMs).toBeGreaterThan(ATTEMPTS_MS + 200);
  });

  it('a stream is cut by its idle time, which each event starts anew', async () => {
    const events = openAiEvents({ text: 'a b c d e f' });
    stage.at(0).answer(pieces(events, { gapMs: 50 }));
    expect(await (await timed('idle', { ...HI, stream: true })).response.text()).toContain('[DONE]');
    stage.at(0).answer(pieces(events.slice(0, 4), { gapMs: 50, ending: 'stall' }));
    const startedMs = performance.now();
    const text = await (await timed('idle', { ...HI, stream: true })).response.text();
    expect(text).toContain('upstream_stalled');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(280);
  });
});

describe('all attempts together', () => {
  it('end with the limit: a retry that could not be over in time is not begun', async () => {
    stage.at(0).answer(json(503, {}, { 'retry-after-ms': '400' }));
    const before = stage.at(0).calls.length;
    const { response, headMs } = await timed('retry');
    expect(response.status).toBe(503);
    expect(headMs).toBeLessThan(ATTEMPTS_MS + 1_000);
    expect(stage.at(0).calls.length - before).toBeLessThanOrEqual(3);
  });

  it('end with the limit: the next target is not asked after it', async () => {
    stage.at(0).answer(later(ATTEMPTS_MS * 2, chat()));
    stage.at(1).answer(later(ATTEMPTS_MS * 2, chat()));
    const { response, headMs } = await timed('fall');
    expect(response.status).toBe(504);
    expect(headMs).toBeLessThan(ATTEMPTS_MS + 1_000);
  });

  it('leave time enough for what is quick', async () => {
    stage.at(0).answer(later(100, chatStream()));
    expect((await timed('house', { ...HI, stream: true })).response.status).toBe(200);
  });
});

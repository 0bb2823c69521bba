/** What the spans of a request say: one of the server, one for each attempt, and never a word of a prompt. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiCompletion, openAiEmbedding, openAiEvents } from '../fakes/openai-wire.ts';
import {
  chat,
  chatStream,
  json,
  after as later,
  message,
  pieces,
  problem,
  resetBeforeHeaders,
} from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { CLIENT, FAILED, type ReceivedSpan, SERVER } from './otlp-collector.ts';
import { startTracedStage, type TracedStage } from './traced-stage.ts';

let stage: TracedStage;
beforeAll(async () => {
  stage = await startTracedStage(2, ([first, second]) => {
    const [one, two] = [target(first as Upstream), target(second as Upstream, { override_params: { model: 'big' } })];
    const claude = { ...target(second as Upstream), provider: 'anthropic' };
    return [
      defaultConfig('house', one),
      config('spare', { strategy: { mode: 'fallback' }, targets: [one, two] }),
      config('again', { ...one, retry: { attempts: 2, on_status_codes: [503], use_retry_after_headers: true } }),
      config('hasty', { ...one, request_timeout: 60 }),
      config('claude', claude),
    ].join('');
  });
});
afterAll(() => stage.close());

interface Told {
  readonly status: number;
  readonly server: ReceivedSpan;
  readonly attempts: readonly ReceivedSpan[];
}

async function tell(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Told> {
  const id = randomBytes(16).toString('hex');
  const response = await stage.gateway.post(path, body, { 'x-gateway-trace-id': id, ...headers });
  await response.text();
  return { status: response.status, ...(await toldOf(id)) };
}

async function toldOf(id: string): Promise<Omit<Told, 'status'>> {
  const spans = await stage.collector.trace(id);
  const server = spans.find(({ kind }) => kind === SERVER);
  if (server === undefined) throw new Error('there is no server span');
  const attempts = spans.filter(({ kind }) => kind === CLIENT).sort((a, b) => a.startMs - b.startMs);
  return { server, attempts };
}

const CHAT = '/v1/chat/completions';

describe('a request that is answered', () => {
  it('has a server span that says what was asked of the gateway', async () => {
    stage.at(0).answer(chat());
    const { server } = await tell(CHAT, { ...HI, model: 'gpt-asked' });
    expect(server).toMatchObject({ name: 'POST /v1/chat/completions', kind: SERVER, events: 0 });
    expect(server.status).not.toBe(FAILED);
    expect(server.attributes).toEqual({
      'http.request.method': 'POST',
      'url.path': '/v1/chat/completions',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.request.model': 'gpt-asked',
      'modelgateway.endpoint': 'chatComplete',
      'modelgateway.config': 'house',
      'modelgateway.caller': 'test',
      'modelgateway.namespace': 'default',
      'modelgateway.generation': 1,
    });
    expect(server.resource['service.name']).toBe('model-gateway');
  });

  it('has a client span that says what was asked of the provider, and what it cost', async () => {
    const usage = {
      prompt_tokens: 40,
      completion_tokens: 7,
      total_tokens: 47,
      prompt_tokens_details: { cached_tokens: 32 },
      completion_tokens_details: { reasoning_tokens: 5 },
    };
    stage.at(0).answer(later(30, chat({ usage, model: 'gpt-answered' })));
    const { server, attempts } = await tell(CHAT, HI);
    expect(attempts).toHaveLength(1);
    expect(attempts[0]).toMatchObject({ name: 'chat m', parentSpanId: server.spanId, events: 0 });
    expect(attempts[0]?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'm',
      'gen_ai.response.model': 'gpt-answered',
      'gen_ai.usage.input_tokens': 40,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 32,
      'gen_ai.usage.reasoning.output_tokens': 5,
      'server.address': '127.0.0.1',
      'server.port': stage.at(0).port,
      'http.response.status_code': 200,
      'modelgateway.target': 'config',
      'modelgateway.config': 'house',
    });
  });

  it('has times that lie in each other, on the wall clock', async () => {
    stage.at(0).answer(later(50, chat()));
    const fromMs = Date.now();
    const { server, attempts } = await tell(CHAT, HI);
    const untilMs = Date.now();
    const [attempt] = attempts;
    if (attempt === undefined) throw new Error('there is no attempt');
    const order = [fromMs - 2, server.startMs, attempt.startMs, attempt.endMs, server.endMs, untilMs + 2];
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(attempt.endMs - attempt.startMs).toBeGreaterThan(45);
  });

  it.each([
    ['/v1/completions', 'text_completion', { model: 'm', prompt: 'x' }, json(200, openAiCompletion()), 12],
    ['/v1/embeddings', 'embeddings', { model: 'm', input: 'x' }, json(200, openAiEmbedding()), undefined],
    ['/v1/messages', 'chat', HI_MESSAGE, chat(), 12],
  ] as const)('%s has the operation name %s', async (path, operation, body, reply, outputTokens) => {
    stage.at(0).answer(reply);
    const { status, server, attempts } = await tell(path, body);
    expect(status).toBe(200);
    expect(server.name).toBe(`POST ${path}`);
    expect(attempts[0]?.attributes).toMatchObject({ 'gen_ai.operation.name': operation });
    expect(attempts[0]?.attributes['gen_ai.usage.output_tokens'] || undefined).toBe(outputTokens);
  });

  it('has the usage of another dialect in the same attributes', async () => {
    stage.at(1).answer(message());
    const { attempts } = await tell(CHAT, HI, { 'x-gateway-config': 'claude' });
    expect(attempts[0]?.attributes).toMatchObject({
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
  });

  it('has the usage of a stream, although the caller did not ask for it', async () => {
    stage.at(0).answer(chatStream());
    const { attempts } = await tell(CHAT, { ...HI, stream: true });
    expect(attempts[0]?.attributes).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.usage.input_tokens': 9,
      'gen_ai.usage.output_tokens': 12,
      'gen_ai.response.model': 'gpt-test',
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
    });
  });
});

describe('a request with several attempts', () => {
  it('has a span for each target, usage on the last alone', async () => {
    stage.at(0).answer(problem(503));
    stage.at(1).answer(chat());
    const { server, attempts } = await tell(CHAT, HI, { 'x-gateway-config': 'spare' });
    expect(attempts.map(({ attributes }) => attributes['modelgateway.target'])).toEqual([
      'config.targets[0]',
      'config.targets[1]',
    ]);
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([server.spanId, server.spanId]);
    expect(attempts.map(({ status }) => status === FAILED)).toEqual([true, false]);
    expect(attempts[0]?.attributes).toMatchObject({
      'http.response.status_code': 503,
      'error.type': 'upstream_error',
    });
    expect(attempts[0]?.attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
    expect(attempts[1]).toMatchObject({ name: 'chat big', attributes: { 'gen_ai.usage.input_tokens': 9 } });
    expect(server.status).not.toBe(FAILED);
  });

  it('has a span for each retry, numbered, and each its own traceparent upstream', async () => {
    const retryAfter = { 'retry-after-ms': '1' };
    stage.at(0).answer([json(503, {}, retryAfter), json(503, {}, retryAfter), chat()]);
    const before = stage.at(0).calls.length;
    const { attempts } = await tell(CHAT, HI, { 'x-gateway-config': 'again' });
    expect(attempts.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual([undefined, 1, 2]);
    const parents = stage
      .at(0)
      .calls.slice(before)
      .map(({ headers }) => String(headers['traceparent']).split('-')[2]);
    expect(parents).toEqual(attempts.map(({ spanId }) => spanId));
  });
});

describe('a request that fails', () => {
  it.each([
    ['an upstream error', problem(500), {}, 500, 'upstream_error', FAILED],
    ['a refused credential', problem(401), {}, 502, 'upstream_auth', FAILED],
    ['a fault of the request', problem(400), {}, 400, 'upstream_error', 0],
    ['a broken connection', resetBeforeHeaders, {}, 502, 'upstream_unreachable', FAILED],
    ['a timeout', later(2_000, chat()), { 'x-gateway-config': 'hasty' }, 408, 'request_timeout', 0],
  ] as const)('%s: stands on both spans', async (_what, reply, headers, status, code, serverStatus) => {
    stage.at(0).answer(reply);
    const told = await tell(CHAT, HI, headers);
    expect(told.status).toBe(status);
    expect(told.server.attributes).toMatchObject({ 'http.response.status_code': status, 'error.type': code });
    expect(told.server.status).toBe(serverStatus);
    expect(told.attempts.at(-1)).toMatchObject({ status: FAILED, attributes: { 'error.type': code } });
  });

  it.each([
    ['a wrong key', { 'x-gateway-api-key': 'nobody' }, HI, 401, 'invalid_api_key'],
    ['an unknown config', { 'x-gateway-config': 'nothing' }, HI, 400, 'unknown_config'],
    ['a field out of bounds', {}, { ...HI, temperature: 9 }, 400, 'invalid_value'],
  ] as const)('%s: a server span alone', async (_what, headers, body, status, code) => {
    const { server, attempts } = await tell(CHAT, body, headers);
    expect(attempts).toEqual([]);
    expect(server.attributes).toMatchObject({ 'http.response.status_code': status, 'error.type': code });
  });

  it('a stream that breaks off is marked, with the usage that is known', async () => {
    stage.at(0).answer(pieces(openAiEvents().slice(0, 3), { ending: 'reset', gapMs: 5 }));
    const { server, attempts } = await tell(CHAT, { ...HI, stream: true });
    expect(server).toMatchObject({ status: FAILED, attributes: { 'modelgateway.stream_failed': true } });
    expect(server.attributes['error.type']).toBe('upstream_cut');
    expect(attempts).toMatchObject([{ status: FAILED }]);
  });

  it('a caller who leaves is 499', async () => {
    stage.at(0).answer(later(5_000, chat()));
    const before = stage.at(0).calls.length;
    const id = randomBytes(16).toString('hex');
    const leaving = new AbortController();
    const asked = stage.gateway.chat(HI, { 'x-gateway-trace-id': id }, leaving.signal).catch(() => 'left');
    await stage.at(0).called(before + 1);
    leaving.abort();
    expect(await asked).toBe('left');
    const { server, attempts } = await toldOf(id);
    expect(server.attributes['http.response.status_code']).toBe(499);
    expect(attempts).toHaveLength(1);
  });
});

describe('content', () => {
  it('of prompts, answers, headers and metadata is in no span', async () => {
    const secret = `canary-${randomBytes(8).toString('hex')}`;
    const body = {
      ...HI,
      messages: [{ role: 'user', content: secret }],
      user: secret,
      tools: [{ type: 'function', function: { name: secret, parameters: {} } }],
    };
    for (const reply of [
      chat({ text: secret }),
      problem(400, secret),
      problem(503, secret),
      chatStream({ text: secret }),
    ]) {
      stage.at(0).answer(reply);
      const metadata = JSON.stringify({ team: secret });
      await tell(CHAT, { ...body, stream: false }, { 'x-gateway-metadata': metadata, cookie: secret });
      await tell(CHAT, { ...body, stream: true }, { 'x-other': secret });
    }
    expect(stage.collector.text()).not.toContain(secret);
    expect(stage.collector.text()).not.toContain('upstream-key');
    expect(stage.collector.text()).not.toContain(stage.gateway.key);
  });
});

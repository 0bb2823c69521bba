/** The log: one line for each request, whatever became of it, and every field that it has. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { apiKey, config, defaultConfig } from '../fakes/objects.ts';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { chat, chatStream, json, after as later, pieces, problem } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

const CHECKOUT_KEY = 'key-of-the-checkout-service';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(2, ([first, second]) => {
    const [one, two] = [target(first as Upstream), target(second as Upstream)];
    const retry = { attempts: 2, on_status_codes: [503], use_retry_after_headers: true };
    return (
      apiKey('checkout', CHECKOUT_KEY, {}, 'shop') +
      defaultConfig('shop-chat', one, 'shop') +
      defaultConfig('house', one) +
      config('spare', { strategy: { mode: 'fallback' }, targets: [{ ...one, retry }, two] }) +
      config('hasty', { ...one, request_timeout: 50 })
    );
  });
});
afterAll(() => stage.close());

type Line = Readonly<Record<string, unknown>>;

/** The one line of a request that is told by its trace id. */
let asked = 0;
async function lineOf(
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  path = '/v1/chat/completions',
): Promise<{ line: Line; response: Response; text: string }> {
  asked += 1;
  const id = `line ${asked}`;
  const response = await stage.gateway.post(path, body, { 'x-gateway-trace-id': id, ...headers });
  const text = await response.text();
  return { line: await theLine(id), response, text };
}

async function theLine(traceId: string): Promise<Line> {
  const lines = (await stage.gateway.logs()).filter((line) => line['caller_trace_id'] === traceId);
  expect(lines, `lines of ${traceId}`).toHaveLength(1);
  return lines[0] ?? {};
}

describe('the line of a request', () => {
  it('has every field, and no other', async () => {
    stage.at(0).answer(later(30, chat({ model: 'gpt-answered' })));
    const { line, response } = await lineOf({ ...HI, model: 'gpt-asked' }, { 'x-gateway-api-key': CHECKOUT_KEY });
    expect(line).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'info',
      msg: 'request',
      method: 'POST',
      endpoint: 'chatComplete',
      path: '/v1/chat/completions',
      status: 200,
      caller: 'checkout',
      namespace: 'shop',
      config: 'shop-chat',
      model: 'gpt-asked',
      answered_model: 'gpt-answered',
      target: 'config',
      provider: 'openai',
      attempts: 1,
      retries: 0,
      upstream_status: 200,
      input_tokens: 9,
      output_tokens: 12,
      cost_unknown: true,
      duration_ms: expect.any(Number),
      first_byte_ms: expect.any(Number),
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      caller_trace_id: expect.stringMatching(/^line \d+$/),
      request_id: response.headers.get('x-request-id'),
      generation: 1,
    });
    expect(Number(line['duration_ms'])).toBeGreaterThan(25);
    expect(Number(line['first_byte_ms'])).toBeLessThanOrEqual(Number(line['duration_ms']));
    expect(Math.abs(Date.parse(String(line['time'])) - Date.now())).toBeLessThan(10_000);
  });

  it('of a stream says so, and has its usage', async () => {
    stage.at(0).answer(chatStream({}, { gapMs: 10 }));
    const { line } = await lineOf({ ...HI, stream: true });
    expect(line).toMatchObject({ stream: true, status: 200, input_tokens: 9, output_tokens: 12, model: 'm' });
    expect(Number(line['duration_ms'])).toBeGreaterThan(Number(line['first_byte_ms']));
    expect(line).not.toHaveProperty('stream_failed');
    expect(line).not.toHaveProperty('error');
  });

  it('says how often it was tried, and which target answered', async () => {
    stage.at(0).answer(json(503, {}, { 'retry-after-ms': '1' }));
    stage.at(1).answer(chat());
    const { line } = await lineOf(HI, { 'x-gateway-config': 'spare' });
    expect(line).toMatchObject({
      config: 'spare',
      target: 'config.targets[1]',
      attempts: 4,
      retries: 2,
      status: 200,
      upstream_status: 200,
    });
  });

  it.each([
    ['/v1/messages', HI_MESSAGE, chat()],
    ['/v1/completions', { model: 'm', prompt: 'x' }, chat()],
    ['/v1/embeddings', { model: 'm', input: 'x' }, chat()],
  ] as const)('names its path: %s', async (path, body, reply) => {
    stage.at(0).answer(reply);
    expect((await lineOf(body, {}, path)).line).toMatchObject({ path, status: 200, provider: 'openai', model: 'm' });
  });

  it('of a config in the header says inline, and nothing of its text', async () => {
    const { line } = await lineOf(HI, {
      'x-gateway-config': '{"provider":"simulator","override_params":{"model":"x"}}',
    });
    expect(line).toMatchObject({ config: 'inline', provider: 'simulator', target: 'config' });
  });
});

describe('a request that fails', () => {
  it.each([
    ['without a key', HI, { 'x-gateway-api-key': '' }, 401, 'invalid_api_key', {}],
    ['with JSON that is cut', '{"model":', {}, 400, 'invalid_json', { caller: 'test', namespace: 'default' }],
    ['with a field out of bounds', { ...HI, top_p: 2 }, {}, 400, 'invalid_value', { caller: 'test', model: 'm' }],
    ['with an unknown config', HI, { 'x-gateway-config': 'no' }, 400, 'unknown_config', { caller: 'test' }],
    ['with a broken config', HI, { 'x-gateway-config': '{"a":1}' }, 400, 'invalid_config', { caller: 'test' }],
    ['with broken metadata', HI, { 'x-gateway-metadata': 'x' }, 400, 'invalid_value', { caller: 'test' }],
    ['of no JSON type', HI, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type', { caller: 'test' }],
  ] as const)(
    '%s: one line with its code, and what is known by then',
    async (_what, body, headers, status, error, known) => {
      const { line } = await lineOf(body, headers);
      expect(line).toMatchObject({ level: 'info', status, error, attempts: 0, ...known });
      for (const absent of ['target', 'provider', 'input_tokens', 'upstream_status'])
        expect(line).not.toHaveProperty(absent);
      if (error === 'invalid_api_key') expect(line).not.toHaveProperty('caller');
    },
  );

  it.each([
    ['a server error', problem(500), {}, 500, 'upstream_error', 'warn', 500],
    ['a fault of the request', problem(422), {}, 422, 'upstream_error', 'info', 422],
    ['a limit', problem(429), {}, 429, 'upstream_rate_limited', 'info', 429],
    ['a refused credential', problem(401), {}, 502, 'upstream_auth', 'warn', 401],
    ['a timeout', later(3_000, chat()), { 'x-gateway-config': 'hasty' }, 408, 'request_timeout', 'info', undefined],
    ['garbage', json(200, []), {}, 502, 'upstream_invalid', 'warn', 200],
  ] as const)(
    'by %s: our code, our status, and the upstream’s',
    async (_what, reply, headers, status, error, level, upstream) => {
      stage.at(0).answer(reply);
      const { line } = await lineOf(HI, headers);
      expect(line).toMatchObject({ status, error, level, attempts: 1, provider: 'openai' });
      expect(line['upstream_status']).toBe(upstream);
    },
  );

  it('in the middle of its stream: status 200, the code, and that it failed', async () => {
    stage.at(0).answer(pieces(openAiEvents().slice(0, 3), { ending: 'reset', gapMs: 5 }));
    const { line } = await lineOf({ ...HI, stream: true });
    expect(line).toMatchObject({
      level: 'warn',
      status: 200,
      stream: true,
      stream_failed: true,
      error: 'upstream_cut',
    });
  });

  it.each([false, true])('because its caller left is 499 (stream: %s)', async (stream) => {
    stage.at(0).answer(stream ? chatStream({ text: 'a b c d e f g h' }, { gapMs: 200 }) : later(5_000, chat()));
    const before = stage.at(0).calls.length;
    const leaving = new AbortController();
    const id = `left ${stream}`;
    const answered = stage.gateway.chat({ ...HI, stream }, { 'x-gateway-trace-id': id }, leaving.signal);
    await stage.at(0).called(before + 1);
    if (stream) await answered;
    leaving.abort();
    await answered.then((response) => response.text()).catch(() => 'left');
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
    expect(await theLine(id)).toMatchObject({ status: 499, caller: 'test', attempts: 1 });
  });
});

describe('the log', () => {
  it('has one line for each of many requests at once, each with its own answer', async () => {
    stage.at(0).answer((call) => chat({ model: `answered-${JSON.parse(call.body).model}` }));
    const before = (await stage.gateway.logs()).length;
    const responses = await Promise.all(
      Array.from({ length: 120 }, (_, index) => stage.gateway.chat({ ...HI, model: `m${index}` })),
    );
    await Promise.all(responses.map((response) => response.text()));
    const lines = (await stage.gateway.logs()).slice(before);
    const ids = lines.map((line) => line['request_id']);
    expect(ids.toSorted()).toEqual(responses.map((response) => response.headers.get('x-request-id')).toSorted());
    for (const line of lines) expect(line['answered_model']).toBe(`answered-${line['model']}`);
  });

  it('keeps one line a line, whatever a caller writes', async () => {
    const hostile = 'a"b\\c\u2028d\u0085e\u001b[31mf';
    const { line } = await lineOf({ ...HI, model: hostile.replace('\u001b', '') });
    expect(line['model']).toBe(hostile.replace('\u001b', ''));
    const { line: long } = await lineOf({ ...HI, model: 'x'.repeat(100_000) });
    expect(String(long['model']).length).toBeLessThan(1_000);
  });

  it('of level warn or silent leaves lines out', async () => {
    const count = async (logLevel: 'warn' | 'silent') => {
      const quiet = await startStage(
        0,
        () => defaultConfig('house', { provider: 'simulator' }),
        () => ({ logLevel }),
      );
      for (const model of ['echo', 'status-500']) await (await quiet.gateway.chat({ ...HI, model })).text();
      const lines = await quiet.gateway.logs();
      await quiet.close();
      return lines.map((line) => line['status']);
    };
    expect(await count('warn')).toEqual([500]);
    expect(await count('silent')).toEqual([]);
  });
});

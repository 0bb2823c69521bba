/** The built-in provider through the gateway: what its model names do, and what the gateway makes of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf, HI, type Stage, startStage } from '../conformance/stage.ts';
import { config, defaultConfig, object } from '../fakes/objects.ts';
import { chatTextOf, readSse } from '../fakes/sse.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(0, () =>
    [
      defaultConfig('sim', { provider: 'simulator' }),
      config('hasty', { provider: 'simulator', request_timeout: 80 }),
      config('patient', {
        strategy: { mode: 'single', stream_idle_timeout: 80 },
        targets: [{ provider: 'simulator' }],
      }),
      config('retrying', { provider: 'simulator', retry: { attempts: 2, use_retry_after_headers: true } }),
      config('falling', {
        strategy: { mode: 'fallback' },
        targets: [{ provider: 'simulator' }, { provider: 'simulator', override_params: { model: 'echo' } }],
      }),
      object('Integration', 'sim', { provider: 'simulator' }),
    ].join(''),
  );
});
afterAll(() => stage.close());

const ask = (model: string, name = 'sim', more: object = {}) =>
  stage.gateway.chat({ ...HI, model, ...more }, { 'x-gateway-config': name });
const stream = async (model: string, name = 'sim') => readSse(await ask(model, name, { stream: true }));

describe('the simulator', () => {
  it.each(['echo', 'anything-else', 'gpt-4o', ''])('%j answers with the last user message', async (model) => {
    const response = await ask(model === '' ? 'm' : model);
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
    });
  });

  it.each([400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 502, 503, 504, 529])(
    'status-%i answers so',
    async (status) => {
      const failure = await failureOf(await ask(`status-${status}`));
      // A target of ours that refuses us is no concern of the caller.
      expect(failure.status).toBe(status === 401 || status === 403 ? 502 : status);
    },
  );

  it.each([
    ['status-503', 200],
    ['status-429', 200],
    ['status-401', 200],
    ['context-too-small', 200],
    ['garbage', 200],
    ['cut-after-1', 200],
    ['status-400', 400],
    ['status-422', 422],
  ])('%s with a fallback ends with %i', async (model, status) => {
    expect((await ask(model, 'falling')).status).toBe(status);
  });

  it('rate-limited-<s> says when to come back', async () => {
    const response = await ask('rate-limited-7');
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await failureOf(response)).toMatchObject({ status: 429, type: expect.stringContaining('rate') });
  });

  it('context-too-small says so', async () => {
    expect(await failureOf(await ask('context-too-small'))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    });
  });

  it('flaky-<n> is answered by the retry', async () => {
    const response = await ask('flaky-1', 'retrying');
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-retry-attempt-count')).toBe('1');
  });

  it('delay-<ms> runs into a request_timeout, and not without', async () => {
    expect(await failureOf(await ask('delay-400', 'hasty'))).toMatchObject({ status: 408, code: 'request_timeout' });
    const startedMs = performance.now();
    expect((await ask('delay-120')).status).toBe(200);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(115);
  });

  it.each(['echo', 'long-20', 'slow-5'])('%s streams to its end', async (model) => {
    const { events } = await stream(model);
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(chatTextOf(events).length).toBeGreaterThan(0);
  });

  it.each([
    ['slow-30+cut-after-2', 'sim', 'upstream_cut'],
    ['stall-after-2', 'patient', 'upstream_stalled'],
  ])('%s ends a stream with an error event', async (model, name, code) => {
    const { events } = await stream(model, name);
    expect(events.map(({ data }) => data)).not.toContain('[DONE]');
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ error: { code } });
  });

  it.each(['cut-after-1', 'garbage'])('%s is no answer where it is asked for a whole one', async (model) => {
    expect((await failureOf(await ask(model))).status).toBe(502);
  });

  it('tool-call calls the first tool, whole and streamed', async () => {
    const tools = [
      {
        type: 'function',
        function: { name: 'look_up', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
      },
    ];
    const whole = await (await ask('tool-call', 'sim', { tools })).json();
    expect(whole).toMatchObject({
      choices: [{ finish_reason: 'tool_calls', message: { tool_calls: [{ function: { name: 'look_up' } }] } }],
    });
    const { events } = await readSse(await ask('tool-call', 'sim', { tools, stream: true }));
    expect(JSON.stringify(events)).toContain('look_up');
    expect(events.at(-1)?.data).toBe('[DONE]');
  });

  it('says the same twice', async () => {
    const strip = async (response: Response) => {
      const { id: _, created: __, ...rest } = (await response.json()) as Record<string, unknown>;
      return rest;
    };
    for (const model of ['echo', 'long-30'])
      expect(await strip(await ask(model))).toEqual(await strip(await ask(model)));
  });

  it.each([
    ['/v1/completions', { model: 'echo', prompt: 'Once' }, { object: 'text_completion', choices: [{ text: 'Once' }] }],
    ['/v1/embeddings', { model: 'echo', input: ['a', 'b'] }, { object: 'list', data: [{ index: 0 }, { index: 1 }] }],
    [
      '/v1/messages',
      { model: 'echo', max_tokens: 50, messages: HI.messages },
      { type: 'message', content: [{ type: 'text', text: 'Hi' }] },
    ],
  ])('answers %s', async (path, body, answer) => {
    const response = await stage.gateway.post(path, body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject(answer);
  });

  it.each([
    [{ 'x-gateway-provider': 'simulator' }],
    [{ 'x-gateway-provider': '@sim' }],
    [{ 'x-gateway-virtual-key': 'sim' }],
    [{ 'x-gateway-config': '{"provider":"simulator"}' }],
    [{ 'x-gateway-config': '{"virtual_key":"sim"}' }],
  ])('is reached by %j', async (headers) => {
    const response = await stage.gateway.chat(HI, headers as unknown as Record<string, string>);
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hi' } }] });
    expect(response.headers.get('x-gateway-provider')).toBe('simulator');
  });
});

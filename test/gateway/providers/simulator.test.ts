import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maxOutputTokens } from '#gateway/money/model-facts.ts';
import { behaviourOf, SIMULATOR_MODELS } from '#gateway/providers/simulator/models.ts';
import { simulator } from '#gateway/providers/simulator/provider.ts';
import { type Simulator, startSimulator } from '#gateway/providers/simulator/server.ts';
import { rawExchange, rawPost } from '../../fakes/raw.ts';
import { chatTextOf, readSse } from '../../fakes/sse.ts';

let running: Simulator;
let openai: OpenAI;

beforeAll(async () => {
  running = await startSimulator();
  openai = new OpenAI({ baseURL: `${running.origin}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => running.close());

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['C', 'F'] } },
    },
  },
} as const;
const TIME = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
} as const;

function post(body: object, path = '/v1/chat/completions', signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  return fetch(running.origin + path, signal === undefined ? init : { ...init, signal });
}

interface Call {
  function: { name: string; arguments: string };
}

interface Choice {
  index: number;
  finish_reason: string;
  message: { content: string | null; tool_calls?: [Call, ...Call[]] };
}

interface Answer {
  id: string;
  choices: [Choice, ...Choice[]];
  usage: { completion_tokens: number };
  error?: { code: string | null };
}

async function jsonOf(response: Response | Promise<Response>): Promise<Answer> {
  return (await (await response).json()) as Answer;
}

function say(model: string, content = 'one two three', rest: object = {}) {
  return { model, messages: [{ role: 'user', content }], ...rest };
}

async function streamOf(model: string, rest: object = {}) {
  return readSse(await post(say(model, 'one two three', { stream: true, ...rest })));
}

describe('chat', () => {
  it.each(['echo', 'gpt-4o', 'anything/else', 'status-', 'delay-x', 'status-200', 'status-999'])(
    '%s repeats the last user message',
    async (model) => {
      const answer = await openai.chat.completions.create({
        model,
        messages: [
          { role: 'user', content: 'first' },
          { role: 'assistant', content: 'so?' },
          { role: 'user', content: 'second' },
        ],
      });
      expect(answer.choices[0]).toMatchObject({
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'second' },
      });
      expect(answer.model).toBe(model);
      expect(answer.usage).toEqual({ prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 });
    },
  );

  it('is a function of the request', async () => {
    const ask = async (content: string) => jsonOf(post(say('echo', content)));
    expect(await ask('a')).toEqual(await ask('a'));
    expect((await ask('a')).id).not.toBe((await ask('b')).id);
  });

  it('reads content parts, and a tool result after a call', async () => {
    const parts = [
      { type: 'text', text: 'Hi ' },
      { type: 'image_url', image_url: { url: 'data:,' } },
      { type: 'text', text: 'there' },
    ];
    const spoken = await jsonOf(post({ model: 'echo', messages: [{ role: 'user', content: parts }] }));
    expect(spoken.choices[0].message.content).toBe('Hi there');
    const messages = [
      { role: 'user', content: 'get_weather please' },
      { role: 'assistant', tool_calls: [] },
      { role: 'tool', tool_call_id: 'c', content: 'sunny' },
    ];
    const after = await jsonOf(post({ model: 'echo', messages, tools: [WEATHER] }));
    expect(after.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'sunny' } });
  });

  it('honours n and max_tokens', async () => {
    const several = await jsonOf(post(say('echo', 'x', { n: 3 })));
    expect(several.choices.map((choice: { index: number }) => choice.index)).toEqual([0, 1, 2]);
    const short = await jsonOf(post(say('long-100', 'x', { max_tokens: 2 })));
    expect(short.choices[0].finish_reason).toBe('length');
    expect(short.usage.completion_tokens).toBe(2);
  });

  it('says no more than it says it would, where the request names no maximum', async () => {
    const endless = 'word '.repeat(2_000);
    const models = ['echo', 'anything', 'content-filter', 'long-1', 'long-9', 'long-1000', 'slow-0+long-77'];
    for (const model of models) {
      const { usage } = await jsonOf(post(say(model, endless)));
      const most = maxOutputTokens('simulator', model) ?? 0;
      expect(usage.completion_tokens, model).toBeLessThanOrEqual(most);
      expect(usage.completion_tokens, model).toBeGreaterThanOrEqual(most / 2);
    }
    const cut = await jsonOf(post(say('echo', endless)));
    expect(cut.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: endless.slice(0, 1_024) } });
    const whole = await jsonOf(post(say('echo', endless, { max_tokens: 5_000 })));
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: endless } });
  });

  it('long-<n> has n words; content-filter says so', async () => {
    const long = await jsonOf(post(say('long-100')));
    expect(long.choices[0].message.content?.split(' ')).toHaveLength(100);
    const filtered = await jsonOf(post(say('content-filter')));
    expect(filtered.choices[0].finish_reason).toBe('content_filter');
  });
});

describe('tools', () => {
  it.each([
    ['named in the message', say('echo', 'call get_weather now', { tools: [TIME, WEATHER] }), ['get_weather']],
    ['both named', say('echo', 'get_time and get_weather', { tools: [TIME, WEATHER] }), ['get_time', 'get_weather']],
    [
      'both named, one at a time',
      say('echo', 'get_time and get_weather', { tools: [TIME, WEATHER], parallel_tool_calls: false }),
      ['get_time'],
    ],
    ['required', say('echo', 'x', { tools: [TIME, WEATHER], tool_choice: 'required' }), ['get_time']],
    [
      'chosen',
      say('echo', 'x', {
        tools: [TIME, WEATHER],
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
      }),
      ['get_weather'],
    ],
    ['by model', say('tool-call', 'x', { tools: [TIME] }), ['get_time']],
    ['forbidden', say('tool-call', 'get_time', { tools: [TIME], tool_choice: 'none' }), []],
    ['not named', say('echo', 'hello', { tools: [TIME] }), []],
    ['none given', say('tool-call', 'hello'), []],
  ])('%s', async (_, body, names) => {
    const answer = await jsonOf(post(body));
    const { message, finish_reason } = answer.choices[0];
    const calls = message.tool_calls ?? [];
    expect(calls.map((call) => call.function.name)).toEqual(names);
    expect(finish_reason).toBe(names.length > 0 ? 'tool_calls' : 'stop');
    expect(message.content === null).toBe(names.length > 0);
  });

  it('arguments fit the schema, in a stream too', async () => {
    const body = say('tool-call', 'get_weather get_time', { tools: [WEATHER, TIME] });
    const whole = await jsonOf(post(body));
    const text = whole.choices[0].message.tool_calls?.[0].function.arguments;
    expect(JSON.parse(text ?? '')).toEqual({ city: 'text', days: 1, unit: 'C' });
    const stream = openai.chat.completions.stream({
      model: 'tool-call',
      messages: [{ role: 'user', content: 'get_weather get_time' }],
      tools: [WEATHER, TIME],
    });
    const streamed = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls ?? [];
    expect(streamed.map((call) => call.type === 'function' && call.function.name)).toEqual(['get_weather', 'get_time']);
    expect(streamed[0]).toMatchObject({ function: { arguments: text } });
  });
});

describe('streams', () => {
  it('say what the unary answer says, then [DONE]', async () => {
    const { events, complete, rest } = await streamOf('echo');
    expect(chatTextOf(events)).toBe('one two three');
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect({ complete, rest }).toEqual({ complete: true, rest: '' });
    const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
    expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.at(-1).choices[0].finish_reason).toBe('stop');
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk' && chunk.usage === undefined)).toBe(true);
  });

  it('tell usage when asked', async () => {
    const { events } = await streamOf('echo', { stream_options: { include_usage: true } });
    expect(JSON.parse(events.at(-2)?.data ?? '')).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 },
    });
  });

  it('slow-<ms> waits before each event', async () => {
    const { events } = await streamOf('slow-30');
    const gaps = events.slice(1).map((event, index) => event.atMs - (events[index]?.atMs ?? 0));
    expect(gaps.length).toBeGreaterThan(3);
    expect(gaps.every((gap) => gap > 15)).toBe(true);
  });

  it.each([0, 1, 3])('cut-after-%d breaks off after so many events', async (count) => {
    const { events, complete } = await streamOf(`cut-after-${count}`);
    expect(events).toHaveLength(count);
    expect(complete).toBe(false);
  });

  it('stall-after-<n> sends nothing more and keeps the connection', async () => {
    const body = JSON.stringify(say('stall-after-2', 'x', { stream: true }));
    const heard = await rawExchange(running.origin, rawPost('/v1/chat/completions', body), { waitMs: 200 });
    expect(heard.closed).toBe(false);
    expect(heard.text.match(/data: /g)).toHaveLength(2);
  });

  it.each([0, 2])('garbage after %d events', async (count) => {
    const { events, complete, rest } = await streamOf(count === 0 ? 'garbage' : `garbage-after-${count}`);
    expect(complete).toBe(true);
    expect(events.filter(({ data }) => data === '[DONE]')).toEqual([]);
    if (count === 0) expect(rest).toContain('<html>');
    else {
      expect(events).toHaveLength(count + 1);
      expect(() => JSON.parse(events.at(-1)?.data ?? '')).toThrow(SyntaxError);
    }
  });
});

describe('unary answers that go wrong', () => {
  it('garbage is 200 and no JSON', async () => {
    const response = await post(say('garbage'));
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/^<html>/);
  });

  it('cut-after-<n> breaks off in the middle', async () => {
    const response = await post(say('cut-after-1'));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('stall-after-<n> never ends', async () => {
    const response = await post(say('stall-after-1'), undefined, AbortSignal.timeout(200));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow(/aborted|timeout/i);
  });

  it.each([400, 401, 404, 429, 500, 503, 529])('status-%d', async (status) => {
    const response = await post(say(`status-${status}`));
    expect(response.status).toBe(status);
    expect(await jsonOf(response)).toMatchObject({ error: { message: expect.stringContaining(String(status)) } });
  });

  it('status-302 has a location that is not followed here', async () => {
    const init = { method: 'POST', body: JSON.stringify(say('status-302')), redirect: 'manual' } as const;
    const response = await fetch(`${running.origin}/v1/chat/completions`, init);
    expect([response.status, response.headers.get('location')]).toEqual([302, '/v1/elsewhere']);
  });

  it('rate-limited-<s> says when to come back', async () => {
    const response = await post(say('rate-limited-7'));
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
    expect((await jsonOf(response)).error?.code).toBe('rate_limit_exceeded');
  });

  it('context-too-small is what the provider row calls so', async () => {
    const response = await post(say('context-too-small'));
    const problem = simulator.readProblem(await jsonOf(response));
    expect(response.status).toBe(400);
    expect(simulator.contextLengthWords).toContain(problem?.code);
  });

  it('flaky-<n> fails n times, then answers, over again', async () => {
    const statuses: number[] = [];
    for (let turn = 0; turn < 6; turn++) statuses.push((await post(say('flaky-2'))).status);
    expect(statuses).toEqual([503, 503, 200, 503, 503, 200]);
  });

  it('delay-<ms> waits; joined names do both', async () => {
    const before = performance.now();
    const response = await post(say('delay-120+status-418'));
    expect(performance.now() - before).toBeGreaterThan(110);
    expect(response.status).toBe(418);
  });
});

describe('text completions', () => {
  it('repeat the prompt, whole and streamed', async () => {
    const whole = await openai.completions.create({ model: 'echo', prompt: 'once upon' });
    expect(whole).toMatchObject({ object: 'text_completion', choices: [{ text: 'once upon', finish_reason: 'stop' }] });
    const stream = await openai.completions.create({ model: 'echo', prompt: 'once upon', stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    expect(text).toBe('once upon');
  });
});

describe('embeddings', () => {
  const cosine = (a: number[], b: number[]) => a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  const embed = async (input: string | string[] | number[], rest: object = {}) =>
    (await openai.embeddings.create({ model: 'embed', input, ...rest })).data.map((row) => row.embedding);

  it('are unit vectors, the same in both encodings', async () => {
    const [packed = []] = await embed('hello world');
    const [plain = []] = await embed('hello world', { encoding_format: 'float' });
    expect(plain).toHaveLength(64);
    expect(cosine(plain, plain)).toBeCloseTo(1, 5);
    for (const [index, value] of plain.entries()) expect(packed[index]).toBeCloseTo(value, 6);
  });

  it('are near for texts that share words', async () => {
    const texts = ['what is the capital of france', 'What is the capital of France?', 'bake bread with rye flour'];
    const [a = [], b = [], c = []] = await embed(texts);
    expect(cosine(a, b)).toBeCloseTo(1, 5);
    expect(cosine(a, c)).toBeLessThan(0.5);
  });

  it('take dimensions and tokens', async () => {
    const [vector = []] = await embed([1, 2, 3], { dimensions: 100, encoding_format: 'float' });
    expect(vector).toHaveLength(100);
    expect(vector.every(Number.isFinite)).toBe(true);
  });

  it('misbehave too', async () => {
    expect((await post({ model: 'status-500', input: 'x' }, '/v1/embeddings')).status).toBe(500);
  });
});

describe('the server', () => {
  it('lists its models', async () => {
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(SIMULATOR_MODELS.map(({ name }) => name));
  });

  it.each([
    ['POST', '/v1/nothing', '{}', 404],
    ['GET', '/v1/chat/completions', undefined, 405],
    ['POST', '/v1/chat/completions', '{"model":', 400],
    ['POST', '/v1/chat/completions', '[]', 400],
    ['POST', '/v1/chat/completions', '{}', 200],
  ])('%s %s with %s: %d', async (method, path, body, status) => {
    const response = await fetch(running.origin + path, body === undefined ? { method } : { method, body });
    expect(response.status).toBe(status);
  });

  it('close breaks what is running', async () => {
    const own = await startSimulator();
    const init = { method: 'POST', body: JSON.stringify(say('stall-after-1', 'x', { stream: true })) };
    const response = await fetch(`${own.origin}/v1/chat/completions`, init);
    await own.close();
    expect((await readSse(response)).complete).toBe(false);
    await expect(fetch(own.origin)).rejects.toThrow();
  });
});

describe('the table', () => {
  it.each(SIMULATOR_MODELS.map(({ name }) => [name]))('%s is known, and only when it is spelt right', (name) => {
    const spelt = name.replace(/<.*>$/, '503');
    if (name !== 'echo') expect(behaviourOf(spelt)).not.toEqual({});
    expect(behaviourOf(`x${spelt}`)).toEqual({});
    expect(behaviourOf(name.endsWith('>') ? name.replace(/-<.*>$/, '') : `${name}-5`)).toEqual({});
  });
});

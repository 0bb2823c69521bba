/** Anthropic's answers and errors, as a caller of OpenAI's chat reads them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf, HI } from '../conformance/stage.ts';
import { type AnthropicAnswer, anthropicError, anthropicEvent, anthropicMessage } from '../fakes/anthropic-wire.ts';
import { json, message, pieces, type Reply, text } from '../fakes/replies.ts';
import { readSse } from '../fakes/sse.ts';
import { type Json, startWires, type Wires } from './wires.ts';

let wires: Wires;
beforeAll(async () => {
  wires = await startWires();
});
afterAll(() => wires.close());

const ask = (reply: Reply, name = 'anthropic', more: object = {}) =>
  wires.ask('/v1/chat/completions', name, { ...HI, ...more }, reply);

interface Completion extends Json {
  readonly choices: readonly { readonly message: Json; readonly finish_reason: string; readonly index: number }[];
  readonly usage: Json;
}

async function completion(answer: AnthropicAnswer | object, name?: string): Promise<Completion> {
  const wire = 'content' in answer ? answer : anthropicMessage(answer as AnthropicAnswer);
  const response = await ask(json(200, wire), name);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  return (await response.json()) as Completion;
}

/** Tokens of prompts, of answers, and those of the prompts that were read from a cache, or written to it. */
function counted(): Promise<number[]> {
  const types = ['input', 'output', 'cached', 'cache_creation'];
  return Promise.all(types.map((type) => wires.gateway.metric('modelgateway_tokens_total', { type })));
}

describe('a message is a completion', () => {
  it('of the shape that OpenAI documents', async () => {
    const nowS = Date.now() / 1000;
    const whole = await completion({ text: 'Good day.', id: 'msg_7', model: 'claude-x' });
    expect(whole).toEqual({
      id: 'msg_7',
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'claude-x',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Good day.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 9,
        completion_tokens: 12,
        total_tokens: 21,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 0 },
      },
    });
    expect(Math.abs(Number(whole['created']) - nowS)).toBeLessThan(60);
    expect(Number.isInteger(whole['created'])).toBe(true);
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['a_later_one', 'stop'],
  ])('with stop reason %s as finish reason %s', async (stopReason, finish) => {
    expect((await completion({ text: 'x', stopReason })).choices[0]?.finish_reason).toBe(finish);
  });

  it.each([
    [
      'text in several blocks',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      { content: 'ab' },
    ],
    ['no blocks at all', [], { content: '' }],
    ['letters beyond ASCII', [{ type: 'text', text: 'Grüße 😀' }], { content: 'Grüße 😀' }],
    ['blocks of kinds that are yet to come', [{ type: 'hologram' }, { type: 'text', text: 'a' }], { content: 'a' }],
    [
      'a call alone',
      [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: [1] } }],
      {
        content: null,
        tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":[1]}' } }],
      },
    ],
    [
      'words and parallel calls',
      [
        { type: 'text', text: 'See:' },
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
        { type: 'tool_use', id: 'b', name: 'g', input: { x: 'é' } },
      ],
      {
        content: 'See:',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{"x":"é"}' } },
        ],
      },
    ],
  ])('with %s', async (_what, content, said) => {
    const { choices } = await completion({ ...anthropicMessage(), content });
    expect(choices).toHaveLength(1);
    expect(choices[0]?.message).toEqual({ role: 'assistant', refusal: null, ...said });
  });

  it.each([
    [{ input_tokens: 10, output_tokens: 5 }, 10, 5, 0, 0],
    [{ input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 }, 15, 5, 3, 2],
    [{ input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 100 }, 100, 0, 100, 0],
    [
      { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: null, cache_creation_input_tokens: null },
      1,
      1,
      0,
      0,
    ],
  ])('with usage %j', async (usage, prompt, output, reads, writes) => {
    const before = await counted();
    const whole = await completion({ ...anthropicMessage(), usage });
    expect(whole.usage).toEqual({
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: reads, cache_creation_tokens: writes },
    });
    const after = await counted();
    expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([prompt, output, reads, writes]);
  });

  it('shows thinking only with strict compliance off', async () => {
    const blocks = [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'redacted_thinking', data: 'd' },
      { type: 'text', text: 'x' },
      { type: 'tool_use', id: 'a', name: 'f', input: {} },
    ];
    const wire = { ...anthropicMessage(), content: blocks };
    expect(JSON.stringify(await completion(wire))).not.toMatch(/Hm\.|content_blocks|signature/);
    const open = await completion(wire, 'anthropic-open');
    expect(open.choices[0]?.message['content_blocks']).toEqual(blocks);
    const byHeader = await ask(json(200, wire), 'anthropic', {});
    expect(await byHeader.text()).not.toContain('content_blocks');
  });

  it('shows thinking to who asks for it in a header', async () => {
    wires.at(0).answer(message({ thinking: 'Hm.', text: 'x' }));
    const headers = { 'x-gateway-config': 'anthropic', 'x-gateway-strict-vendor-compliance': 'false' };
    expect(await (await wires.gateway.chat(HI, headers)).text()).toContain('Hm.');
  });
});

describe('an answer that is no message is a 502:', () => {
  const good = anthropicMessage();
  it.each([
    ['no id', { ...good, id: undefined }],
    ['no model', { ...good, model: 7 }],
    ['no content', { ...good, content: undefined }],
    ['content that is a text', { ...good, content: 'Hi' }],
    ['content with null in it', { ...good, content: [null] }],
    ['a text block without text', { ...good, content: [{ type: 'text' }] }],
    ['a call without a name', { ...good, content: [{ type: 'tool_use', id: 'a' }] }],
    ['no usage', { ...good, usage: undefined }],
    ['an error with status 200', anthropicError()],
    ['a completion of OpenAI’s', { object: 'chat.completion', choices: [] }],
  ])('%s', async (_what, body) => {
    expect(await failureOf(await ask(json(200, body)))).toMatchObject({
      status: 502,
      type: 'upstream_error',
      code: 'upstream_invalid',
    });
  });
});

describe('an error', () => {
  it.each([
    [400, 'invalid_request_error', 400, 'invalid_request_error'],
    [402, 'billing_error', 402, 'insufficient_quota'],
    [404, 'not_found_error', 404, 'model_not_found'],
    [413, 'request_too_large', 413, 'request_too_large'],
    [429, 'rate_limit_error', 429, 'rate_limit_exceeded'],
    [500, 'api_error', 500, 'api_error'],
    [504, 'timeout_error', 504, 'timeout'],
    [529, 'overloaded_error', 529, 'overloaded'],
    [401, 'authentication_error', 502, 'upstream_auth'],
    [403, 'permission_error', 502, 'upstream_auth'],
  ])('%i %s is told as %i %s', async (status, type, told, code) => {
    const response = await ask(json(status, anthropicError(type, 'It was said.'), { 'retry-after': '3' }));
    const body = (await response.json()) as { error: Json; provider: string };
    expect(response.status).toBe(told);
    expect(body).toMatchObject({ provider: 'anthropic', error: { code, param: null } });
    if (told === status) expect(body.error).toMatchObject({ type, message: 'It was said.' });
    else expect(JSON.stringify(body)).not.toContain('It was said.');
    expect(body).not.toHaveProperty('type');
  });

  it.each([
    'prompt is too long: 210000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 1 + 2 > 3, decrease input length or `max_tokens` and try again',
  ])('"%s" has the code that clients look for', async (words) => {
    const failure = await failureOf(await ask(json(400, anthropicError('invalid_request_error', words))));
    expect(failure).toMatchObject({ status: 400, code: 'context_length_exceeded', message: words });
  });

  it.each([
    ['HTML', text(503, '<html>Busy</html>', { 'content-type': 'text/html' })],
    ['nothing', text(503, '')],
    ['JSON of another shape', json(503, { oops: true })],
    ['broken JSON', text(503, '{"type":"err', { 'content-type': 'application/json' })],
  ])('in the shape of %s is told in our words', async (_what, reply) => {
    const failure = await failureOf(await ask(reply));
    expect(failure).toMatchObject({ status: 503, code: 'upstream_error' });
    expect(failure.message).toContain('anthropic');
    expect(failure.message).not.toMatch(/Busy|oops/);
  });

  it.each([
    ['overloaded_error', 'upstream_error'],
    ['rate_limit_error', 'upstream_rate_limited'],
    ['api_error', 'upstream_error'],
  ])('in the middle of a stream, %s, is its last event', async (type, code) => {
    const start = { type: 'message_start', message: { ...anthropicMessage(), content: [] } };
    const events = [anthropicEvent(start), `event: error\ndata: ${JSON.stringify(anthropicError(type, 'Later.'))}\n\n`];
    const response = await ask(pieces(events, { gapMs: 20 }), 'anthropic', { stream: true });
    const { events: read } = await readSse(response);
    expect(JSON.parse(read.at(-1)?.data ?? '')).toMatchObject({ error: { code, message: 'Later.' } });
    expect(read.map(({ data }) => data)).not.toContain('[DONE]');
  });

  it('before the first event of a stream is an ordinary failure', async () => {
    const reply = pieces([`event: error\ndata: ${JSON.stringify(anthropicError('overloaded_error', 'Busy.'))}\n\n`]);
    const response = await ask(reply, 'anthropic', { stream: true });
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(await failureOf(response)).toMatchObject({ message: 'Busy.' });
  });
});

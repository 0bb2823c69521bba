/** Answers of OpenAI's wire and of Anthropic's, as a caller of Anthropic's messages reads them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI_MESSAGE } from '../conformance/stage.ts';
import { anthropicMessage } from '../fakes/anthropic-wire.ts';
import { type OpenAiAnswer, openAiChat } from '../fakes/openai-wire.ts';
import { json } from '../fakes/replies.ts';
import { type Json, startWires, type Wires } from './wires.ts';

let wires: Wires;
beforeAll(async () => {
  wires = await startWires();
});
afterAll(() => wires.close());

interface Message extends Json {
  readonly content: readonly Json[];
  readonly usage: Json;
}

async function heard(body: object, status = 200): Promise<Response> {
  const response = await wires.ask('/v1/messages', 'openai', HI_MESSAGE, json(200, body));
  expect(response.status).toBe(status);
  return response;
}

const messageFor = async (answer: OpenAiAnswer): Promise<Message> =>
  (await (await heard(openAiChat(answer))).json()) as Message;

/** A completion whose one choice is `choice`. */
const completion = (choice: object) => ({ ...openAiChat(), choices: [choice] });

describe('a completion is a message', () => {
  it('of the shape that Anthropic documents', async () => {
    expect(await messageFor({ text: 'Good day.', id: 'chatcmpl-7', model: 'gpt-x' })).toMatchObject({
      id: 'chatcmpl-7',
      type: 'message',
      role: 'assistant',
      model: 'gpt-x',
      content: [{ type: 'text', text: 'Good day.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    });
  });

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool_calls', 'tool_use'],
    ['function_call', 'tool_use'],
    ['content_filter', 'refusal'],
    ['a_later_one', 'end_turn'],
  ])('with finish reason %s as stop reason %s', async (finishReason, stop) => {
    expect((await messageFor({ text: 'x', finishReason }))['stop_reason']).toBe(stop);
  });

  it.each([
    ['a text', { content: 'Grüße 😀' }, [{ type: 'text', text: 'Grüße 😀' }]],
    ['nothing', { content: null }, []],
    ['an empty text', { content: '' }, []],
    ['a refusal', { content: null, refusal: 'No.' }, [{ type: 'text', text: 'No.' }]],
    [
      'reasoning in another maker’s word',
      { content: 'x', reasoning_content: 'Hm.' },
      [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'reasoning in yet another',
      { content: 'x', reasoning: 'Hm.' },
      [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'words and calls',
      {
        content: 'See:',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":[1,"é"]}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '' } },
        ],
      },
      [
        { type: 'text', text: 'See:' },
        { type: 'tool_use', id: 'a', name: 'f', input: { x: [1, 'é'] } },
        { type: 'tool_use', id: 'b', name: 'g', input: {} },
      ],
    ],
  ])('with %s', async (_what, said, content) => {
    const choice = { index: 0, message: { role: 'assistant', ...said }, finish_reason: 'stop' };
    const message = (await (await heard(completion(choice))).json()) as Message;
    expect(message.content).toHaveLength(content.length);
    expect(message.content).toMatchObject(content);
  });

  it('says that tools are called where the server says "stop"', async () => {
    const toolCalls = [{ id: 'a', name: 'f', arguments: '{}' }];
    expect((await messageFor({ toolCalls, finishReason: 'stop' }))['stop_reason']).toBe('tool_use');
  });

  it('gives the first choice of several', async () => {
    const [first] = openAiChat({ text: 'one' }).choices;
    const [second] = openAiChat({ text: 'two' }).choices;
    const two = { ...openAiChat(), choices: [first, { ...second, index: 1 }] };
    expect(((await (await heard(two)).json()) as Message).content).toMatchObject([{ text: 'one' }]);
  });

  it.each([
    [{ prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 }, 20, 0, 2],
    [
      { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22, prompt_tokens_details: { cached_tokens: 8 } },
      12,
      8,
      2,
    ],
    // A server that counts cached tokens apart: never below zero.
    [{ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, prompt_tokens_details: { cached_tokens: 8 } }, 0, 8, 2],
  ])('with usage %j', async (usage, input, reads, output) => {
    expect((await messageFor({ usage })).usage).toMatchObject({
      input_tokens: input,
      cache_read_input_tokens: reads,
      output_tokens: output,
    });
  });

  it('without usage has none to tell', async () => {
    const { usage: _, ...without } = openAiChat();
    expect(((await (await heard(without)).json()) as Message).usage).toMatchObject({
      input_tokens: 0,
      output_tokens: 0,
    });
  });
});

describe('an answer that is no completion is a 502 in Anthropic’s envelope:', () => {
  const call = (called: object) => completion({ index: 0, message: { role: 'assistant', tool_calls: [called] } });
  it.each([
    ['no choices', { id: 'x' }],
    ['empty choices', { choices: [] }],
    ['a choice without a message', completion({ index: 0 })],
    ['a call without a name', call({ id: 'a', function: { arguments: '{}' } })],
    ['arguments that break off', call({ id: 'a', function: { name: 'f', arguments: '{"a":' } })],
    ['arguments that are a list', call({ id: 'a', function: { name: 'f', arguments: '[1]' } })],
    ['an error with status 200', { error: { message: 'x' } }],
  ])('%s', async (_what, body) => {
    const response = await heard(body, 502);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'api_error', code: 'upstream_invalid', message: expect.any(String) },
    });
  });
});

describe('to an upstream of the same dialect', () => {
  it.each([
    ['anthropic', { 'anthropic-beta': 'a-2025-01-01,b-2025-02-02' }],
    ['anthropic', { 'anthropic-version': '2023-01-01' }],
    ['anthropic', { 'anthropic-version': '2026-10-21' }],
  ])('%s goes %j', async (wire, headers) => {
    const reply = json(200, anthropicMessage());
    await (await wires.ask('/v1/messages', wire, HI_MESSAGE, reply, headers)).text();
    expect(wires.sentHeaders()).toMatchObject(headers);
  });

  it('goes the version that the gateway was made for, unless the caller names one', async () => {
    await (await wires.ask('/v1/messages', 'anthropic', HI_MESSAGE, json(200, anthropicMessage()))).text();
    expect(wires.sentHeaders()).toMatchObject({ 'anthropic-version': '2023-06-01', 'x-api-key': 'upstream-key' });
    expect(wires.sentHeaders()).not.toHaveProperty('anthropic-beta');
  });

  it('goes that version from a caller of OpenAI’s dialect, who knows of none', async () => {
    // Later versions refuse the sampling parameters that the translation sends.
    const chatted = { model: 'm', temperature: 0.5, messages: HI_MESSAGE.messages };
    const headers = { 'anthropic-version': '2026-10-21' };
    const reply = json(200, anthropicMessage());
    await (await wires.ask('/v1/chat/completions', 'anthropic', chatted, reply, headers)).text();
    expect(wires.sentHeaders()).toMatchObject({ 'anthropic-version': '2023-06-01' });
  });

  it('goes a version once, at the count of tokens too', async () => {
    const headers = { 'anthropic-version': '2023-01-01', 'anthropic-beta': 'a-2025-01-01' };
    const body = { model: 'm', messages: HI_MESSAGE.messages };
    const reply = json(200, { input_tokens: 3 });
    const response = await wires.ask('/v1/messages/count_tokens', 'anthropic', body, reply, headers);
    expect(await response.json()).toEqual({ input_tokens: 3 });
    const names = wires
      .at(0)
      .calls.at(-1)
      ?.rawHeaders.filter((name) => name.toLowerCase() === 'anthropic-version');
    expect(names).toHaveLength(1);
    expect(wires.sentHeaders()).toMatchObject(headers);
  });

  it('comes what its headers say', async () => {
    const headers = {
      'request-id': 'req_upstream',
      'anthropic-ratelimit-requests-remaining': '7',
      'anthropic-organization-id': 'org',
    };
    const reply = json(200, anthropicMessage(), headers);
    const response = await wires.ask('/v1/messages', 'anthropic', HI_MESSAGE, reply);
    for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value);
  });
});

/** The official OpenAI SDK, to an upstream of its own wire format and to one of Anthropic's. */
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calls, HI, PIXEL, type Said, saying, TEXT } from './said.ts';
import { type Stage, startStage, WIRES, type Wire } from './stage.ts';

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Sent = Partial<Anthropic.MessageCreateParams> & { readonly temperature?: number; readonly top_p?: number };

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;
const WEATHER_TOOL = {
  name: 'get_weather',
  description: 'Weather of a city',
  input_schema: { ...WEATHER.function.parameters, required: ['city'] },
};

interface Talk {
  readonly what: string;
  readonly ask: Omit<Params, 'model' | 'stream'>;
  /** Part of what an upstream of Anthropic's wire must be asked. */
  readonly translated: Sent;
  readonly said: Said;
  readonly heard: Partial<OpenAI.ChatCompletionMessage>;
  readonly finish: string;
}

const HEARD_TEXT = { role: 'assistant', content: 'Good day.' } as const;

const ONE_CALL = calls(['Rome']);
const TWO_CALLS = calls(['Rome', 'Oslo']);

function heardCall(id: string, city: string) {
  return { id, type: 'function' as const, function: { name: 'get_weather', arguments: JSON.stringify({ city }) } };
}

const TALKS: readonly Talk[] = [
  {
    what: 'a question',
    ask: { messages: [HI] },
    translated: { messages: [HI], max_tokens: 4096 },
    said: TEXT,
    heard: HEARD_TEXT,
    finish: 'stop',
  },
  {
    what: 'a system prompt and sampling',
    ask: {
      messages: [{ role: 'system', content: 'Be brief.' }, HI],
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 64,
      stop: ['END'],
      user: 'u-1',
    },
    translated: {
      system: 'Be brief.',
      messages: [HI],
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 64,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
    },
    said: TEXT,
    heard: HEARD_TEXT,
    finish: 'stop',
  },
  {
    what: 'an image as data',
    ask: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          ],
        },
      ],
    },
    translated: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          ],
        },
      ],
    },
    said: TEXT,
    heard: HEARD_TEXT,
    finish: 'stop',
  },
  {
    what: 'an image by address',
    ask: {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://images.example/cat.png' } }] },
      ],
    },
    translated: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'url', url: 'https://images.example/cat.png' } }],
        },
      ],
    },
    said: TEXT,
    heard: HEARD_TEXT,
    finish: 'stop',
  },
  {
    what: 'a tool that is called',
    ask: { messages: [HI], tools: [WEATHER], tool_choice: 'auto' },
    translated: { tools: [WEATHER_TOOL], tool_choice: { type: 'auto' } },
    said: ONE_CALL,
    heard: { role: 'assistant', content: null, tool_calls: [heardCall('call_1', 'Rome')] },
    finish: 'tool_calls',
  },
  {
    what: 'a tool that must be called, alone',
    ask: {
      messages: [HI],
      tools: [WEATHER],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
    },
    translated: { tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true } },
    said: ONE_CALL,
    heard: { tool_calls: [heardCall('call_1', 'Rome')] },
    finish: 'tool_calls',
  },
  {
    what: 'two calls side by side',
    ask: { messages: [HI], tools: [WEATHER], tool_choice: 'required' },
    translated: { tool_choice: { type: 'any' } },
    said: TWO_CALLS,
    heard: { tool_calls: [heardCall('call_1', 'Rome'), heardCall('call_2', 'Oslo')] },
    finish: 'tool_calls',
  },
  {
    what: 'the results of two calls',
    ask: {
      messages: [
        HI,
        { role: 'assistant', tool_calls: [heardCall('call_1', 'Rome'), heardCall('call_2', 'Oslo')] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        { role: 'tool', tool_call_id: 'call_2', content: 'snow' },
      ],
      tools: [WEATHER],
    },
    translated: {
      messages: [
        HI,
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } },
            { type: 'tool_use', id: 'call_2', name: 'get_weather', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'sunny' },
            { type: 'tool_result', tool_use_id: 'call_2', content: 'snow' },
          ],
        },
      ],
    },
    said: TEXT,
    heard: HEARD_TEXT,
    finish: 'stop',
  },
  {
    what: 'an answer that was cut by its length',
    ask: { messages: [HI], max_completion_tokens: 2 },
    translated: { max_tokens: 2 },
    said: {
      openai: { text: 'Good day.', finishReason: 'length' },
      anthropic: { text: 'Good day.', stopReason: 'max_tokens' },
    },
    heard: HEARD_TEXT,
    finish: 'length',
  },
  {
    what: 'a refusal',
    ask: { messages: [HI] },
    translated: {},
    said: {
      openai: { text: 'Good day.', finishReason: 'content_filter' },
      anthropic: { text: 'Good day.', stopReason: 'refusal' },
    },
    heard: HEARD_TEXT,
    finish: 'content_filter',
  },
];

const CASES = WIRES.flatMap((wire) => TALKS.map((talk) => [talk.what, wire, talk] as const));

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

function script(wire: Wire, said: Said, stream: boolean): void {
  stage.upstream[wire].answer(saying(wire, said, stream));
}

function assertAsked(wire: Wire, talk: Talk, stream: boolean): void {
  const sent = stage.upstream[wire].json(-1);
  const path = stage.upstream[wire].calls.at(-1)?.path;
  if (wire === 'openai') {
    expect(path).toBe('/v1/chat/completions');
    expect(sent).toMatchObject({ model: 'm-1', ...talk.ask });
  } else {
    expect(path).toBe('/v1/messages');
    expect(sent).toMatchObject({ model: 'm-1', ...talk.translated });
  }
  expect(sent['stream'] ?? false).toBe(stream);
}

describe('openai SDK', () => {
  it.each(CASES)('%s, whole, over the wire of %s', async (_what, wire, talk) => {
    script(wire, talk.said, false);
    const answer = await stage.openai(wire).chat.completions.create({ model: 'm-1', ...talk.ask });
    assertAsked(wire, talk, false);
    expect(answer).toMatchObject({ object: 'chat.completion', choices: [{ index: 0, finish_reason: talk.finish }] });
    expect(answer.choices[0]?.message).toMatchObject(talk.heard);
    expect(answer.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 });
    expect(answer.model).toBe(wire === 'openai' ? 'gpt-test' : 'claude-test');
  });

  it.each(CASES)('%s, streamed, over the wire of %s', async (_what, wire, talk) => {
    script(wire, talk.said, true);
    const stream = stage
      .openai(wire)
      .chat.completions.stream({ model: 'm-1', ...talk.ask, stream_options: { include_usage: true } });
    const answer = await stream.finalChatCompletion();
    assertAsked(wire, talk, true);
    expect(answer.choices[0]?.finish_reason).toBe(talk.finish);
    const { content, tool_calls: calls } = talk.heard;
    if (content) expect(answer.choices[0]?.message.content).toBe(content);
    if (calls !== undefined) expect(answer.choices[0]?.message.tool_calls).toMatchObject(calls);
    expect(answer.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 });
  });

  it.each(WIRES)('usage is kept from who did not ask for it, and counted nevertheless: %s', async (wire) => {
    script(wire, TEXT, true);
    const before = await stage.gateway.metric('modelgateway_tokens_total');
    const chunks = [];
    const stream = await stage
      .openai(wire)
      .chat.completions.create({ model: 'm-1', messages: [{ role: 'user', content: 'Hi' }], stream: true });
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.every((chunk) => chunk.usage == null && chunk.choices.length === 1)).toBe(true);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Good day.');
    expect((await stage.gateway.metric('modelgateway_tokens_total')) - before).toBe(21);
  });
});

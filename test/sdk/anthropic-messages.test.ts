/** The official Anthropic SDK, to an upstream of its own wire format and to one of OpenAI's. */
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat, json, message, messageStream } from '../fakes/replies.ts';
import { calls, HI, PIXEL, type Said, saying, TEXT } from './said.ts';
import { type Stage, startStage, WIRES, type Wire } from './stage.ts';

/** Older fields besides those that the SDK still has types for. */
type Params = Omit<Anthropic.MessageCreateParamsNonStreaming, 'model' | 'max_tokens' | 'stream'> & {
  readonly temperature?: number;
  readonly top_p?: number;
};
type Sent = Partial<OpenAI.ChatCompletionCreateParams>;

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } } as const;
const WEATHER = { name: 'get_weather', description: 'Weather', input_schema: { ...SCHEMA } } satisfies Anthropic.Tool;
const FUNCTION = { type: 'function', function: { name: 'get_weather', description: 'Weather', parameters: SCHEMA } };

interface Talk {
  readonly what: string;
  readonly ask: Params;
  /** Part of what an upstream of OpenAI's wire must be asked. */
  readonly translated: Sent;
  readonly said: Said;
  readonly heard: readonly object[];
  readonly stop: string;
}

const HEARD_TEXT = [{ type: 'text', text: 'Good day.' }];
const USE = { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } } as const;
const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
} as const;
const ONE_CALL = calls(['Rome']);
const TEXT_AND_CALLS = calls(['Rome', 'Oslo'], 'Let me see. ');

const TALKS: readonly Talk[] = [
  {
    what: 'a question',
    ask: { messages: [HI] },
    translated: { messages: [HI], max_completion_tokens: 100 },
    said: TEXT,
    heard: HEARD_TEXT,
    stop: 'end_turn',
  },
  {
    what: 'a system prompt and sampling',
    ask: {
      system: 'Be brief.',
      messages: [HI],
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
    },
    translated: {
      messages: [{ role: 'system', content: 'Be brief.' }, HI],
      temperature: 0.5,
      top_p: 0.9,
      stop: ['END'],
      user: 'u-1',
    },
    said: TEXT,
    heard: HEARD_TEXT,
    stop: 'end_turn',
  },
  {
    what: 'images',
    ask: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
            { type: 'image', source: { type: 'url', url: 'https://images.example/cat.png' } },
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
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
            { type: 'image_url', image_url: { url: 'https://images.example/cat.png' } },
          ],
        },
      ],
    },
    said: TEXT,
    heard: HEARD_TEXT,
    stop: 'end_turn',
  },
  {
    what: 'a tool that is called',
    ask: { messages: [HI], tools: [WEATHER] },
    translated: { tools: [FUNCTION as OpenAI.ChatCompletionTool] },
    said: ONE_CALL,
    heard: [USE],
    stop: 'tool_use',
  },
  {
    what: 'a tool that must be called, alone',
    ask: {
      messages: [HI],
      tools: [WEATHER],
      tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true },
    },
    translated: {
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
    },
    said: ONE_CALL,
    heard: [USE],
    stop: 'tool_use',
  },
  {
    what: 'words and two calls side by side',
    ask: { messages: [HI], tools: [WEATHER], tool_choice: { type: 'any' } },
    translated: { tool_choice: 'required' },
    said: TEXT_AND_CALLS,
    heard: [{ type: 'text', text: 'Let me see. ' }, USE, { ...USE, id: 'call_2', input: { city: 'Oslo' } }],
    stop: 'tool_use',
  },
  {
    what: 'the result of a call',
    ask: {
      messages: [
        HI,
        { role: 'assistant', content: [{ type: 'text', text: 'Let me see.' }, USE] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'sunny' },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
      tools: [WEATHER],
    },
    translated: {
      messages: [
        HI,
        { role: 'assistant', content: 'Let me see.', tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        { role: 'user', content: 'And?' },
      ],
    },
    said: TEXT,
    heard: HEARD_TEXT,
    stop: 'end_turn',
  },
  {
    what: 'an answer that was cut by its length',
    ask: { messages: [HI] },
    translated: {},
    said: {
      openai: { text: 'Good day.', finishReason: 'length' },
      anthropic: { text: 'Good day.', stopReason: 'max_tokens' },
    },
    heard: HEARD_TEXT,
    stop: 'max_tokens',
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
    stop: 'refusal',
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
  expect(stage.upstream[wire].calls.at(-1)?.path).toBe(wire === 'openai' ? '/v1/chat/completions' : '/v1/messages');
  expect(sent).toMatchObject({ model: 'm-1', ...(wire === 'openai' ? talk.translated : talk.ask) });
  expect(sent['stream'] ?? false).toBe(stream);
}

describe('anthropic SDK', () => {
  it.each(CASES)('%s, whole, over the wire of %s', async (_what, wire, talk) => {
    script(wire, talk.said, false);
    const answer = await stage.anthropic(wire).messages.create({ model: 'm-1', max_tokens: 100, ...talk.ask });
    assertAsked(wire, talk, false);
    expect(answer).toMatchObject({ type: 'message', role: 'assistant', stop_reason: talk.stop, content: talk.heard });
    expect(answer.content).toHaveLength(talk.heard.length);
    expect(answer.usage).toMatchObject({ input_tokens: 9, output_tokens: 12 });
    expect(answer.model).toBe(wire === 'openai' ? 'gpt-test' : 'claude-test');
  });

  it.each(CASES)('%s, streamed, over the wire of %s', async (_what, wire, talk) => {
    script(wire, talk.said, true);
    const stream = stage.anthropic(wire).messages.stream({ model: 'm-1', max_tokens: 100, ...talk.ask });
    const answer = await stream.finalMessage();
    assertAsked(wire, talk, true);
    expect(answer).toMatchObject({ role: 'assistant', stop_reason: talk.stop, content: talk.heard });
    expect(answer.content).toHaveLength(talk.heard.length);
    expect(answer.usage).toMatchObject({ output_tokens: 12 });
  });

  it.each([
    [
      'openai',
      { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22, prompt_tokens_details: { cached_tokens: 8 } },
    ],
    ['anthropic', { input_tokens: 12, output_tokens: 2, cache_read_input_tokens: 8 }],
  ] as const)('cached tokens over the wire of %s', async (wire, usage) => {
    if (wire === 'openai') stage.upstream.openai.answer(chat({ usage }));
    else stage.upstream.anthropic.answer(message({ usage }));
    const answer = await stage.anthropic(wire).messages.create({ model: 'm-1', max_tokens: 100, messages: [HI] });
    expect(answer.usage).toMatchObject({ input_tokens: 12, output_tokens: 2, cache_read_input_tokens: 8 });
  });

  it('thinking is shown to who speaks the dialect, whole and streamed', async () => {
    const thoughts = { thinking: 'Hm.', text: 'Good day.' };
    const ask = { model: 'm-1', max_tokens: 2000, messages: [HI], thinking: { type: 'enabled', budget_tokens: 1024 } };
    stage.upstream.anthropic.answer(message(thoughts));
    const whole = await stage.anthropic('anthropic').messages.create(ask as Anthropic.MessageCreateParamsNonStreaming);
    expect(whole.content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'text', text: 'Good day.' },
    ]);
    stage.upstream.anthropic.answer(messageStream(thoughts));
    const stream = stage.anthropic('anthropic').messages.stream(ask as Anthropic.MessageStreamParams);
    expect((await stream.finalMessage()).content).toMatchObject(whole.content);
    expect(stage.upstream.anthropic.json(-1)).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 1024 } });
  });

  it('counts tokens where the provider can, and says so where it cannot', async () => {
    stage.upstream.anthropic.answer(json(200, { input_tokens: 14 }));
    const ask = { model: 'm-1', messages: [HI] };
    expect((await stage.anthropic('anthropic').messages.countTokens(ask)).input_tokens).toBe(14);
    expect(stage.upstream.anthropic.calls.at(-1)?.path).toBe('/v1/messages/count_tokens');
    const before = stage.upstream.openai.calls.length;
    await expect(stage.anthropic('openai').messages.countTokens(ask)).rejects.toMatchObject({
      status: 501,
      type: 'not_found_error',
      errorCode: 'unsupported_operation',
    });
    expect(stage.upstream.openai.calls.length).toBe(before);
  });

  it('passes beta headers and the version that it is made for to a provider of its dialect', async () => {
    stage.upstream.anthropic.answer(message());
    const named: (string | null)[] = [];
    const client = stage.anthropic('anthropic', { 'anthropic-beta': 'files-api-2025-04-14' }).withOptions({
      fetch: (url, init) => {
        named.push(new Headers(init?.headers).get('anthropic-version'));
        return fetch(url, init);
      },
    });
    await client.messages.create({ model: 'm-1', max_tokens: 100, messages: [HI] });
    expect(named).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/)]);
    expect(stage.upstream.anthropic.calls.at(-1)?.headers).toMatchObject({
      'anthropic-beta': 'files-api-2025-04-14',
      'anthropic-version': named[0],
      'x-api-key': 'upstream-key',
    });
  });
});

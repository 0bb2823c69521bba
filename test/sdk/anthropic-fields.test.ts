/** What the official Anthropic SDK can ask for beyond a plain conversation, as an upstream of either wire is asked it. */
import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat, message } from '../fakes/replies.ts';
import { HI, PIXEL, saying } from './said.ts';
import { type Stage, startStage, WIRES } from './stage.ts';

type Ask = Partial<Anthropic.MessageCreateParamsNonStreaming> & {
  readonly temperature?: number;
  readonly top_k?: number;
};
/** Part of what an upstream of OpenAI's wire must be asked; undefined: not at all. */
type Sent = {
  readonly [Field in keyof OpenAI.ChatCompletionCreateParams]?: OpenAI.ChatCompletionCreateParams[Field] | undefined;
} & { readonly [Field in 'thinking' | 'top_k' | 'output_config' | 'cache_control']?: undefined };

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } } as const;
const TOOL = { name: 'get_weather', input_schema: { ...SCHEMA } } satisfies Anthropic.Tool;
const FUNCTION = { name: 'get_weather', parameters: SCHEMA };
const USE = {
  type: 'tool_use',
  id: 'call_1',
  name: 'get_weather',
  input: { city: 'Rome' },
} satisfies Anthropic.ToolUseBlockParam;
const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
} satisfies OpenAI.ChatCompletionMessageToolCall;
const CACHED = { cache_control: { type: 'ephemeral' } } as const;
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } } as const;
const IMAGE_PART = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } } as const;
const PDF = 'JVBERi0xLjQK';

const FIELDS: readonly (readonly [what: string, ask: Ask, sent: Sent])[] = [
  [
    'a system prompt in parts, one of them cached',
    {
      system: [
        { type: 'text', text: 'One.', ...CACHED },
        { type: 'text', text: 'Two.' },
      ],
    },
    {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'One.' },
            { type: 'text', text: 'Two.' },
          ],
        },
        HI,
      ],
    },
  ],
  [
    'words, an image and documents',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look:', ...CACHED },
            IMAGE,
            {
              type: 'document',
              title: 'a.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            },
            { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'Rain.' } },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look:' },
            IMAGE_PART,
            { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
            { type: 'text', text: 'Notes\n\nRain.' },
          ],
        },
      ],
    },
  ],
  [
    'the results of two calls, one of them a failure, and a question after them',
    {
      messages: [
        HI,
        { role: 'assistant', content: [USE, { ...USE, id: 'call_2', input: { city: 'Oslo' } }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'sunny' }], ...CACHED },
            { type: 'tool_result', tool_use_id: 'call_2', content: 'no such city', is_error: true },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
      tools: [TOOL],
    },
    {
      messages: [
        HI,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            CALL,
            { ...CALL, id: 'call_2', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        { role: 'tool', tool_call_id: 'call_2', content: 'no such city' },
        { role: 'user', content: 'And?' },
      ],
    },
  ],
  [
    'a result that is an image',
    {
      messages: [
        HI,
        { role: 'assistant', content: [USE] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [IMAGE] }] },
      ],
      tools: [TOOL],
    },
    {
      messages: [
        HI,
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: 'The result follows in the next message.' },
        { role: 'user', content: [{ type: 'text', text: 'Result of the tool call call_1:' }, IMAGE_PART] },
      ],
    },
  ],
  [
    'a call whose thinking is given back',
    {
      messages: [
        HI,
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }, USE] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'sunny' }] },
      ],
      tools: [TOOL],
    },
    {
      messages: [
        HI,
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      ],
    },
  ],
  [
    'the beginning of its answer',
    { messages: [HI, { role: 'assistant', content: 'Good' }] },
    { messages: [HI, { role: 'assistant', content: 'Good' }] },
  ],
  [
    'a tool that is cached and strict',
    { tools: [{ ...TOOL, strict: true, ...CACHED }] },
    { tools: [{ type: 'function', function: { ...FUNCTION, strict: true } }] },
  ],
  ['tools as it likes', { tools: [TOOL], tool_choice: { type: 'auto' } }, { tool_choice: 'auto' }],
  ['tools that may not be used', { tools: [TOOL], tool_choice: { type: 'none' } }, { tool_choice: 'none' }],
  [
    'calls one at a time',
    { tools: [TOOL], tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    { tool_choice: 'required', parallel_tool_calls: false },
  ],
  [
    'thinking and a cache, which the other wire has no word for',
    { max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 1024 }, top_k: 5, ...CACHED },
    { max_completion_tokens: 4096, thinking: undefined, top_k: undefined, cache_control: undefined },
  ],
  ['an effort', { output_config: { effort: 'high' } }, { reasoning_effort: 'high', output_config: undefined }],
  [
    'an answer by a schema',
    { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    { response_format: { type: 'json_schema', json_schema: { name: 'output', schema: SCHEMA, strict: true } } },
  ],
  ['no words to stop at', { stop_sequences: [] }, { stop: undefined }],
  ['a tier of service', { service_tier: 'standard_only' }, { service_tier: 'default' }],
  ['one token', { max_tokens: 1 }, { max_completion_tokens: 1 }],
  ['no temperature at all', { temperature: 0 }, { temperature: 0 }],
];

const UNSAYABLE: readonly (readonly [what: string, ask: Ask, named: string])[] = [
  ['a tool of the provider', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
  [
    'an image that the provider keeps',
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }] }] },
    'messages[0].content[0].source.type',
  ],
];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

function bodyOf(ask: Ask): Anthropic.MessageCreateParamsNonStreaming {
  return { model: 'm-1', max_tokens: 100, messages: [HI], ...ask };
}

const SAYABLE: readonly (readonly [what: string, ask: Ask])[] = [...FIELDS, ...UNSAYABLE].map(([what, ask]) => [
  what,
  ask,
]);

describe('the anthropic SDK asks for', () => {
  it.each(FIELDS)('%s, in the words of the other wire', async (_what, ask, sent) => {
    stage.upstream.openai.answer(chat());
    await stage.anthropic('openai').messages.create(bodyOf(ask));
    const body = stage.upstream.openai.json(-1);
    for (const [field, value] of Object.entries(sent)) expect(body[field], field).toEqual(value);
    expect(stage.upstream.openai.calls.at(-1)?.body).not.toMatch(/cache_control|content_blocks|is_error/);
  });

  it.each(SAYABLE)('%s, in its own words where the upstream has them too', async (_what, ask) => {
    stage.upstream.anthropic.answer(message());
    await stage.anthropic('anthropic').messages.create(bodyOf(ask));
    expect(stage.upstream.anthropic.json(-1)).toEqual(bodyOf(ask));
  });

  it.each(UNSAYABLE)('%s, and is told where that cannot be said', async (_what, ask, named) => {
    const before = stage.upstream.openai.calls.length;
    const failure = await stage
      .anthropic('openai')
      .messages.create(bodyOf(ask))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Anthropic.BadRequestError);
    expect(failure).toMatchObject({ type: 'invalid_request_error', errorCode: 'invalid_value' });
    expect((failure as Error).message).toContain(named);
    expect(stage.upstream.openai.calls.length).toBe(before);
  });

  it('nothing but a warm cache', async () => {
    const warm = { ...bodyOf({ system: [{ type: 'text', text: 'Long.', ...CACHED }] }), max_tokens: 0 };
    stage.upstream.anthropic.answer(message({ text: '', stopReason: 'max_tokens' }));
    const answer = await stage.anthropic('anthropic').messages.create(warm);
    expect(answer.stop_reason).toBe('max_tokens');
    expect(stage.upstream.anthropic.json(-1)).toEqual(warm);
  });

  it.each(WIRES)('an answer that it parses by a schema: %s', async (wire) => {
    const text = '{"city":"Rome"}';
    stage.upstream[wire].answer(saying(wire, { openai: { text }, anthropic: { text } }, false));
    const format = {
      type: 'json_schema',
      schema: { ...SCHEMA },
      parse: (content: string): object => JSON.parse(content),
    };
    const answer = await stage
      .anthropic(wire)
      .messages.parse({ ...bodyOf({}), output_config: { format: format as never } });
    expect(answer.parsed_output).toEqual({ city: 'Rome' });
  });
});

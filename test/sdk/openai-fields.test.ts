/** What the official OpenAI SDK can ask for beyond a plain conversation, as an upstream of either wire is asked it. */
import type Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat, message } from '../fakes/replies.ts';
import { calls, HI, PIXEL, saying, TEXT } from './said.ts';
import { type Stage, startStage, WIRES } from './stage.ts';

type Ask = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
/** Part of what an upstream of Anthropic's wire must be asked; undefined: not at all. */
type Sent = {
  readonly [Field in keyof Anthropic.MessageCreateParams]?: Anthropic.MessageCreateParams[Field] | undefined;
};

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const TOOL = {
  type: 'function',
  function: { name: 'get_weather', parameters: SCHEMA },
} satisfies OpenAI.ChatCompletionTool;
const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
} satisfies OpenAI.ChatCompletionMessageToolCall;
const USE = {
  type: 'tool_use',
  id: 'call_1',
  name: 'get_weather',
  input: { city: 'Rome' },
} satisfies Anthropic.ToolUseBlockParam;
const PDF = 'JVBERi0xLjQK';

const FIELDS: readonly (readonly [what: string, ask: Ask, sent: Sent])[] = [
  ['a developer message', { messages: [{ role: 'developer', content: 'Be brief.' }, HI] }, { system: 'Be brief.' }],
  [
    'system messages in several places and parts',
    {
      messages: [
        { role: 'system', content: 'One.' },
        HI,
        { role: 'system', content: [{ type: 'text', text: 'Two.' }] },
      ],
    },
    {
      system: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ],
      messages: [HI],
    },
  ],
  [
    'several turns',
    { messages: [HI, { role: 'assistant', content: 'Yes?' }, { role: 'user', content: 'Why?' }] },
    { messages: [HI, { role: 'assistant', content: 'Yes?' }, { role: 'user', content: 'Why?' }] },
  ],
  [
    'two questions in a row',
    { messages: [HI, { role: 'user', content: 'And?' }] },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
    },
  ],
  [
    'words, two images and a file',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${PIXEL}`, detail: 'low' } },
            { type: 'text', text: 'or' },
            { type: 'image_url', image_url: { url: 'https://images.example/cat.png' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: PIXEL } },
            { type: 'text', text: 'or' },
            { type: 'image', source: { type: 'url', url: 'https://images.example/cat.png' } },
            { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: PDF } },
          ],
        },
      ],
    },
  ],
  [
    'a call with words before it, and a result in parts',
    {
      messages: [
        HI,
        { role: 'assistant', content: 'Let me see.', tool_calls: [CALL] },
        {
          role: 'tool',
          tool_call_id: 'call_1',
          content: [
            { type: 'text', text: 'sunny' },
            { type: 'text', text: '30 C' },
          ],
        },
        { role: 'user', content: 'And?' },
      ],
      tools: [TOOL],
    },
    {
      messages: [
        HI,
        { role: 'assistant', content: [{ type: 'text', text: 'Let me see.' }, USE] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'call_1',
              content: [
                { type: 'text', text: 'sunny' },
                { type: 'text', text: '30 C' },
              ],
            },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
    },
  ],
  [
    'a function of the old kind',
    {
      functions: [{ name: 'get_weather', parameters: SCHEMA }],
      function_call: { name: 'get_weather' },
    },
    {
      tools: [{ name: 'get_weather', input_schema: { ...SCHEMA, type: 'object' } }],
      tool_choice: { type: 'tool', name: 'get_weather' },
    },
  ],
  ['tools that may not be used', { tools: [TOOL], tool_choice: 'none' }, { tool_choice: { type: 'none' } }],
  [
    'calls one at a time',
    { tools: [TOOL], parallel_tool_calls: false },
    { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  ],
  [
    'a strict tool',
    { tools: [{ type: 'function', function: { ...TOOL.function, strict: true } }] },
    { tools: [{ name: 'get_weather', strict: true, input_schema: { ...SCHEMA, type: 'object' } }] },
  ],
  ['one word to stop at', { stop: 'END' }, { stop_sequences: ['END'] }],
  ['no words to stop at', { stop: [] }, { stop_sequences: undefined }],
  ['the newer of both limits', { max_tokens: 10, max_completion_tokens: 20 }, { max_tokens: 20 }],
  ['a known model’s own limit', { model: 'claude-sonnet-4-5' }, { max_tokens: 64_000 }],
  [
    'reasoning from a model with a budget',
    { model: 'claude-sonnet-4-5', reasoning_effort: 'low' },
    { thinking: { type: 'enabled', budget_tokens: 2_048 } },
  ],
  [
    'reasoning from a model that adapts',
    { model: 'claude-opus-4-6', reasoning_effort: 'high' },
    { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
  ],
  [
    'an answer by a schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } } },
    { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  ],
  [
    'an answer in JSON',
    { messages: [{ role: 'system', content: 'Be brief.' }, HI], response_format: { type: 'json_object' } },
    {
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Answer with one valid JSON object and nothing else.' },
      ],
    },
  ],
  ['a tier of service', { service_tier: 'default' }, { service_tier: 'standard_only' }],
];

/** Not sayable on Anthropic's wire, and nothing is lost without it. */
const LEFT_OUT = {
  n: 1,
  seed: 7,
  logprobs: true,
  top_logprobs: 2,
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  logit_bias: { '50256': -100 },
  store: false,
  metadata: { job: 'a' },
  prediction: { type: 'content', content: 'Good' },
} satisfies Ask;

const UNSAYABLE: readonly (readonly [what: string, ask: Ask, named: string])[] = [
  ['two answers', { n: 2 }, 'n'],
  [
    'sound',
    {
      messages: [
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] },
      ],
    },
    'messages[0].content[0]',
  ],
  ['a spoken answer', { modalities: ['text', 'audio'], audio: { format: 'wav', voice: 'ash' } }, 'modalities'],
  [
    'arguments that are no object',
    {
      messages: [
        HI,
        { role: 'assistant', tool_calls: [{ ...CALL, function: { name: 'get_weather', arguments: '[1' } }] },
      ],
    },
    'messages[1].tool_calls[0].function.arguments',
  ],
  ['a tool that is no function', { tools: [{ type: 'custom', custom: { name: 'grammar' } }] }, 'tools[0].type'],
  [
    'an image that is no image',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'cat.png' } }] }] },
    'messages[0].content[0].image_url.url',
  ],
];

const SAYABLE: readonly (readonly [what: string, ask: Ask])[] = [
  ...[...FIELDS, ...UNSAYABLE].map(([what, ask]) => [what, ask] as const),
  ['all the rest', LEFT_OUT],
];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

function bodyOf(ask: Ask): OpenAI.ChatCompletionCreateParamsNonStreaming {
  return { model: 'm-1', messages: [HI], ...ask };
}

describe('the openai SDK asks for', () => {
  it.each(FIELDS)('%s, in the words of the other wire', async (_what, ask, sent) => {
    stage.upstream.anthropic.answer(message());
    await stage.openai('anthropic').chat.completions.create(bodyOf(ask));
    const body = stage.upstream.anthropic.json(-1);
    for (const [field, value] of Object.entries(sent)) expect(body[field], field).toEqual(value);
  });

  it.each(SAYABLE)('%s, in its own words where the upstream has them too', async (_what, ask) => {
    stage.upstream.openai.answer(chat());
    await stage.openai('openai').chat.completions.create(bodyOf(ask));
    expect(stage.upstream.openai.json(-1)).toEqual(bodyOf(ask));
  });

  it('what the other wire has no word for, and goes without', async () => {
    stage.upstream.anthropic.answer(message());
    await stage.openai('anthropic').chat.completions.create(bodyOf(LEFT_OUT));
    expect(stage.upstream.anthropic.json(-1)).toEqual({ model: 'm-1', max_tokens: 4096, messages: [HI] });
  });

  it.each(UNSAYABLE)('%s, and is told where that cannot be said', async (_what, ask, named) => {
    const before = stage.upstream.anthropic.calls.length;
    const failure = await stage
      .openai('anthropic')
      .chat.completions.create(bodyOf(ask))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failure).toMatchObject({ code: 'invalid_value', param: named, type: 'invalid_request_error' });
    expect((failure as Error).message).toContain(named);
    expect(stage.upstream.anthropic.calls.length).toBe(before);
  });

  it.each(WIRES)('an answer that it parses by a schema: %s', async (wire) => {
    const text = '{"city":"Rome"}';
    const said = { openai: { text }, anthropic: { text } };
    const format = { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } } as const;
    const parser = { ...format, $brand: 'auto-parseable-response-format', $parseRaw: JSON.parse };
    stage.upstream[wire].answer(saying(wire, said, false));
    const answer = await stage
      .openai(wire)
      .chat.completions.parse({ ...bodyOf({}), response_format: parser as typeof format });
    expect(answer.choices[0]?.message.parsed).toEqual({ city: 'Rome' });
  });

  it.each(WIRES)('a loop over tools that the SDK drives: %s', async (wire) => {
    const { upstream } = stage;
    upstream[wire].answer([saying(wire, calls(['Rome', 'Oslo']), false), saying(wire, TEXT, false)]);
    const asked: unknown[] = [];
    const run = stage.openai(wire).chat.completions.runTools({
      ...bodyOf({}),
      tools: [
        {
          type: 'function',
          function: {
            ...TOOL.function,
            description: 'Weather of a city',
            parse: (input: string): object => JSON.parse(input),
            function: (place: object) => {
              asked.push(place);
              return 'sunny';
            },
          },
        },
      ],
    });
    expect(await run.finalContent()).toBe('Good day.');
    expect(asked).toEqual([{ city: 'Rome' }, { city: 'Oslo' }]);
    expect(upstream[wire].calls.at(-1)?.body.match(/sunny/g)).toHaveLength(2);
  });
});

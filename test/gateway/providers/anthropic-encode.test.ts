import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages/messages';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import type { Json } from '#gateway/providers/provider.ts';
import { encode, failure, frozen, HI, MODEL, translation } from './anthropic-chat.ts';

describe('encode', () => {
  it('turns a whole request, typed by one SDK, into one of the other', () => {
    const chat = {
      model: MODEL,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is the weather in Oslo?' },
      ],
      max_completion_tokens: 500,
      temperature: 0.3,
      stop: ['END'],
      stream: true,
      stream_options: { include_usage: true },
      user: 'u-1',
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Weather of a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
          },
        },
      ],
      tool_choice: 'auto',
    } satisfies ChatCompletionCreateParams;
    const message = {
      model: MODEL,
      max_tokens: 500,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
      tools: [
        {
          name: 'weather',
          description: 'Weather of a city',
          input_schema: { type: 'object', properties: { city: { type: 'string' } } },
        },
      ],
      tool_choice: { type: 'auto' },
      temperature: 0.3,
      stop_sequences: ['END'],
      stream: true,
      metadata: { user_id: 'u-1' },
    } satisfies MessageCreateParams & { temperature: number };
    expect(translation().encode(frozen(chat))).toEqual(message);
  });

  it('sends nothing that was not asked for', () => {
    const body = encode({});
    expect(Object.keys(body).toSorted()).toEqual(['max_tokens', 'messages', 'model']);
  });

  it('leaves out what the provider does not know', () => {
    const unknown = {
      frequency_penalty: 1,
      presence_penalty: 1,
      logit_bias: { 1: 1 },
      logprobs: true,
      top_logprobs: 5,
      seed: 7,
      store: true,
      prediction: { type: 'content', content: 'x' },
      verbosity: 'low',
      stream_options: { include_usage: true },
      whatever: { a: 1 },
    };
    expect(encode(unknown)).toEqual(encode({}));
  });

  it('passes fields of the provider itself', () => {
    const own = {
      cache_control: { type: 'ephemeral' },
      container: 'c-1',
      context_management: { edits: [] },
      inference_geo: 'eu',
      mcp_servers: [],
      speed: 'fast',
    };
    expect(encode(own)).toMatchObject(own);
  });

  it('takes null for "not given", as OpenAI does', () => {
    const nulls: Json = {};
    const fields = [
      'n',
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'top_k',
      'stop',
      'tools',
      'user',
    ];
    fields.push(
      'tool_choice',
      'functions',
      'function_call',
      'reasoning_effort',
      'response_format',
      'service_tier',
      'stream',
    );
    for (const field of fields) nulls[field] = null;
    expect(encode(nulls)).toEqual(encode({}));
  });
});

describe('encode, field by field:', () => {
  const cases: readonly (readonly [what: string, chat: Json, message: Json])[] = [
    ['n of 1', { n: 1 }, {}],
    ['stop as a string', { stop: 'X' }, { stop_sequences: ['X'] }],
    ['stop as a list', { stop: ['X', 'Y'] }, { stop_sequences: ['X', 'Y'] }],
    ['an empty stop', { stop: [] }, {}],
    ['stream', { stream: true }, { stream: true }],
    ['no stream', { stream: false }, {}],
    ['temperature', { temperature: 0.5 }, { temperature: 0.5 }],
    ['temperature 0', { temperature: 0 }, { temperature: 0 }],
    ['temperature over 1', { temperature: 1.7 }, { temperature: 1 }],
    ['top_p', { top_p: 0.9 }, { top_p: 0.9 }],
    ['top_k', { top_k: 40 }, { top_k: 40 }],
    ['temperature before top_p', { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5 }],
    ['user', { user: 'u' }, { metadata: { user_id: 'u' } }],
    ['metadata.user_id', { metadata: { user_id: 'm', other: 'x' } }, { metadata: { user_id: 'm' } }],
    ['user before metadata', { user: 'u', metadata: { user_id: 'm' } }, { metadata: { user_id: 'u' } }],
    ['other metadata', { metadata: { team: 'x' } }, {}],
    ['service tier auto', { service_tier: 'auto' }, { service_tier: 'auto' }],
    ['service tier default', { service_tier: 'default' }, { service_tier: 'standard_only' }],
    ['a service tier of another maker', { service_tier: 'flex' }, {}],
    ['text format', { response_format: { type: 'text' } }, {}],
    [
      'a schema',
      {
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
      },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    ['output_config as given', { output_config: { effort: 'high' } }, { output_config: { effort: 'high' } }],
    ['max_tokens', { max_tokens: 5 }, { max_tokens: 5 }],
    ['max_completion_tokens', { max_completion_tokens: 6 }, { max_tokens: 6 }],
    ['max_completion_tokens before max_tokens', { max_tokens: 5, max_completion_tokens: 6 }, { max_tokens: 6 }],
  ];

  it.each(cases)('%s', (_what, chat, message) => {
    expect(encode(frozen({ max_tokens: 9, ...chat }))).toEqual({ ...encode({ max_tokens: 9 }), ...message });
  });
});

describe('JSON mode', () => {
  const sentence = 'Answer with one valid JSON object and nothing else.';
  const format = { response_format: { type: 'json_object' } };

  it('is said in the system prompt, because the provider has none', () => {
    expect(encode(format).system).toBe(sentence);
  });

  it('comes after what the caller says there', () => {
    const one = encode({ ...format, messages: [{ role: 'system', content: 'A' }, HI] });
    expect(one.system).toEqual([
      { type: 'text', text: 'A' },
      { type: 'text', text: sentence },
    ]);
    const two = encode({
      ...format,
      messages: [{ role: 'system', content: 'A' }, { role: 'developer', content: 'B' }, HI],
    });
    expect(two.system).toHaveLength(3);
  });
});

describe('max_tokens, when absent,', () => {
  const cases: readonly (readonly [model: string, maxTokens: number])[] = [
    ['claude-3-haiku-20240307', 4_096],
    ['claude-3-opus-latest', 4_096],
    ['claude-3-5-sonnet-20241022', 8_192],
    ['claude-3-5-haiku-latest', 8_192],
    ['claude-3-7-sonnet-20250219', 64_000],
    ['claude-opus-4-20250514', 32_000],
    ['claude-opus-4-1', 32_000],
    ['claude-sonnet-4-20250514', 64_000],
    ['claude-sonnet-4-5-20250929', 64_000],
    ['claude-haiku-4-5', 64_000],
    ['claude-opus-4-5', 64_000],
    ['claude-opus-4-6', 128_000],
    ['claude-sonnet-4-6', 128_000],
    ['claude-opus-4-8', 128_000],
    ['claude-opus-5-5', 128_000],
    ['claude-sonnet-5', 128_000],
    ['claude-haiku-5-5', 128_000],
    ['claude-fable-5-1', 128_000],
    ['claude-something-9', 4_096],
    ['llama-3', 4_096],
  ];

  it.each(cases)('of %s is %d', (model, maxTokens) => {
    expect(encode({ model }).max_tokens).toBe(maxTokens);
  });

  it('has room for the thinking of a model whose maximum is not known', () => {
    const thinking = { type: 'enabled', budget_tokens: 10_000 };
    expect(encode({ model: 'llama-3', thinking })).toMatchObject({ max_tokens: 14_096, thinking });
  });

  it('is the default without any model', () => {
    expect(encode({ model: undefined })).toEqual({ max_tokens: 4_096, messages: [HI] });
  });
});

describe('encode refuses, naming the field,', () => {
  const tool = { type: 'function', function: { name: 'f' } };
  const cases: readonly (readonly [param: string, chat: Json])[] = [
    ['n', { n: 2 }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['messages', { messages: 'Hi' }],
    ['messages', { messages: [] }],
    ['messages', { messages: [{ role: 'system', content: 'alone' }] }],
    ['messages[0]', { messages: ['Hi'] }],
    ['messages[1].role', { messages: [HI, { role: 'robot', content: 'x' }] }],
    ['messages[0].role', { messages: [{ content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].role', { messages: [{ role: 'toString', content: 'x' }] }],
    ['tools', { tools: 'f' }],
    ['tools[0].type', { tools: [{ type: 'custom', custom: { name: 'f' } }] }],
    ['tools[1].function', { tools: [tool, { type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: {} }] }],
    ['tools[0].function.parameters', { tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] }],
    ['functions[0].name', { functions: [{}] }],
    ['tool_choice', { tools: [tool], tool_choice: 'sometimes' }],
    ['tool_choice', { tools: [tool], tool_choice: { type: 'allowed_tools', allowed_tools: {} } }],
    ['tool_choice.name', { tools: [tool], tool_choice: { type: 'function', function: {} } }],
    ['function_call', { functions: [{ name: 'f' }], function_call: 7 }],
    ['reasoning_effort', { reasoning_effort: 'extreme' }],
    ['reasoning_effort', { reasoning_effort: 'toString' }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
    ['response_format.json_schema.schema', { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }],
  ];

  it.each(cases)('%s of %j', (param, chat) => {
    const error = failure(() => encode(chat));
    expect(error.status).toBe(400);
    expect(error.details.param).toBe(param);
    expect(error.message).toContain(param);
  });
});

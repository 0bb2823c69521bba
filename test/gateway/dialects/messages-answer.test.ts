import type { Message } from '@anthropic-ai/sdk/resources/messages/messages';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import { messagesDialect } from '#gateway/dialects/messages/dialect.ts';
import { GatewayError } from '#gateway/errors.ts';
import type { Json } from '#gateway/providers/provider.ts';

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function encode(message: Json, finish: unknown = 'stop', extra: Json = { usage: USAGE }): Json {
  return messagesDialect.encodeAnswer({
    id: 'chatcmpl-1',
    model: 'm',
    choices: [{ index: 0, message, finish_reason: finish }],
    ...extra,
  });
}

function call(id: string, name: string, args: unknown): Json {
  return { id, type: 'function', function: { name, arguments: args } };
}

function use(id: string, name: string, input: Json): Json {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

function text(value: string): Json {
  return { type: 'text', text: value, citations: null };
}

describe('encodeAnswer', () => {
  it('turns a whole chat completion, typed by its SDK, into a message of the other', () => {
    const completion: ChatCompletion = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4o-2024-08-06',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          logprobs: null,
          message: {
            role: 'assistant',
            content: 'I look.',
            refusal: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'w', arguments: '{"city":"Oslo"}' } }],
          },
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 8,
        total_tokens: 28,
        prompt_tokens_details: { cached_tokens: 15 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    };
    const message: Message = {
      id: 'chatcmpl-1',
      type: 'message',
      role: 'assistant',
      model: 'gpt-4o-2024-08-06',
      content: [
        { type: 'text', text: 'I look.', citations: null },
        { type: 'tool_use', id: 'c1', name: 'w', input: { city: 'Oslo' }, caller: { type: 'direct' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 5,
        output_tokens: 8,
        cache_read_input_tokens: 15,
        cache_creation_input_tokens: 0,
        cache_creation: null,
        inference_geo: null,
        output_tokens_details: { thinking_tokens: 3 },
        server_tool_use: null,
        service_tier: null,
        speed: null,
      },
    };
    expect(messagesDialect.encodeAnswer({ ...completion })).toEqual(message);
  });

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool_calls', 'tool_use'],
    ['function_call', 'tool_use'],
    ['content_filter', 'refusal'],
    ['a_reason_of_tomorrow', 'end_turn'],
    ['valueOf', 'end_turn'],
    [null, 'end_turn'],
  ])('says the finish reason %s as %s', (finish, reason) => {
    expect(encode({ content: 'a' }, finish).stop_reason).toBe(reason);
  });

  it('says tool_use where a server calls tools and finishes with stop', () => {
    const message = { content: null, tool_calls: [call('c', 'f', '{}')] };
    expect(encode(message, 'stop').stop_reason).toBe('tool_use');
    expect(encode(message, 'length').stop_reason).toBe('max_tokens');
  });

  const contents: readonly (readonly [what: string, message: Json, content: Json[]])[] = [
    ['text', { content: 'a' }, [text('a')]],
    ['nothing', { content: '' }, []],
    ['null', { content: null }, []],
    ['a refusal', { content: null, refusal: 'No.' }, [text('No.')]],
    [
      'parallel calls',
      { content: null, tool_calls: [call('a', 'f', '{"x":1}'), call('b', 'g', '')] },
      [use('a', 'f', { x: 1 }), use('b', 'g', {})],
    ],
    ['a call whose arguments are absent', { tool_calls: [call('a', 'f', undefined)] }, [use('a', 'f', {})]],
    [
      'reasoning_content',
      { content: 'a', reasoning_content: 'Hm' },
      [{ type: 'thinking', thinking: 'Hm', signature: '' }, text('a')],
    ],
    ['reasoning', { content: 'a', reasoning: 'Hm' }, [{ type: 'thinking', thinking: 'Hm', signature: '' }, text('a')]],
    ['empty reasoning', { content: 'a', reasoning_content: '' }, [text('a')]],
    [
      'content_blocks, in their order',
      {
        content: 'a',
        tool_calls: [call('c', 'f', '{}')],
        content_blocks: [
          { type: 'thinking', thinking: 'Hm', signature: 's' },
          { type: 'text', text: 'a' },
          { type: 'redacted_thinking', data: 'xyz' },
          { type: 'tool_use', id: 'c', name: 'f', input: {} },
        ],
      },
      [
        { type: 'thinking', thinking: 'Hm', signature: 's' },
        text('a'),
        { type: 'redacted_thinking', data: 'xyz' },
        use('c', 'f', {}),
      ],
    ],
  ];

  it.each(contents)('says %s', (_what, message, content) => {
    expect(encode(message).content).toEqual(content);
  });

  it.each([
    [undefined, 0, 0, 0, 0],
    [null, 0, 0, 0, 0],
    [USAGE, 10, 5, 0, 0],
    [{ ...USAGE, prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 3 } }, 3, 5, 4, 3],
    [{ ...USAGE, prompt_tokens_details: { cached_tokens: 40 } }, 0, 5, 40, 0],
    [{ ...USAGE, prompt_tokens_details: null }, 10, 5, 0, 0],
  ])('counts %j', (usage, input, output, reads, writes) => {
    expect(encode({ content: 'a' }, 'stop', { usage }).usage).toMatchObject({
      input_tokens: input,
      output_tokens: output,
      cache_read_input_tokens: reads,
      cache_creation_input_tokens: writes,
    });
  });

  it.each([
    ['no choices', {}],
    ['empty choices', { choices: [] }],
    ['a choice without message', { choices: [{}] }],
    ['broken arguments', { choices: [{ message: { tool_calls: [call('a', 'f', '{"x"')] } }] }],
    ['arguments that are a list', { choices: [{ message: { tool_calls: [call('a', 'f', '[]')] } }] }],
    ['a call without id', { choices: [{ message: { tool_calls: [{ function: { name: 'f' } }] } }] }],
    ['a call without function', { choices: [{ message: { tool_calls: [{ id: 'a' }] } }] }],
    ['a call that is a string', { choices: [{ message: { tool_calls: ['f'] } }] }],
  ])('refuses %s', (_what, completion) => {
    const run = (): Json => messagesDialect.encodeAnswer(completion);
    expect(run).toThrow(GatewayError);
    expect(run).toThrow(expect.objectContaining({ code: 'upstream_invalid' }));
  });
});

describe('readUsage', () => {
  const usage = { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 10, cache_creation_input_tokens: 2 };
  const counted = {
    prompt_tokens: 15,
    completion_tokens: 4,
    total_tokens: 19,
    prompt_tokens_details: { cached_tokens: 10, cache_creation_tokens: 2 },
  };

  it.each([
    ['a message', { type: 'message', usage }],
    ['message_start', { type: 'message_start', message: { usage } }],
    ['message_delta', { type: 'message_delta', delta: {}, usage }],
  ])('reads %s', (_what, answer) => {
    expect(messagesDialect.readUsage(answer)).toEqual(counted);
  });

  it.each([
    ['no usage', {}],
    ['null', { usage: null }],
    ['a message without it', { message: {} }],
  ])('reads nothing from %s', (_what, answer) => {
    expect(messagesDialect.readUsage(answer)).toBeUndefined();
  });

  it('and what is written agree', () => {
    expect(messagesDialect.readUsage(encode({ content: 'a' }, 'stop', { usage: counted }))).toEqual(counted);
  });
});

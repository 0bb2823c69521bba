import type { Message } from '@anthropic-ai/sdk/resources/messages/messages';
import { describe, expect, it } from 'vitest';
import type { Json } from '#gateway/providers/provider.ts';
import { failure, frozen, translation } from './anthropic-chat.ts';

const USAGE = { input_tokens: 10, output_tokens: 5 };
const TEXT = { type: 'text', text: 'Hello', citations: null };
const THOUGHT = { type: 'thinking', thinking: 'Hm', signature: 's1' };
const HIDDEN = { type: 'redacted_thinking', data: 'xyz' };

function use(id: string, name: string, input: unknown): Json {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

function answer(fields: Json): Json {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [TEXT],
    stop_reason: 'end_turn',
    usage: USAGE,
    ...fields,
  };
}

function decode(fields: Json, strict = true): Json {
  return translation().decode(frozen(answer(fields)), { strict });
}

function choiceOf(completion: Json): { message: Json; finish_reason: string } {
  return (completion.choices as { message: Json; finish_reason: string }[])[0] ?? { message: {}, finish_reason: '' };
}

describe('decode', () => {
  it('turns a whole message, typed by its SDK, into a chat completion', () => {
    const message: Message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content: [{ type: 'text', text: 'Hello', citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_creation: null,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 7,
        inference_geo: null,
        output_tokens_details: { thinking_tokens: 2 },
        server_tool_use: null,
        service_tier: 'standard',
        speed: null,
      },
    };
    const before = Math.floor(Date.now() / 1000);
    const completion = translation().decode({ ...message }, { strict: true });
    expect(completion).toEqual({
      id: 'msg_1',
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'claude-sonnet-4-5-20250929',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 5,
        total_tokens: 25,
        prompt_tokens_details: { cached_tokens: 7, cache_creation_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
    expect(completion.created).toBeGreaterThanOrEqual(before);
    expect(completion.created).toBeLessThanOrEqual(Date.now() / 1000);
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['a_reason_of_tomorrow', 'stop'],
    ['toString', 'stop'],
    [null, 'stop'],
  ])('reads the stop reason %s as %s', (reason, finish) => {
    expect(choiceOf(decode({ stop_reason: reason })).finish_reason).toBe(finish);
  });

  const messages: readonly (readonly [what: string, content: Json[], message: Json])[] = [
    ['text in several blocks', [TEXT, { type: 'text', text: ', you' }], { content: 'Hello, you' }],
    ['nothing', [], { content: '' }],
    [
      'a call',
      [use('c1', 'f', { a: [1] })],
      { content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":[1]}' } }] },
    ],
    [
      'text and parallel calls',
      [TEXT, use('c1', 'f', {}), use('c2', 'g', { b: 'é' })],
      {
        content: 'Hello',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'c2', type: 'function', function: { name: 'g', arguments: '{"b":"é"}' } },
        ],
      },
    ],
    [
      'a call without input',
      [{ type: 'tool_use', id: 'c1', name: 'f' }],
      { content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    ],
    ['thinking, which strict compliance hides', [THOUGHT, HIDDEN, TEXT], { content: 'Hello' }],
    [
      'what ran at the provider',
      [
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        TEXT,
      ],
      { content: 'Hello' },
    ],
  ];

  it.each(messages)('reads %s', (_what, content, message) => {
    expect(choiceOf(decode({ content })).message).toEqual({ role: 'assistant', refusal: null, ...message });
  });

  it('shows thinking where strict compliance is off, in the order in which it has to come back', () => {
    const content = [THOUGHT, TEXT, HIDDEN, use('c1', 'f', { a: 1 }), { type: 'server_tool_use', id: 's' }];
    expect(choiceOf(decode({ content }, false)).message).toMatchObject({
      content: 'Hello',
      content_blocks: [
        THOUGHT,
        { type: 'text', text: 'Hello' },
        HIDDEN,
        { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
      ],
    });
  });

  it('and what it shows can be given back as it is', () => {
    const content = [THOUGHT, TEXT, { ...THOUGHT, signature: 's2' }, use('c1', 'f', { a: 1 })];
    const { message } = choiceOf(decode({ content }, false));
    const request = { model: 'claude-x', messages: [{ role: 'user', content: 'Hi' }, message] };
    const [, turn] = translation().encode(request).messages as Json[];
    expect(turn?.content).toEqual([
      THOUGHT,
      { type: 'text', text: 'Hello' },
      { ...THOUGHT, signature: 's2' },
      { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
    ]);
  });

  it.each([
    ['no id', { id: undefined }],
    ['no model', { model: 7 }],
    ['no content', { content: undefined }],
    ['content as a string', { content: 'Hello' }],
    ['content of strings', { content: ['Hello'] }],
    ['no usage', { usage: null }],
    ['a text block without text', { content: [{ type: 'text' }] }],
    ['a call without id', { content: [{ type: 'tool_use', name: 'f', input: {} }] }],
    ['a call without name', { content: [{ type: 'tool_use', id: 'c', input: {} }] }],
  ])('refuses an answer with %s, and does not echo it', (_what, fields) => {
    const error = failure(() => decode(fields));
    expect(error).toMatchObject({ code: 'upstream_invalid', status: 502 });
    expect(error.message).not.toContain('Hello');
  });

  it.each([
    [{ input_tokens: 3, output_tokens: 4 }, 3, 4, 0, 0],
    [
      { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 },
      123,
      4,
      100,
      20,
    ],
    [
      { input_tokens: 3, output_tokens: 0, cache_read_input_tokens: null, cache_creation_input_tokens: null },
      3,
      0,
      0,
      0,
    ],
    [{}, 0, 0, 0, 0],
    // Sums and bills are made of them.
    [
      { input_tokens: -3, output_tokens: 1.5, cache_read_input_tokens: Number.NaN, cache_creation_input_tokens: '7' },
      0,
      0,
      0,
      0,
    ],
  ])('counts %j', (usage, prompt, completion, cached, created) => {
    expect(decode({ usage }).usage).toEqual({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached, cache_creation_tokens: created },
    });
  });
});

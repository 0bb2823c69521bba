import { describe, expect, it } from 'vitest';
import type { Json } from '#gateway/providers/provider.ts';
import { encode, frozen, HI } from './anthropic-chat.ts';

const TOOL = { type: 'function', function: { name: 'f' } };

/** What a request says about thinking. */
function thinkingOf(fields: Json): Json {
  const { thinking, output_config: config } = encode(frozen(fields));
  return { ...(thinking !== undefined && { thinking }), ...(config as Json | undefined) };
}

function budget(tokens: number): Json {
  return { thinking: { type: 'enabled', budget_tokens: tokens } };
}

function adaptive(effort: string): Json {
  return { thinking: { type: 'adaptive' }, effort };
}

describe('reasoning_effort', () => {
  const disabled = { thinking: { type: 'disabled' } };
  const cases: readonly (readonly [model: string, effort: string, said: Json])[] = [
    ['claude-sonnet-4-5', 'none', {}],
    ['claude-sonnet-4-5', 'minimal', budget(1_024)],
    ['claude-sonnet-4-5', 'low', budget(2_048)],
    ['claude-sonnet-4-5', 'medium', budget(8_192)],
    ['claude-sonnet-4-5', 'high', budget(16_384)],
    ['claude-sonnet-4-5', 'xhigh', budget(24_576)],
    ['claude-3-7-sonnet-latest', 'max', budget(32_000)],
    ['claude-opus-4-1', 'max', budget(16_000)],
    ['claude-3-5-haiku-latest', 'high', {}],
    ['claude-3-opus-latest', 'high', {}],
    ['claude-opus-4-6', 'none', {}],
    ['claude-opus-4-6', 'minimal', adaptive('low')],
    ['claude-opus-4-6', 'medium', adaptive('medium')],
    ['claude-opus-4-6', 'xhigh', adaptive('high')],
    ['claude-sonnet-4-6', 'max', adaptive('max')],
    ['claude-opus-4-8', 'xhigh', adaptive('xhigh')],
    ['claude-opus-4-8', 'none', {}],
    ['claude-sonnet-5', 'high', adaptive('high')],
    ['claude-sonnet-5', 'none', disabled],
    ['claude-haiku-5-5', 'none', disabled],
    ['claude-opus-5', 'none', disabled],
    ['claude-opus-5-5', 'none', { effort: 'low' }],
    ['claude-fable-5', 'none', { effort: 'low' }],
    ['claude-mythos-preview', 'low', adaptive('low')],
    ['claude-of-tomorrow', 'high', adaptive('high')],
    ['llama-3', 'low', budget(2_048)],
  ];

  it.each(cases)('for %s: %s', (model, effort, said) => {
    expect(thinkingOf({ model, reasoning_effort: effort })).toEqual(said);
  });

  it.each([
    [20_000, budget(8_192)],
    [10_000, budget(5_000)],
    [2_048, budget(1_024)],
    [2_047, {}],
    [100, {}],
  ])('leaves at least half of %d tokens to the answer', (maxTokens, said) => {
    expect(thinkingOf({ max_tokens: maxTokens, reasoning_effort: 'medium' })).toEqual(said);
  });

  it('gives way to a forced tool, which the provider does not think before', () => {
    const forced = { tools: [TOOL], tool_choice: 'required', reasoning_effort: 'high' };
    expect(thinkingOf(forced)).toEqual({});
    expect(thinkingOf({ ...forced, tool_choice: TOOL })).toEqual({});
    expect(thinkingOf({ ...forced, tool_choice: 'auto' })).toEqual(budget(16_384));
    expect(thinkingOf({ ...forced, model: 'claude-opus-4-8' })).toEqual({ effort: 'high' });
  });

  describe('in a tool loop', () => {
    const called = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
    };
    const answered = { role: 'tool', tool_call_id: 'c', content: 'x' };
    const thought = { type: 'thinking', thinking: 'Hm', signature: 's' };
    const fields = { tools: [TOOL], reasoning_effort: 'low' };

    it('whose thinking was not given back, a budget would be refused', () => {
      expect(thinkingOf({ ...fields, messages: [HI, called, answered] })).toEqual({});
    });

    it('whose thinking was given back, it goes on', () => {
      const withThought = { ...called, content_blocks: [thought] };
      expect(thinkingOf({ ...fields, messages: [HI, withThought, answered] })).toEqual(budget(2_048));
    });

    it('that is over, it goes on', () => {
      const messages = [HI, called, answered, { role: 'assistant', content: 'Done' }, HI];
      expect(thinkingOf({ ...fields, messages })).toEqual(budget(2_048));
    });

    it('of a model that adapts, it goes on', () => {
      expect(thinkingOf({ ...fields, model: 'claude-opus-4-8', messages: [HI, called, answered] })).toEqual(
        adaptive('low'),
      );
    });
  });
});

describe('thinking', () => {
  const given = { type: 'enabled', budget_tokens: 5_000 };

  it.each(['claude-sonnet-4-5', 'claude-3-opus-latest', 'claude-opus-4-8', 'llama-3'])(
    'goes to %s as given',
    (model) => {
      expect(thinkingOf({ model, thinking: given })).toEqual({ thinking: given });
    },
  );

  it('wins over the effort, which stays a word where the model has one', () => {
    expect(thinkingOf({ thinking: given, reasoning_effort: 'high' })).toEqual({ thinking: given });
    expect(thinkingOf({ model: 'claude-opus-4-6', thinking: given, reasoning_effort: 'high' })).toEqual({
      thinking: given,
      effort: 'high',
    });
    expect(thinkingOf({ model: 'claude-sonnet-5', thinking: given, reasoning_effort: 'none' })).toEqual({
      thinking: given,
    });
  });

  it('excludes sampling parameters', () => {
    const sampling = { temperature: 0.2, top_p: 0.5, top_k: 3 };
    const thoughtful = encode({ ...sampling, thinking: given });
    for (const field of Object.keys(sampling)) expect(thoughtful).not.toHaveProperty(field);
    const other = encode({ ...sampling, thinking: { type: 'disabled' } });
    expect(other).toMatchObject({ temperature: 0.2, top_k: 3 });
  });
});

describe('sampling parameters', () => {
  const sampling = { temperature: 0.2, top_p: 0.5, top_k: 3 };
  const cases: readonly (readonly [model: string, sent: Json])[] = [
    ['claude-3-opus-latest', sampling],
    ['claude-sonnet-4-20250514', sampling],
    ['claude-opus-4-1', { temperature: 0.2, top_k: 3 }],
    ['claude-sonnet-4-5', { temperature: 0.2, top_k: 3 }],
    ['claude-opus-4-6', { temperature: 0.2, top_k: 3 }],
    ['claude-opus-4-7', {}],
    ['claude-sonnet-5', {}],
    ['claude-of-tomorrow', {}],
    ['llama-3', sampling],
  ];

  it.each(cases)('to %s are those that it takes', (model, sent) => {
    const { temperature, top_p, top_k } = encode({ model, ...sampling });
    expect({ temperature, top_p, top_k }).toEqual({
      temperature: undefined,
      top_p: undefined,
      top_k: undefined,
      ...sent,
    });
  });

  it('top_p alone is kept where only one is taken', () => {
    expect(encode({ top_p: 0.5 })).toMatchObject({ top_p: 0.5 });
  });
});

describe('output_config', () => {
  it('joins effort and format with what the caller said', () => {
    const body = encode({
      model: 'claude-opus-4-8',
      reasoning_effort: 'low',
      output_config: { task_budget: 7, effort: 'max' },
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } },
    });
    expect(body.output_config).toEqual({
      task_budget: 7,
      effort: 'low',
      format: { type: 'json_schema', schema: { type: 'object' } },
    });
  });
});

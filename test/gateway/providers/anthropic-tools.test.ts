import { describe, expect, it } from 'vitest';
import type { Json } from '#gateway/providers/provider.ts';
import { encode, frozen } from './anthropic-chat.ts';

const PARAMETERS = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
const F = { type: 'function', function: { name: 'f', parameters: PARAMETERS } };
const SAID_F = { name: 'f', input_schema: PARAMETERS };

describe('tools', () => {
  const cases: readonly (readonly [what: string, chat: Json, tools: Json[]])[] = [
    ['a function', { tools: [F] }, [SAID_F]],
    [
      'several functions, in order',
      { tools: [F, { ...F, function: { name: 'g', parameters: PARAMETERS } }] },
      [SAID_F, { ...SAID_F, name: 'g' }],
    ],
    [
      'a description',
      { tools: [{ ...F, function: { ...F.function, description: 'Finds' } }] },
      [{ ...SAID_F, description: 'Finds' }],
    ],
    ['strict', { tools: [{ ...F, function: { ...F.function, strict: true } }] }, [{ ...SAID_F, strict: true }]],
    ['not strict', { tools: [{ ...F, function: { ...F.function, strict: false } }] }, [SAID_F]],
    ['strict of null', { tools: [{ ...F, function: { ...F.function, strict: null } }] }, [SAID_F]],
    [
      'no parameters',
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
    ],
    [
      'empty parameters',
      { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] },
      [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
    ],
    [
      'parameters without a type',
      { tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { a: {} } } } }] },
      [{ name: 'f', input_schema: { type: 'object', properties: { a: {} } } }],
    ],
    [
      'cache_control beside the function',
      { tools: [{ ...F, cache_control: { type: 'ephemeral' } }] },
      [{ ...SAID_F, cache_control: { type: 'ephemeral' } }],
    ],
    [
      'cache_control in the function',
      { tools: [{ ...F, function: { ...F.function, cache_control: { type: 'ephemeral' } } }] },
      [{ ...SAID_F, cache_control: { type: 'ephemeral' } }],
    ],
    ['functions, as they once were', { functions: [{ name: 'f', parameters: PARAMETERS }] }, [SAID_F]],
    [
      "the provider's own tool",
      { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }, F] },
      [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }, SAID_F],
    ],
  ];

  it.each(cases)('%s', (_what, chat, tools) => {
    expect(encode(frozen(chat)).tools).toEqual(tools);
  });

  it('an empty list is left out, and the choice with it', () => {
    expect(encode({ tools: [], tool_choice: 'auto', parallel_tool_calls: false })).toEqual(encode({}));
  });
});

describe('tool_choice', () => {
  const named = { type: 'function', function: { name: 'f' } };
  const cases: readonly (readonly [what: string, chat: Json, choice: Json | undefined])[] = [
    ['absent', {}, undefined],
    ['auto', { tool_choice: 'auto' }, { type: 'auto' }],
    ['none', { tool_choice: 'none' }, { type: 'none' }],
    ['required', { tool_choice: 'required' }, { type: 'any' }],
    ['named', { tool_choice: named }, { type: 'tool', name: 'f' }],
    ['function_call auto', { function_call: 'auto' }, { type: 'auto' }],
    ['function_call none', { function_call: 'none' }, { type: 'none' }],
    ['function_call named', { function_call: { name: 'f' } }, { type: 'tool', name: 'f' }],
    ['parallel calls allowed', { parallel_tool_calls: true }, undefined],
    ['one call', { parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      'auto, one call',
      { tool_choice: 'auto', parallel_tool_calls: false },
      { type: 'auto', disable_parallel_tool_use: true },
    ],
    [
      'required, one call',
      { tool_choice: 'required', parallel_tool_calls: false },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    [
      'named, one call',
      { tool_choice: named, parallel_tool_calls: false },
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    ],
    ['none, one call', { tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }],
  ];

  it.each(cases)('%s', (_what, chat, choice) => {
    expect(encode({ tools: [F], ...chat }).tool_choice).toEqual(choice);
  });

  it('of one request is not changed by another', () => {
    encode({ tools: [F], tool_choice: 'auto', parallel_tool_calls: false });
    expect(encode({ tools: [F], tool_choice: 'auto' }).tool_choice).toEqual({ type: 'auto' });
  });
});

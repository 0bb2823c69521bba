/** Fields of OpenAI's chat, asked of Anthropic: what is said, what arrives, and what cannot be said. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../conformance/stage.ts';
import { message } from '../fakes/replies.ts';
import { type Json, startWires, type Wires } from './wires.ts';

let wires: Wires;
beforeAll(async () => {
  wires = await startWires();
});
afterAll(() => wires.close());

const MODEL = 'claude-sonnet-4-20250514';
const USER = { role: 'user', content: 'Hi' };

function ask(body: object): Promise<Response> {
  return wires.ask('/v1/chat/completions', 'anthropic', { model: MODEL, messages: [USER], ...body }, message());
}

async function sentFor(body: object): Promise<Json> {
  const response = await ask(body);
  expect(await response.text()).toContain('chat.completion');
  expect(response.status).toBe(200);
  return wires.sent();
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"q":"x"}' } };

const FUNCTION = { name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: { q: {} } } };
const TOOLS = [{ type: 'function', function: FUNCTION }];
const TOOL = { name: 'look_up', description: 'Looks up.', input_schema: FUNCTION.parameters };

/** [what, fields of the chat, fields that arrive (undefined: none)] */
const FIELDS: readonly (readonly [string, object, Json])[] = [
  ['no max_tokens', {}, { max_tokens: 64_000, stream: undefined, tools: undefined, thinking: undefined }],
  ['no max_tokens of an old model', { model: 'claude-3-haiku-20240307' }, { max_tokens: 4_096 }],
  ['no max_tokens of an unknown maker', { model: 'something-else' }, { max_tokens: 4_096 }],
  ['max_tokens', { max_tokens: 7 }, { max_tokens: 7 }],
  [
    'max_completion_tokens, which wins',
    { max_tokens: 7, max_completion_tokens: 9 },
    { max_tokens: 9, max_completion_tokens: undefined },
  ],
  ['temperature and top_p', { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }],
  ['a temperature that is too high there', { temperature: 1.7 }, { temperature: 1 }],
  ['one stop', { stop: 'END' }, { stop_sequences: ['END'], stop: undefined }],
  ['several stops', { stop: ['a', 'b'] }, { stop_sequences: ['a', 'b'] }],
  ['an empty list of stops', { stop: [] }, { stop_sequences: undefined }],
  ['user', { user: 'u-1' }, { metadata: { user_id: 'u-1' }, user: undefined }],
  [
    'what has no meaning there',
    { seed: 1, frequency_penalty: 1, presence_penalty: 1, logit_bias: { 1: 1 }, logprobs: true, n: 1 },
    {
      seed: undefined,
      frequency_penalty: undefined,
      presence_penalty: undefined,
      logit_bias: undefined,
      logprobs: undefined,
      n: undefined,
    },
  ],
  ['fields that nobody knows', { x_new: 1, store: true }, { x_new: undefined, store: undefined }],
  ['tools', { tools: TOOLS }, { tools: [TOOL], tool_choice: undefined }],
  [
    'a tool without parameters',
    { tools: [{ type: 'function', function: { name: 'now' } }] },
    { tools: [{ name: 'now', input_schema: { type: 'object', properties: {} } }] },
  ],
  ['no tools in a list', { tools: [], tool_choice: 'auto' }, { tools: undefined, tool_choice: undefined }],
  [
    'deprecated functions',
    { functions: [FUNCTION], function_call: { name: 'look_up' } },
    { tools: [TOOL], tool_choice: { type: 'tool', name: 'look_up' } },
  ],
  ['tool_choice auto', { tools: TOOLS, tool_choice: 'auto' }, { tool_choice: { type: 'auto' } }],
  ['tool_choice none', { tools: TOOLS, tool_choice: 'none' }, { tool_choice: { type: 'none' } }],
  ['tool_choice required', { tools: TOOLS, tool_choice: 'required' }, { tool_choice: { type: 'any' } }],
  [
    'tool_choice by name',
    { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'look_up' } } },
    { tool_choice: { type: 'tool', name: 'look_up' } },
  ],
  [
    'one call at a time',
    { tools: TOOLS, parallel_tool_calls: false },
    { tool_choice: { type: 'auto', disable_parallel_tool_use: true }, parallel_tool_calls: undefined },
  ],
  [
    'one call at a time, and that required',
    { tools: TOOLS, tool_choice: 'required', parallel_tool_calls: false },
    { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
  ],
  [
    'thinking',
    { max_tokens: 9_000, temperature: 0.5, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    { thinking: { type: 'enabled', budget_tokens: 2_000 }, temperature: undefined },
  ],
  [
    'reasoning_effort low',
    { max_tokens: 9_000, reasoning_effort: 'low' },
    { thinking: { type: 'enabled', budget_tokens: 2_048 }, reasoning_effort: undefined },
  ],
  ['reasoning_effort high', { reasoning_effort: 'high' }, { thinking: { type: 'enabled', budget_tokens: 16_384 } }],
  ['reasoning_effort with few tokens', { max_tokens: 500, reasoning_effort: 'high' }, { thinking: undefined }],
  ['reasoning_effort none', { reasoning_effort: 'none' }, { thinking: undefined }],
  [
    'reasoning_effort of a model that cannot',
    { model: 'claude-3-haiku-20240307', reasoning_effort: 'high' },
    { thinking: undefined },
  ],
  [
    'json_object',
    { response_format: { type: 'json_object' } },
    { system: expect.stringContaining('JSON'), response_format: undefined },
  ],
  [
    'json_schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } } },
    { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } }, response_format: undefined },
  ],
  [
    'null for what may be absent',
    {
      max_tokens: null,
      stop: null,
      tools: null,
      tool_choice: null,
      temperature: null,
      user: null,
      response_format: null,
      stream: null,
    },
    { max_tokens: 64_000, stop_sequences: undefined, tools: undefined, tool_choice: undefined, temperature: undefined },
  ],
];

describe('a request with', () => {
  it.each(FIELDS)('%s', async (_what, fields, arrives) => {
    const sent = await sentFor(fields);
    for (const [field, value] of Object.entries(arrives)) expect([field, sent[field]]).toEqual([field, value]);
  });

  it('any of it goes to the path and with the headers of the other API', async () => {
    await sentFor({ stream: false });
    expect(wires.at(0).calls.at(-1)).toMatchObject({ method: 'POST', path: '/v1/messages' });
    expect(wires.sentHeaders()).toMatchObject({
      'x-api-key': 'upstream-key',
      'anthropic-version': '2023-06-01',
      accept: 'application/json',
    });
    expect(wires.sentHeaders()).not.toHaveProperty('authorization');
  });
});

describe('what cannot be said there is a 400 that names it:', () => {
  it.each([
    ['n', { n: 2 }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['reasoning_effort', { reasoning_effort: 'mighty' }],
    ['messages[0].role', { messages: [{ role: 'critic', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }],
    [
      'messages[0].content[0].image_url.url',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }] },
    ],
    [
      'messages[0].content[0].file.file_data',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:audio/wav;base64,AA' } }] }] },
    ],
    [
      'messages[1].tool_calls[0].function.arguments',
      {
        messages: [USER, { role: 'assistant', tool_calls: [{ ...CALL, function: { name: 'f', arguments: '{"a":' } }] }],
      },
    ],
    ['messages[1].tool_call_id', { messages: [USER, { role: 'tool', content: 'x' }] }],
    ['messages', { messages: [{ role: 'system', content: 'x' }] }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tool_choice', { tools: TOOLS, tool_choice: 'perhaps' }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
  ])('%s', async (param, fields) => {
    const before = wires.at(0).calls.length;
    const failure = await failureOf(await ask(fields));
    expect(failure).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    expect(failure.message).toContain(param);
    expect(wires.at(0).calls.length).toBe(before);
  });
});

/** Anthropic's messages asked of an upstream of OpenAI's wire: what the caller says, and what arrives. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { chat, chatStream } from '../fakes/replies.ts';
import { type Json, startWires, type Wires } from './wires.ts';

let wires: Wires;
beforeAll(async () => {
  wires = await startWires();
});
afterAll(() => wires.close());

const USER = { role: 'user', content: 'Hi' };

function ask(body: object, reply = chat(), name = 'openai'): Promise<Response> {
  return wires.ask('/v1/messages', name, { model: 'm', max_tokens: 9, messages: [USER], ...body }, reply);
}

async function sentFor(body: object): Promise<Json> {
  const response = await ask(body);
  expect(await response.json()).toMatchObject({ type: 'message' });
  expect(wires.at(0).calls.at(-1)?.path).toBe('/v1/chat/completions');
  return wires.sent();
}

const USE = { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: { q: 'x' } };
const CALL = { id: 'toolu_1', type: 'function', function: { name: 'look_up', arguments: '{"q":"x"}' } };
const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' };
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } };
const CACHE = { cache_control: { type: 'ephemeral' } };

/** [what, system, messages, messages that arrive] */
const CONVERSATIONS: readonly (readonly [string, unknown, readonly object[], readonly object[]])[] = [
  ['a user alone', undefined, [USER], [USER]],
  ['a system prompt', 'Be brief.', [USER], [{ role: 'system', content: 'Be brief.' }, USER]],
  ['an empty system prompt', '', [USER], [USER]],
  [
    'system blocks, one marked for the cache',
    [
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B', ...CACHE },
    ],
    [USER],
    [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
      },
      USER,
    ],
  ],
  ['one text block', undefined, [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], [USER]],
  [
    'images',
    undefined,
    [
      {
        role: 'user',
        content: [
          { type: 'image', source: PNG, ...CACHE },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'text', text: 'See?' },
        ],
      },
    ],
    [
      {
        role: 'user',
        content: [
          IMAGE,
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
          { type: 'text', text: 'See?' },
        ],
      },
    ],
  ],
  [
    'documents',
    undefined,
    [
      {
        role: 'user',
        content: [
          { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
          { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'Words.' } },
        ],
      },
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } },
          { type: 'text', text: 'Notes\n\nWords.' },
        ],
      },
    ],
  ],
  [
    'a call and its result',
    undefined,
    [
      USER,
      { role: 'assistant', content: [{ type: 'text', text: 'See:' }, USE] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'found' }] },
    ],
    [
      USER,
      { role: 'assistant', content: 'See:', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'found' },
    ],
  ],
  [
    'parallel calls, a failed result and a word',
    undefined,
    [
      USER,
      { role: 'assistant', content: [USE, { ...USE, id: 'toolu_2', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'found' }], ...CACHE },
          { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true },
          { type: 'text', text: 'So?' },
        ],
      },
    ],
    [
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [CALL, { ...CALL, id: 'toolu_2', function: { name: 'look_up', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'found' },
      { role: 'tool', tool_call_id: 'toolu_2', content: '' },
      { role: 'user', content: 'So?' },
    ],
  ],
  [
    'an image as a tool’s result, which has to follow it',
    undefined,
    [
      USER,
      { role: 'assistant', content: [USE] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'image', source: PNG }] }],
      },
    ],
    [
      USER,
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'toolu_1', content: expect.any(String) },
      { role: 'user', content: [{ type: 'text', text: expect.stringContaining('toolu_1') }, IMAGE] },
    ],
  ],
  [
    'thinking of a turn before, which the other API does not take back',
    undefined,
    [
      USER,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'redacted_thinking', data: 'd' },
          { type: 'text', text: 'Good day.' },
        ],
      },
      USER,
    ],
    [USER, { role: 'assistant', content: 'Good day.' }, USER],
  ],
];

describe('a conversation with', () => {
  it.each(CONVERSATIONS)('%s', async (_what, system, messages, arrives) => {
    const sent = await sentFor({ system, messages });
    expect(sent['messages']).toEqual(arrives);
    expect(sent).not.toHaveProperty('system');
  });
});

const SCHEMA = { type: 'object', properties: { q: { type: 'string' } } };
const TOOLS = [{ name: 'look_up', description: 'Looks up.', input_schema: SCHEMA, ...CACHE }];
const HUB_TOOLS = [{ type: 'function', function: { name: 'look_up', description: 'Looks up.', parameters: SCHEMA } }];

/** [what, fields of the message request, fields that arrive (undefined: none)] */
const FIELDS: readonly (readonly [string, object, Json])[] = [
  ['max_tokens', {}, { max_completion_tokens: 9, max_tokens: undefined, model: 'm', stream: undefined }],
  ['sampling', { temperature: 0.5, top_p: 0.9 }, { temperature: 0.5, top_p: 0.9 }],
  ['top_k, which the other API does not know', { top_k: 5 }, { top_k: undefined }],
  ['stop sequences', { stop_sequences: ['END'] }, { stop: ['END'], stop_sequences: undefined }],
  ['no stop sequences in a list', { stop_sequences: [] }, { stop: undefined }],
  ['user id', { metadata: { user_id: 'u-1' } }, { user: 'u-1', metadata: undefined }],
  ['service tier', { service_tier: 'standard_only' }, { service_tier: 'default' }],
  ['tools', { tools: TOOLS }, { tools: HUB_TOOLS, tool_choice: undefined }],
  [
    'an empty list of tools',
    { tools: [], tool_choice: { type: 'auto' } },
    { tools: undefined, tool_choice: undefined },
  ],
  ['choice auto', { tools: TOOLS, tool_choice: { type: 'auto' } }, { tool_choice: 'auto' }],
  ['choice any', { tools: TOOLS, tool_choice: { type: 'any' } }, { tool_choice: 'required' }],
  ['choice none', { tools: TOOLS, tool_choice: { type: 'none' } }, { tool_choice: 'none' }],
  [
    'choice of a tool',
    { tools: TOOLS, tool_choice: { type: 'tool', name: 'look_up' } },
    { tool_choice: { type: 'function', function: { name: 'look_up' } } },
  ],
  [
    'one call at a time',
    { tools: TOOLS, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { tool_choice: 'auto', parallel_tool_calls: false },
  ],
  [
    'thinking, which the other API does not know',
    { thinking: { type: 'enabled', budget_tokens: 1024 } },
    { thinking: undefined },
  ],
  ['effort', { output_config: { effort: 'low' } }, { reasoning_effort: 'low', output_config: undefined }],
  [
    'a schema for the answer',
    { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    { response_format: { type: 'json_schema', json_schema: { name: 'output', schema: SCHEMA, strict: true } } },
  ],
  ['fields that nobody knows', { x_new: 1, container: 'c' }, { x_new: undefined, container: undefined }],
];

describe('a request with', () => {
  it.each(FIELDS)('%s', async (_what, fields, arrives) => {
    const sent = await sentFor(fields);
    for (const [field, value] of Object.entries(arrives)) expect([field, sent[field]]).toEqual([field, value]);
  });

  it('a stream asks for usage', async () => {
    await (await ask({ stream: true }, chatStream())).text();
    expect(wires.sent()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(wires.sentHeaders()).toMatchObject({ accept: 'text/event-stream' });
  });

  it('headers of Anthropic’s SDK keeps them from the other API', async () => {
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'x-2025-01-01' };
    const body = { model: 'm', max_tokens: 9, messages: [USER] };
    await (await wires.ask('/v1/messages', 'openai', body, chat(), headers)).text();
    expect(wires.sentHeaders()).toMatchObject({ authorization: 'Bearer upstream-key' });
    for (const name of [...Object.keys(headers), 'x-api-key']) expect(wires.sentHeaders()).not.toHaveProperty(name);
  });

  it('what a config overrides in the words of the other API has the last word', async () => {
    const spec = { provider: 'openai', api_key: 'k', custom_host: `${wires.at(0).origin}/v1` };
    const overrides = { override_params: { top_k: 7, model: 'forced', temperature: 1.5 } };
    wires.gateway.apply(wires.manifests + config('overrides', { ...spec, ...overrides }));
    await (await ask({ temperature: 0.1, top_k: 2 }, chat(), 'overrides')).text();
    expect(wires.sent()).toMatchObject(overrides.override_params);
  });
});

describe('what cannot be said there is a 400 that names it:', () => {
  it.each([
    ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }],
    ['messages[0].content[0].source', { messages: [{ role: 'user', content: [{ type: 'image' }] }] }],
    ['messages[0].content[0].id', { messages: [{ role: 'assistant', content: [{ type: 'tool_use', name: 'f' }] }] }],
    ['messages[0].content[0].tool_use_id', { messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] }],
    ['system', { system: 7 }],
    ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f' }] }],
    ['tool_choice.type', { tools: TOOLS, tool_choice: { type: 'perhaps' } }],
    ['tool_choice.name', { tools: TOOLS, tool_choice: { type: 'tool' } }],
    ['thinking', { thinking: 'much' }],
    ['output_config', { output_config: 7 }],
    ['metadata.user_id', { metadata: { user_id: 7 } }],
  ])('%s', async (path, fields) => {
    const before = wires.at(0).calls.length;
    const failure = await failureOf(await ask(fields));
    expect(failure).toMatchObject({ status: 400, type: 'invalid_request_error', param: path });
    expect(failure.message).toContain(path);
    expect(wires.at(0).calls.length).toBe(before);
  });
});

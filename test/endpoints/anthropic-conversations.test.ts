/** Conversations of OpenAI's chat, asked of Anthropic: what was said, and what arrives. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

const PDF = 'data:application/pdf;base64,JVBERi0=';
const PNG = 'data:image/png;base64,iVBORw0=';
const CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"q":"x"}' } };
const OTHER = { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } };
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: 'found' };
const USED = { type: 'tool_use', id: 'call_1', name: 'look_up', input: { q: 'x' } };

/** [what, messages of the chat, system, messages that arrive] */
const CONVERSATIONS: readonly (readonly [string, readonly object[], unknown, readonly object[]])[] = [
  ['a user alone', [USER], undefined, [USER]],
  ['a system message', [{ role: 'system', content: 'Be brief.' }, USER], 'Be brief.', [USER]],
  ['a developer message', [{ role: 'developer', content: 'Be brief.' }, USER], 'Be brief.', [USER]],
  [
    'several of them, one in the middle',
    [{ role: 'system', content: 'A' }, USER, { role: 'developer', content: [{ type: 'text', text: 'B' }] }],
    [
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B' },
    ],
    [USER],
  ],
  [
    'turns in a row of one role',
    [
      USER,
      { role: 'user', content: 'there' },
      { role: 'assistant', content: 'A' },
      { role: 'assistant', content: 'B' },
    ],
    undefined,
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'there' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
      },
    ],
  ],
  [
    'a prefilled answer, its last blank gone',
    [USER, { role: 'assistant', content: 'I say: ' }],
    undefined,
    [USER, { role: 'assistant', content: 'I say:' }],
  ],
  ['empty texts, which are left out', [USER, { role: 'user', content: '' }], undefined, [USER]],
  [
    'an image by URL and one in base64',
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'high' } },
          { type: 'image_url', image_url: { url: PNG } },
        ],
      },
    ],
    undefined,
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' } },
        ],
      },
    ],
  ],
  [
    'documents',
    [
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: PDF } },
          { type: 'file', file: { file_data: 'data:text/plain;base64,R3LDvMOfZQ==' } },
          { type: 'file', file: { file_id: 'file_1' } },
        ],
      },
    ],
    undefined,
    [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
            title: 'a.pdf',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' } },
          { type: 'document', source: { type: 'file', file_id: 'file_1' } },
        ],
      },
    ],
  ],
  [
    'a call and its result',
    [USER, { role: 'assistant', content: null, tool_calls: [CALL] }, RESULT],
    undefined,
    [
      USER,
      { role: 'assistant', content: [USED] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'found' }] },
    ],
  ],
  [
    'parallel calls, their results and a word in one turn',
    [
      USER,
      { role: 'assistant', content: 'Let me see.', tool_calls: [CALL, OTHER] },
      RESULT,
      { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'noon' }] },
      { role: 'user', content: 'So?' },
    ],
    undefined,
    [
      USER,
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          USED,
          { type: 'tool_use', id: 'call_2', name: 'now', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'found' },
          { type: 'tool_result', tool_use_id: 'call_2', content: [{ type: 'text', text: 'noon' }] },
          { type: 'text', text: 'So?' },
        ],
      },
    ],
  ],
  [
    'ids of other makers',
    [
      USER,
      { role: 'assistant', tool_calls: [{ ...CALL, id: 'fc|1:a/b' }] },
      { role: 'tool', tool_call_id: 'fc|1:a/b', content: '' },
    ],
    undefined,
    [
      USER,
      { role: 'assistant', content: [{ ...USED, id: 'fc_1_a_b' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'fc_1_a_b', content: '' }] },
    ],
  ],
  [
    'marks for the cache',
    [
      {
        role: 'system',
        content: [{ type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } }],
      },
      USER,
    ],
    [{ type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } }],
    [USER],
  ],
  [
    'a refusal said before',
    [USER, { role: 'assistant', content: null, refusal: 'No.' }, { role: 'user', content: 'Please.' }],
    undefined,
    [USER, { role: 'assistant', content: 'No.' }, { role: 'user', content: 'Please.' }],
  ],
];

describe('a conversation with', () => {
  it.each(CONVERSATIONS)('%s', async (_what, messages, system, arrives) => {
    const sent = await sentFor({ messages });
    expect(sent['system']).toEqual(system);
    expect(sent['messages']).toEqual(arrives);
  });
});

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { chatDialect } from '#gateway/dialects/chat.ts';
import type { Json, StreamDecoder } from '#gateway/providers/provider.ts';
import { failure, frozen, translation } from './anthropic-chat.ts';

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 1, output_tokens: 1 },
  },
};
const STOP = { type: 'message_stop' };

function begin(index: number, block: Json): Json {
  return { type: 'content_block_start', index, content_block: block };
}

function go(index: number, delta: Json): Json {
  return { type: 'content_block_delta', index, delta };
}

function stop(index: number): Json {
  return { type: 'content_block_stop', index };
}

function textBlock(index: number, ...texts: string[]): Json[] {
  return [
    begin(index, { type: 'text', text: '' }),
    ...texts.map((text) => go(index, { type: 'text_delta', text })),
    stop(index),
  ];
}

function toolBlock(index: number, id: string, name: string, ...fragments: string[]): Json[] {
  const deltas = fragments.map((partial_json) => go(index, { type: 'input_json_delta', partial_json }));
  return [begin(index, { type: 'tool_use', id, name, input: {} }), ...deltas, stop(index)];
}

function thinkingBlock(index: number, ...thoughts: string[]): Json[] {
  const deltas = thoughts.map((thinking) => go(index, { type: 'thinking_delta', thinking }));
  const signed = go(index, { type: 'signature_delta', signature: 'sig' });
  return [begin(index, { type: 'thinking', thinking: '', signature: '' }), ...deltas, signed, stop(index)];
}

function end(reason: string, outputTokens = 9): Json[] {
  return [
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: outputTokens },
    },
    STOP,
  ];
}

function feed(decoder: StreamDecoder, events: readonly Json[]): Json[] {
  return events.flatMap((event) => [...decoder.decode({ event: String(event.type), data: JSON.stringify(event) })]);
}

function decodeAll(events: readonly Json[], strict = true): { chunks: Json[]; decoder: StreamDecoder } {
  const decoder = translation().decoder({ strict });
  return { chunks: feed(decoder, events), decoder };
}

/** The deltas of all chunks, with the finish reason where there is one. */
function deltas(chunks: readonly Json[]): Json[] {
  return chunks.flatMap((chunk) =>
    (chunk.choices as { delta: Json; finish_reason: string | null }[]).map(({ delta, finish_reason: finish }) =>
      finish === null ? delta : { ...delta, finish },
    ),
  );
}

const ROLE = { role: 'assistant', content: '' };
const PING = { type: 'ping' };

describe('the stream decoder reads', () => {
  const cases: readonly (readonly [what: string, events: Json[], deltas: Json[]])[] = [
    [
      'text',
      [...textBlock(0, 'Hel', 'lo'), ...end('end_turn')],
      [{ content: 'Hel' }, { content: 'lo' }, { finish: 'stop' }],
    ],
    [
      'text that is there at the start of its block',
      [begin(0, { type: 'text', text: 'Hi' }), stop(0), ...end('end_turn')],
      [{ content: 'Hi' }, { finish: 'stop' }],
    ],
    [
      'several text blocks',
      [...textBlock(0, 'a'), ...textBlock(1, 'b'), ...end('max_tokens')],
      [{ content: 'a' }, { content: 'b' }, { finish: 'length' }],
    ],
    ['nothing', end('refusal'), [{ finish: 'content_filter' }]],
    [
      'text, then a refusal',
      [...textBlock(0, 'Wel'), ...end('refusal')],
      [{ content: 'Wel' }, { finish: 'content_filter' }],
    ],
    [
      'a call',
      [...toolBlock(0, 'c1', 'f', '', '{"a"', ':1}'), ...end('tool_use')],
      [
        { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
        { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
        { finish: 'tool_calls' },
      ],
    ],
    [
      'parallel calls after text, counted by themselves',
      [
        ...textBlock(0, 'x'),
        ...toolBlock(1, 'c1', 'f', '{}'),
        ...toolBlock(2, 'c2', 'g', '{"b":2}'),
        ...end('tool_use'),
      ],
      [
        { content: 'x' },
        { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
        { tool_calls: [{ index: 1, id: 'c2', type: 'function', function: { name: 'g', arguments: '' } }] },
        { tool_calls: [{ index: 1, function: { arguments: '{"b":2}' } }] },
        { finish: 'tool_calls' },
      ],
    ],
    [
      'a call without arguments, which callers can parse',
      [...toolBlock(0, 'c1', 'f', ''), ...end('tool_use')],
      [
        { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
        { finish: 'tool_calls' },
      ],
    ],
    [
      'a call whose input is there at the start',
      [begin(0, { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }), stop(0), ...end('tool_use')],
      [
        { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
        { finish: 'tool_calls' },
      ],
    ],
    [
      'thinking, which strict compliance hides',
      [...thinkingBlock(0, 'Hm'), ...textBlock(1, 'a'), ...end('end_turn')],
      [{ content: 'a' }, { finish: 'stop' }],
    ],
    [
      'what runs at the provider as nothing',
      [
        begin(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
        go(0, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
        stop(0),
        begin(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
        stop(1),
        ...textBlock(2, 'a'),
        ...end('end_turn'),
      ],
      [{ content: 'a' }, { finish: 'stop' }],
    ],
    [
      'pings, citations and what comes tomorrow as nothing',
      [
        PING,
        begin(0, { type: 'text', text: '' }),
        PING,
        go(0, { type: 'citations_delta', citation: {} }),
        go(0, { type: 'delta_of_tomorrow' }),
        go(0, { type: 'text_delta', text: 'a' }),
        stop(0),
        { type: 'event_of_tomorrow' },
        { no: 'type' },
        ...end('end_turn'),
      ],
      [{ content: 'a' }, { finish: 'stop' }],
    ],
  ];

  it.each(cases)('%s', (_what, events, expected) => {
    const { chunks, decoder } = decodeAll(frozen([START, ...events]));
    expect(deltas(chunks)).toEqual([ROLE, ...expected]);
    expect(decoder.finished).toBe(true);
  });

  it('thinking where strict compliance is off', () => {
    const events = [
      START,
      ...thinkingBlock(0, 'H', 'm'),
      begin(1, { type: 'redacted_thinking', data: 'xyz' }),
      stop(1),
      ...textBlock(2, 'a'),
      ...end('end_turn'),
    ];
    expect(deltas(decodeAll(events, false).chunks)).toEqual([
      ROLE,
      { content_blocks: [{ index: 0, delta: { thinking: 'H' } }] },
      { content_blocks: [{ index: 0, delta: { thinking: 'm' } }] },
      { content_blocks: [{ index: 0, delta: { signature: 'sig' } }] },
      { content_blocks: [{ index: 1, content_block: { type: 'redacted_thinking', data: 'xyz' } }] },
      { content: 'a' },
      { finish: 'stop' },
    ]);
  });
});

describe('every chunk', () => {
  it('has the shape of a chat.completion.chunk, the same head, and usage alone comes last', () => {
    const { chunks } = decodeAll([START, ...textBlock(0, 'a'), ...end('end_turn')]);
    const head = { id: 'msg_1', object: 'chat.completion.chunk', model: 'claude-x', created: chunks[0]?.created };
    expect(chunks).toHaveLength(4);
    for (const chunk of chunks) expect(chunk).toMatchObject(head);
    expect(chunks.slice(0, -1).every((chunk) => !('usage' in chunk))).toBe(true);
    expect(chunks.at(-1)).toEqual({
      ...head,
      choices: [],
      usage: {
        prompt_tokens: 15,
        completion_tokens: 9,
        total_tokens: 24,
        prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 1 },
      },
    });
    expect(chunks.at(-2)).toMatchObject({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  });

  it("can be read by OpenAI's own SDK", async () => {
    const events = [
      START,
      ...textBlock(0, 'I ', 'look'),
      ...toolBlock(1, 'c1', 'f', '{"a":', '1}'),
      ...toolBlock(2, 'c2', 'g'),
      ...end('tool_use'),
    ];
    const { chunks } = decodeAll(events);
    const encoder = chatDialect.encoder({});
    const body = chunks.map((chunk) => encoder.encode(chunk)).join('') + encoder.end();
    const fetch = async (): Promise<Response> =>
      new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const client = new OpenAI({ apiKey: 'x', baseURL: 'http://gateway.test/v1', fetch });
    const completion = await client.chat.completions
      .stream({ model: 'm', messages: [], stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(completion).toMatchObject({
      id: 'msg_1',
      usage: { total_tokens: 24 },
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: 'I look',
            tool_calls: [
              { id: 'c1', function: { name: 'f', arguments: '{"a":1}' } },
              { id: 'c2', function: { name: 'g', arguments: '{}' } },
            ],
          },
        },
      ],
    });
  });
});

describe('the end', () => {
  it('is message_stop alone', () => {
    const decoder = translation().decoder({ strict: true });
    for (const event of [START, ...textBlock(0, 'a'), ...end('end_turn').slice(0, 1)]) {
      feed(decoder, [event]);
      expect(decoder.finished).toBe(false);
    }
    feed(decoder, [STOP]);
    expect(decoder.finished).toBe(true);
  });

  it('says one finish reason, however often it is told', () => {
    const [delta] = end('end_turn');
    const { chunks } = decodeAll([START, delta ?? {}, delta ?? {}, STOP]);
    expect(deltas(chunks)).toEqual([ROLE, { finish: 'stop' }]);
  });

  it('says one finish reason, even if it was never told', () => {
    expect(deltas(decodeAll([START, ...textBlock(0, 'a'), STOP]).chunks)).toEqual([
      ROLE,
      { content: 'a' },
      { finish: 'stop' },
    ]);
  });

  it('is followed by nothing', () => {
    const { decoder } = decodeAll([START, ...end('end_turn')]);
    expect(feed(decoder, [START, ...textBlock(0, 'a')])).toEqual([]);
    expect(decoder.decode({ event: undefined, data: '[DONE]' })).toEqual([]);
  });
});

describe('usage', () => {
  it('is known as far as it was said, also of a stream that was cut', () => {
    const decoder = translation().decoder({ strict: true });
    expect(decoder.usage).toBeUndefined();
    feed(decoder, [START, ...textBlock(0, 'a')]);
    expect(decoder.usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 1 });
    expect(decoder.finished).toBe(false);
  });

  it('at the end replaces what was said before; null says nothing', () => {
    const usage = {
      input_tokens: 20,
      cache_read_input_tokens: null,
      output_tokens: 30,
      output_tokens_details: { thinking_tokens: 12 },
    };
    const { decoder } = decodeAll([START, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }, STOP]);
    expect(decoder.usage).toEqual({
      prompt_tokens: 25,
      completion_tokens: 30,
      total_tokens: 55,
      prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 12 },
    });
  });

  it('that was never said gives no usage chunk', () => {
    const { chunks, decoder } = decodeAll([{ type: 'message_start', message: { id: 'm', model: 'x' } }, STOP]);
    expect(decoder.usage).toBeUndefined();
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([]);
  });
});

describe('faults of the provider', () => {
  const broken: readonly (readonly [what: string, data: string])[] = [
    ['no JSON', '<html>'],
    ['cut JSON', '{"type":"message_sta'],
    ['an empty event', ''],
    ['a list', '[]'],
    ['a number', '7'],
    ['null', 'null'],
    ["another maker's end", '[DONE]'],
  ];

  it.each(broken)('%s ends the stream', (_what, data) => {
    const { decoder } = decodeAll([START]);
    const error = failure(() => decoder.decode({ event: 'x', data }));
    expect(error).toMatchObject({ code: 'upstream_invalid', status: 502 });
    expect(decoder.finished).toBe(false);
  });

  const wrong: readonly (readonly [what: string, events: Json[]])[] = [
    ['text before the start', textBlock(0, 'a')],
    ['an end before the start', end('end_turn')],
    ['a second start', [START, START]],
    ['a start without message', [{ type: 'message_start' }]],
    ['a start without id', [{ type: 'message_start', message: { model: 'x' } }]],
    ['a start without model', [{ type: 'message_start', message: { id: 'x' } }]],
    ['a block start without block', [START, { type: 'content_block_start', index: 0 }]],
    ['a call without name', [START, begin(0, { type: 'tool_use', id: 'c' })]],
    ['a call without id', [START, begin(0, { type: 'tool_use', name: 'f' })]],
    ['a delta of no block', [START, go(0, { type: 'text_delta', text: 'a' })]],
    ['a delta of a closed block', [START, ...textBlock(0, 'a'), go(0, { type: 'text_delta', text: 'a' })]],
    ['a delta without delta', [START, begin(0, { type: 'text', text: '' }), { type: 'content_block_delta', index: 0 }]],
    ['text that is no string', [START, begin(0, { type: 'text', text: '' }), go(0, { type: 'text_delta', text: 7 })]],
    ['text without text', [START, begin(0, { type: 'text', text: '' }), go(0, { type: 'text_delta' })]],
    [
      'input that is no string',
      [
        START,
        begin(0, { type: 'tool_use', id: 'c', name: 'f' }),
        go(0, { type: 'input_json_delta', partial_json: {} }),
      ],
    ],
    [
      'thinking that is no string',
      [START, begin(0, { type: 'thinking' }), go(0, { type: 'thinking_delta', thinking: 7 })],
    ],
    ['a signature that is no string', [START, begin(0, { type: 'thinking' }), go(0, { type: 'signature_delta' })]],
    ['an error without message', [START, { type: 'error', error: {} }]],
  ];

  it.each(wrong)('%s ends the stream', (_what, events) => {
    expect(failure(() => decodeAll(events))).toMatchObject({ code: 'upstream_invalid', status: 502 });
  });

  it.each([
    ['overloaded_error', 'Overloaded', 'upstream_error'],
    ['api_error', 'Internal server error', 'upstream_error'],
    ['rate_limit_error', 'Slow down', 'upstream_rate_limited'],
  ])('%s is told in its own words', (type, message, code) => {
    const { decoder } = decodeAll([START, ...textBlock(0, 'a')]);
    const error = failure(() => feed(decoder, [{ type: 'error', error: { type, message } }]));
    expect(error).toMatchObject({ code, message });
    expect(decoder.finished).toBe(false);
    expect(decoder.usage).toMatchObject({ prompt_tokens: 15 });
  });
});

describe('two streams', () => {
  it('do not know of each other', () => {
    const one = translation().decoder({ strict: true });
    const two = translation().decoder({ strict: true });
    feed(one, [START, ...textBlock(0, 'a'), ...end('end_turn')]);
    expect(two.finished).toBe(false);
    expect(two.usage).toBeUndefined();
    expect(deltas(feed(two, [START, ...toolBlock(0, 'c', 'f'), ...end('tool_use')])).at(1)).toMatchObject({
      tool_calls: [{ index: 0 }],
    });
  });
});

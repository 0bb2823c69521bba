import { describe, expect, it } from 'vitest';
import type { Json } from '#gateway/providers/provider.ts';
import { encodeMessages, failure, frozen, HI } from './anthropic-chat.ts';

const CACHED = { cache_control: { type: 'ephemeral' } };

function user(content: unknown): Json {
  return { role: 'user', content };
}

function assistant(content: unknown, more: Json = {}): Json {
  return { role: 'assistant', content, ...more };
}

function call(id: string, name: string, args: unknown): Json {
  return { id, type: 'function', function: { name, arguments: args } };
}

function use(id: string, name: string, input: Json): Json {
  return { type: 'tool_use', id, name, input };
}

function result(id: string, content: unknown): Json {
  return { type: 'tool_result', tool_use_id: id, content };
}

describe('system', () => {
  const cases: readonly (readonly [what: string, messages: Json[], system: unknown])[] = [
    ['none', [HI], undefined],
    ['one system message', [{ role: 'system', content: 'A' }, HI], 'A'],
    ['one developer message', [{ role: 'developer', content: 'A' }, HI], 'A'],
    ['several', [{ role: 'system', content: 'A' }, { role: 'developer', content: 'B' }, HI], [text('A'), text('B')]],
    [
      'later ones too',
      [{ role: 'system', content: 'A' }, HI, { role: 'system', content: 'B' }],
      [text('A'), text('B')],
    ],
    ['parts', [{ role: 'system', content: [text('A'), text('B')] }, HI], [text('A'), text('B')]],
    ['cache_control', [{ role: 'system', content: [{ ...text('A'), ...CACHED }] }, HI], [{ ...text('A'), ...CACHED }]],
    ['an empty one as none', [{ role: 'system', content: '' }, HI], undefined],
  ];

  it.each(cases)('%s', (_what, messages, system) => {
    const body = encodeMessages(...frozen(messages));
    expect(body.system).toEqual(system);
    expect(body.messages).toEqual([HI]);
  });
});

function text(value: string): Json {
  return { type: 'text', text: value };
}

describe('turns alternate:', () => {
  const cases: readonly (readonly [what: string, messages: Json[], turns: Json[]])[] = [
    ['a conversation', [user('1'), assistant('2'), user('3')], [user('1'), assistant('2'), user('3')]],
    ['two of the user', [user('1'), user('2')], [user([text('1'), text('2')])]],
    ['two of the assistant', [HI, assistant('1'), assistant('2'), HI], [HI, assistant([text('1'), text('2')]), HI]],
    ['system between', [user('1'), { role: 'system', content: 'S' }, user('2')], [user([text('1'), text('2')])]],
    ['empty ones left out', [user('1'), assistant(''), user('2')], [user([text('1'), text('2')])]],
    ['null content left out', [user('1'), assistant(null), assistant('2'), HI], [user('1'), assistant('2'), HI]],
    ['empty parts left out', [user([text(''), text('1'), text('')])], [user('1')]],
    ['names left out', [{ ...user('1'), name: 'bob' }], [user('1')]],
  ];

  it.each(cases)('%s', (_what, messages, turns) => {
    expect(encodeMessages(...frozen(messages)).messages).toEqual(turns);
  });
});

describe('content parts', () => {
  const PNG = 'iVBORw0KGgo=';
  const cases: readonly (readonly [what: string, part: Json, block: Json])[] = [
    ['text with cache_control', { ...text('a'), ...CACHED }, { ...text('a'), ...CACHED }],
    [
      'an image by data URL',
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
    ],
    [
      'an image by data URL with parameters and in capitals',
      { type: 'image_url', image_url: { url: `DATA:Image/WEBP;name=a;Base64,${PNG}` } },
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: PNG } },
    ],
    [
      'the type that is no type',
      { type: 'image_url', image_url: { url: `data:image/jpg;base64,${PNG}` } },
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: PNG } },
    ],
    [
      'an image by URL',
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' }, ...CACHED },
      { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' }, ...CACHED },
    ],
    [
      'an image whose URL is said shortly',
      { type: 'image_url', image_url: 'http://example.org/a.png' },
      { type: 'image', source: { type: 'url', url: 'http://example.org/a.png' } },
    ],
    [
      'a PDF',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' },
    ],
    [
      'a text file',
      { type: 'file', file: { file_data: `data:text/plain;base64,${Buffer.from('Grüße').toString('base64')}` } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' } },
    ],
    [
      'an uploaded file',
      { type: 'file', file: { file_id: 'f-1' } },
      { type: 'document', source: { type: 'file', file_id: 'f-1' } },
    ],
    [
      'a file by URL',
      { type: 'file', file: { file_url: 'https://example.org/a.pdf' } },
      { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } },
    ],
    [
      "the provider's own image",
      { type: 'image', source: { type: 'file', file_id: 'f' } },
      { type: 'image', source: { type: 'file', file_id: 'f' } },
    ],
    [
      "the provider's own document",
      { type: 'document', source: { type: 'url', url: 'https://a' }, citations: { enabled: true } },
      { type: 'document', source: { type: 'url', url: 'https://a' }, citations: { enabled: true } },
    ],
  ];

  it.each(cases)('%s', (_what, part, block) => {
    expect(encodeMessages(frozen(user([text('see'), part]))).messages).toEqual([user([text('see'), block])]);
  });

  it('a refusal said by the assistant stays text', () => {
    const messages = [HI, assistant([{ type: 'refusal', refusal: 'No.' }]), HI];
    expect(encodeMessages(...messages).messages).toEqual([HI, assistant('No.'), HI]);
    expect(encodeMessages(HI, assistant(null, { refusal: 'No.' }), HI).messages).toEqual([HI, assistant('No.'), HI]);
  });

  it('a large image is cut in no time', () => {
    const url = `data:image/png;base64,${'A'.repeat(20_000_000)}`;
    const started = performance.now();
    encodeMessages(user([{ type: 'image_url', image_url: { url } }]));
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  const refused: readonly (readonly [param: string, part: unknown])[] = [
    ['messages[0].content[1]', 'text'],
    ['messages[0].content[1].type', { text: 'a' }],
    ['messages[0].content[1].type', { type: 'video_url' }],
    ['messages[0].content[1].type', { type: 'constructor' }],
    ['messages[0].content[1].text', { type: 'text' }],
    ['messages[0].content[1]', { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }],
    ['messages[0].content[1].image_url', { type: 'image_url' }],
    ['messages[0].content[1].image_url.url', { type: 'image_url', image_url: {} }],
    ['messages[0].content[1].image_url.url', { type: 'image_url', image_url: { url: 'ftp://a/b.png' } }],
    ['messages[0].content[1].image_url.url', { type: 'image_url', image_url: { url: 'data:image/png,raw' } }],
    ['messages[0].content[1].image_url', { type: 'image_url', image_url: 'a.png' }],
    ['messages[0].content[1].file', { type: 'file' }],
    ['messages[0].content[1].file.file_data', { type: 'file', file: {} }],
    [
      'messages[0].content[1].file.file_data',
      { type: 'file', file: { file_data: 'data:application/zip;base64,UEs=' } },
    ],
  ];

  it.each(refused)('refused at %s: %j', (param, part) => {
    expect(failure(() => encodeMessages(user([text('a'), part]))).details.param).toBe(param);
  });
});

describe('tool calls', () => {
  it('and their results become blocks; results of parallel calls are one turn', () => {
    const messages = [
      user('Weather?'),
      assistant('I look.', { tool_calls: [call('c1', 'w', '{"city":"Oslo"}'), call('c2', 'w', '{"city":"Rome"}')] }),
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      { role: 'tool', tool_call_id: 'c2', content: [text('sun'), text('wind')] },
      user('And?'),
    ];
    expect(encodeMessages(...frozen(messages)).messages).toEqual([
      user('Weather?'),
      assistant([text('I look.'), use('c1', 'w', { city: 'Oslo' }), use('c2', 'w', { city: 'Rome' })]),
      user([result('c1', 'rain'), result('c2', [text('sun'), text('wind')]), text('And?')]),
    ]);
  });

  it.each([
    ['an object', '{"a":[1,{"b":null}]}', { a: [1, { b: null }] }],
    ['nothing', '', {}],
    ['white space', ' \n', {}],
    ['null', null, {}],
    ['undefined', undefined, {}],
    ['an empty object', '{}', {}],
  ])('with %s as arguments', (_what, args, input) => {
    const { messages } = encodeMessages(HI, assistant(null, { tool_calls: [call('c', 'f', args)] }));
    expect(messages).toEqual([HI, assistant([use('c', 'f', input)])]);
  });

  it('with cache_control keep it', () => {
    const { messages } = encodeMessages(HI, assistant('', { tool_calls: [{ ...call('c', 'f', '{}'), ...CACHED }] }));
    expect(messages).toEqual([HI, assistant([{ ...use('c', 'f', {}), ...CACHED }])]);
  });

  it('of other makers get ids that the provider takes, the same in call and result', () => {
    const messages = [
      HI,
      assistant('', { tool_calls: [call('functions.f:0', 'f', '{}')] }),
      { role: 'tool', tool_call_id: 'functions.f:0', content: 'x' },
    ];
    const [, called, answered] = encodeMessages(...messages).messages as Json[];
    expect(called).toEqual(assistant([use('functions_f_0', 'f', {})]));
    expect(answered).toEqual(user([result('functions_f_0', 'x')]));
  });

  it('that failed say so, and results may hold images, or nothing', () => {
    const image = { type: 'image_url', image_url: { url: 'https://a/b.png' } };
    const messages = [
      HI,
      assistant('', { tool_calls: [call('a', 'f', ''), call('b', 'f', ''), call('c', 'f', '')] }),
      { role: 'tool', tool_call_id: 'a', content: 'boom', is_error: true },
      { role: 'tool', tool_call_id: 'b', content: [image], ...CACHED },
      { role: 'tool', tool_call_id: 'c', content: '' },
    ];
    const turns = encodeMessages(...frozen(messages)).messages as Json[];
    expect(turns[2]).toEqual(
      user([
        { ...result('a', 'boom'), is_error: true },
        { ...result('b', [{ type: 'image', source: { type: 'url', url: 'https://a/b.png' } }]), ...CACHED },
        result('c', ''),
      ]),
    );
  });

  it('by the deprecated function_call are matched by name', () => {
    const messages = [
      HI,
      assistant(null, { function_call: { name: 'f', arguments: '{"a":1}' } }),
      { role: 'function', name: 'f', content: 'one' },
      assistant(null, { function_call: { name: 'f', arguments: '{"a":2}' } }),
      { role: 'function', name: 'f', content: 'two' },
    ];
    const turns = encodeMessages(...frozen(messages)).messages as { role: string; content: Json[] }[];
    const [first, firstResult, second, secondResult] = turns.slice(1).map(({ content }) => content[0]);
    expect(first).toMatchObject({ type: 'tool_use', name: 'f', input: { a: 1 } });
    expect(firstResult).toMatchObject({ type: 'tool_result', tool_use_id: first?.id, content: 'one' });
    expect(secondResult).toMatchObject({ type: 'tool_result', tool_use_id: second?.id, content: 'two' });
    expect(first?.id).not.toBe(second?.id);
    expect(first?.id).toMatch(/^[a-zA-Z0-9_-]+$/);
  });

  const wrong: readonly (readonly [param: string, message: Json])[] = [
    [
      'messages[1].tool_calls[1].function.arguments',
      assistant('', { tool_calls: [call('a', 'f', '{}'), call('b', 'f', '{"a":')] }),
    ],
    ['messages[1].tool_calls[0].function.arguments', assistant('', { tool_calls: [call('a', 'f', '[1]')] })],
    ['messages[1].tool_calls[0].function.arguments', assistant('', { tool_calls: [call('a', 'f', { a: 1 })] })],
    ['messages[1].tool_calls[0].function.name', assistant('', { tool_calls: [{ id: 'a', function: {} }] })],
    ['messages[1].tool_calls[0].id', assistant('', { tool_calls: [{ function: { name: 'f' } }] })],
    ['messages[1].tool_calls[0].function', assistant('', { tool_calls: [{ id: 'a', type: 'custom', custom: {} }] })],
    ['messages[1].tool_calls[0]', assistant('', { tool_calls: ['f'] })],
    ['messages[1].tool_calls', assistant('', { tool_calls: 'f' })],
    ['messages[1].function_call.arguments', assistant('', { function_call: { name: 'f', arguments: 'x' } })],
    ['messages[1].tool_call_id', { role: 'tool', content: 'x' }],
    ['messages[1].content', { role: 'tool', tool_call_id: 'x', content: 7 }],
    ['messages[1].name', { role: 'function', name: 'never', content: 'x' }],
    ['messages[1].name', { role: 'function', content: 'x' }],
  ];

  it.each(wrong)('are refused at %s', (param, message) => {
    expect(failure(() => encodeMessages(HI, message)).details.param).toBe(param);
  });
});

describe('an assistant message at the end (prefill)', () => {
  it.each([
    ['The answer is (', 'The answer is ('],
    ['The answer is \n ', 'The answer is'],
  ])('"%s" is sent as "%s", because the provider refuses white space there', (said, sent) => {
    expect(encodeMessages(HI, assistant(said)).messages).toEqual([HI, assistant(sent)]);
  });

  it('of white space alone is none', () => {
    expect(encodeMessages(HI, assistant('  ')).messages).toEqual([HI]);
    expect(failure(() => encodeMessages(assistant('  '))).details.param).toBe('messages');
  });

  it('elsewhere keeps its white space', () => {
    expect(encodeMessages(HI, assistant('a '), HI).messages).toEqual([HI, assistant('a '), HI]);
    expect(encodeMessages(user('a ')).messages).toEqual([user('a ')]);
  });
});

describe('thinking given back', () => {
  const thought = { type: 'thinking', thinking: 'Hm', signature: 's1' };
  const second = { type: 'thinking', thinking: 'Hm again', signature: 's2' };
  const hidden = { type: 'redacted_thinking', data: 'xyz' };
  const calls = { tool_calls: [call('c1', 'f', '{"a":1}'), call('c2', 'g', '{}')] };

  function content(message: Json): unknown {
    const [, turn] = encodeMessages(HI, frozen(message), HI).messages as Json[];
    return turn?.content;
  }

  it('stands before text and calls', () => {
    expect(content(assistant('Well.', { content_blocks: [thought, hidden] }))).toEqual([
      thought,
      hidden,
      text('Well.'),
    ]);
    expect(content(assistant(null, { content_blocks: [thought], ...calls }))).toEqual([
      thought,
      use('c1', 'f', { a: 1 }),
      use('c2', 'g', {}),
    ]);
  });

  it('keeps its place among text and calls that were shown', () => {
    const shown = [thought, text('Well.'), second, use('c1', 'f', { a: 1 }), use('c2', 'g', {})];
    expect(content(assistant('Well.', { content_blocks: shown, ...calls }))).toEqual(shown);
  });

  it('does not bring back text that was changed since', () => {
    const shown = [thought, text('Secret'), second, use('c1', 'f', { a: 1 })];
    expect(content(assistant('Redacted', { content_blocks: shown, ...calls }))).toEqual([
      thought,
      text('Redacted'),
      second,
      use('c1', 'f', { a: 1 }),
      use('c2', 'g', {}),
    ]);
  });

  it('does not bring back calls that are gone, and says calls as tool_calls has them', () => {
    const shown = [thought, use('gone', 'f', {}), use('c2', 'g', { old: true })];
    expect(content(assistant(null, { content_blocks: shown, ...calls }))).toEqual([
      thought,
      use('c2', 'g', {}),
      use('c1', 'f', { a: 1 }),
    ]);
  });

  it('leaves out kinds that nobody takes back', () => {
    expect(content(assistant('a', { content_blocks: [{ type: 'image' }, 'x', text('a')] }))).toBe('a');
    expect(content(assistant('a', { content_blocks: 'x' }))).toBe('a');
  });

  it('may also stand in the content itself', () => {
    expect(content(assistant([thought, text('a')]))).toEqual([thought, text('a')]);
  });
});

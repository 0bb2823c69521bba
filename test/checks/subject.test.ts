/** Which texts a body has, for every endpoint and dialect, and how other texts are put in their place. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { applyRewrites, rewriteText } from '#gateway/checks/rewrite.ts';
import type { Subject } from '#gateway/checks/subject.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { answer, find, request } from './subjects.ts';

/** `role/part/turn text` of each. */
function told({ texts }: Subject): string[] {
  return texts.map(
    ({ role, part, turn, text, repeats }) => `${role}/${part}/${turn}${repeats ? '/again' : ''} ${text}`,
  );
}

const TOOL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"city":"\\u0042erlin"}' } };

describe('the texts of a request', () => {
  test.each<[what: string, body: Json, texts: string[], last: string]>([
    [
      'chat with plain messages',
      {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Hi' },
        ],
      },
      ['system/text/0 Be kind.', 'user/text/1 Hi'],
      'Hi',
    ],
    [
      'chat with parts: the texts of the last message are one text',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look' },
              { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
              { type: 'text', text: 'here' },
            ],
          },
        ],
      },
      ['user/text/0 Look', 'user/text/0 here'],
      'Look\nhere',
    ],
    [
      'calls of tools, with their escapes resolved, and what the tools said',
      {
        messages: [
          { role: 'assistant', content: null, tool_calls: [TOOL] },
          { role: 'tool', tool_call_id: 'c', content: 'Sunny' },
        ],
      },
      ['assistant/arguments/0 {"city":"Berlin"}', 'tool/text/1 Sunny'],
      'Sunny',
    ],
    [
      'the old form of calls',
      { messages: [{ role: 'assistant', content: null, function_call: { name: 'f', arguments: 'not JSON \\' } }] },
      ['assistant/arguments/0 not JSON \\'],
      '',
    ],
    [
      'thinking and refusals that are sent back',
      { messages: [{ role: 'assistant', reasoning_content: 'Hm.', refusal: 'No.', content: 'Well' }] },
      ['assistant/thinking/0 Hm.', 'assistant/text/0 No.', 'assistant/text/0 Well'],
      'No.\nWell',
    ],
    [
      'definitions of tools',
      {
        tools: [{ type: 'function', function: { name: 'f', description: 'Does f' } }],
        messages: [{ role: 'user', content: 'Go' }],
      },
      ['system/arguments/-1 {"type":"function","function":{"name":"f","description":"Does f"}}', 'user/text/0 Go'],
      'Go',
    ],
    ['a completion', { prompt: 'Once', suffix: 'end' }, ['user/text/0 Once', 'user/text/0 end'], 'Once\nend'],
    ['several prompts', { prompt: ['a', 'b'] }, ['user/text/0 a', 'user/text/0 b'], 'a\nb'],
    ['embeddings', { input: ['a', 'b'] }, ['user/text/0 a', 'user/text/0 b'], 'a\nb'],
    ['one embedding', { input: 'a' }, ['user/text/0 a'], 'a'],
    [
      'rerank',
      { query: 'q', documents: ['d', { text: 'e' }] },
      ['user/text/0 q', 'user/text/0 d', 'user/text/0 e'],
      'q\nd\ne',
    ],
    [
      'responses',
      {
        instructions: 'Be brief.',
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
          {
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: 'Hm' }],
            content: [{ type: 'reasoning_text', text: 'So' }],
          },
          { type: 'function_call', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'Done' },
        ],
      },
      [
        'system/text/-1 Be brief.',
        'user/text/0 Hi',
        'assistant/thinking/1 Hm',
        'assistant/thinking/1 So',
        'assistant/arguments/2 {}',
        'tool/text/3 Done',
      ],
      'Done',
    ],
    [
      "Anthropic's messages",
      {
        system: [{ type: 'text', text: 'Be kind.' }],
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm', signature: 's' },
              { type: 'tool_use', id: 't', name: 'f', input: { city: 'Berlin' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'Sunny' }] },
              { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Annex' } },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
              { type: 'text', text: 'And?' },
            ],
          },
        ],
      },
      [
        'system/text/-1 Be kind.',
        'user/text/0 Hi',
        'assistant/thinking/1 Hm',
        'assistant/arguments/1 {"city":"Berlin"}',
        'tool/text/2 Sunny',
        'user/text/2 Annex',
        'user/text/2 And?',
      ],
      'Sunny\nAnnex\nAnd?',
    ],
    ['nothing', {}, [], ''],
    ['what is of no shape at all', { messages: 7, prompt: null, input: [null, []], system: { a: 'b' } }, [], ''],
  ])('%s', (_what, body, texts, last) => {
    const subject = request(body);
    expect(told(subject)).toEqual(texts);
    expect(subject.last).toBe(last);
  });

  it.each([{ prompt: [1, 2, 3] }, { input: [[1, 2], [3]] }, { input: ['a', [4]] }, { prompt: [7] }])(
    'cannot be read from the tokens of %j, which is an error and no empty text',
    async (body) => {
      expect(() => request(body).texts).toThrow(/Tokens cannot be checked: send (prompt|input) as text\./);
      await expect(find('pii', {}, request(body))).rejects.toThrow(/Tokens/);
      await expect(find('notNull', {}, request(body))).rejects.toThrow(/Tokens/);
      expect((await find('modelWhitelist', { models: ['*'] }, request(body))).verdict).toBe(true);
    },
  );

  it('finds own fields alone', () => {
    const body = Object.create({ messages: [{ role: 'user', content: 'inherited' }] }) as Json;
    expect(request(body).texts).toEqual([]);
    expect(request(JSON.parse('{"__proto__":{"prompt":"x"},"constructor":{"text":"y"}}')).texts).toEqual([]);
  });
});

describe('the texts of an answer', () => {
  test.each<[what: string, body: Json, texts: string[], last: string]>([
    [
      'chat with two choices: the first is the last word',
      {
        choices: [
          { message: { role: 'assistant', content: 'One' } },
          { message: { role: 'assistant', content: 'Two' } },
        ],
      },
      ['assistant/text/0 One', 'assistant/text/1 Two'],
      'One',
    ],
    [
      'thinking, blocks that repeat the text, calls',
      {
        choices: [
          {
            message: {
              role: 'assistant',
              content: 'Yes',
              content_blocks: [
                { type: 'thinking', thinking: 'Hm' },
                { type: 'text', text: 'Yes' },
              ],
              tool_calls: [TOOL],
            },
          },
        ],
      },
      [
        'assistant/text/0 Yes',
        'assistant/thinking/0/again Hm',
        'assistant/text/0/again Yes',
        'assistant/arguments/0 {"city":"Berlin"}',
      ],
      'Yes',
    ],
    ['a completion', { choices: [{ text: 'upon a time' }] }, ['assistant/text/0 upon a time'], 'upon a time'],
    [
      "Anthropic's message",
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm' },
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'there' },
        ],
      },
      ['assistant/thinking/0 Hm', 'assistant/text/0 Hi', 'assistant/text/0 there'],
      'Hi\nthere',
    ],
    [
      'responses',
      { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }] },
      ['assistant/text/0 Hi'],
      'Hi',
    ],
    ['embeddings', { data: [{ embedding: [0.1] }] }, [], ''],
  ])('%s', (_what, body, texts, last) => {
    const subject = answer(body);
    expect(told(subject)).toEqual(texts);
    expect(subject.last).toBe(last);
  });
});

describe('rewriting', () => {
  const body: Json = {
    system: 'S',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [{ type: 'tool_use', input: { q: 'a' } }], tool_calls: [TOOL] },
    ],
  };

  it('puts every text in its place, and leaves the given body alone', () => {
    const before = structuredClone(body);
    const subject = request(body);
    const rewrites = subject.texts.map((text) =>
      rewriteText(text, text.part === 'arguments' ? '{"q":"new"}' : `new ${text.text}`),
    );
    expect(applyRewrites(body, rewrites)).toEqual({
      system: 'new S',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'new a' }] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', input: { q: 'new' } }],
          tool_calls: [{ ...TOOL, function: { name: 'f', arguments: '{"q":"new"}' } }],
        },
      ],
    });
    expect(body).toEqual(before);
  });

  it('shares what it does not change', () => {
    const [first] = request(body).texts;
    if (first === undefined) throw new Error('there is a text');
    expect(applyRewrites(body, [rewriteText(first, 'T')]).messages).toBe(body.messages);
  });

  it('may replace the whole', () => {
    expect(applyRewrites(body, [{ path: [], value: { prompt: 'x' } }])).toEqual({ prompt: 'x' });
  });

  it.each([
    ['an object', { content: [{ type: 'tool_use', input: { q: 1 } }] }],
    ['a text', { content: [{ type: 'x', arguments: '{"q":1}' }] }],
  ])('refuses arguments that would be no JSON any more, of %s', (_what, content) => {
    const [text] = answer(content).texts;
    if (text === undefined) throw new Error('there is a text');
    expect(() => rewriteText(text, '{"q":')).toThrow(/no JSON/);
  });

  it('lets arguments be as broken as they were', () => {
    const [text] = answer({ content: [{ arguments: '{"q":' }] }).texts;
    if (text === undefined) throw new Error('there is a text');
    expect(rewriteText(text, '{"r":').value).toBe('{"r":');
  });

  it.each([
    [['messages', 9, 'content']],
    [['nowhere']],
    [['system', 'x']],
    [['constructor', 'x']],
    [['__proto__', 'x']],
  ])('refuses the path %j, which leads nowhere', (path) => {
    expect(() => applyRewrites(body, [{ path, value: 1 }])).toThrow(/no place/);
    expect(({} as Json).x).toBeUndefined();
  });

  it('writes back whatever was read, for any body', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.constantFrom('messages', 'input', 'system', 'prompt'),
        (value, name) => {
          const given = { [name]: value } as Json;
          fc.pre(!(Array.isArray(value) && value.some((item) => typeof item === 'number' || Array.isArray(item))));
          const subject = request(given);
          const same = subject.texts.map((text) => ({ path: text.path, value: text.given }));
          expect(applyRewrites(given, same)).toEqual(given);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('reads from a rewritten body what was written', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 }),
        fc.string(),
        (contents, put) => {
          const subject = request({ messages: contents.map((content) => ({ role: 'user', content })) });
          const next = subject.withBody(
            applyRewrites(
              subject.body,
              subject.texts.map((text) => rewriteText(text, put)),
            ),
          );
          expect(next.texts.map(({ text }) => text)).toEqual(contents.map(() => put));
          expect(next.model).toBe(subject.model);
        },
      ),
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { CacheRequest } from '#gateway/cache/cache-key.ts';
import { type SemanticQuestion, semanticQuestion } from '#gateway/cache/semantic-question.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { ENDPOINTS, requestOf, scopeOf } from './requests.ts';

const MODEL = '@openai/embed-small';

function asked(parts: Partial<CacheRequest> = {}, tokens = 10, model = MODEL): SemanticQuestion | undefined {
  return semanticQuestion(requestOf(parts), tokens, model);
}

function chat(messages: readonly unknown[], more: Json = {}): Partial<CacheRequest> {
  return { body: { model: 'gpt-test', messages, ...more } };
}

const user = (content: unknown) => ({ role: 'user', content });
const system = (content: string) => ({ role: 'system', content });
const PLAIN = chat([user('Where is Rome?')]);
const SHELF = asked(PLAIN)?.shelf.digest;

describe('the text whose meaning is compared', () => {
  it.each([
    ['one message', [user('Where is Rome?')], 'Where is Rome?'],
    ['the system left out', [system('Be brief.'), user('Where is Rome?')], 'Where is Rome?'],
    ['the developer left out', [{ role: 'developer', content: 'Be brief.' }, user('Hi')], 'Hi'],
    [
      'what the model said left out',
      [user('Hi'), { role: 'assistant', content: 'Hello.' }, user('Rome?')],
      'Hi\n\nRome?',
    ],
    [
      'parts of text',
      [
        user([
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ]),
      ],
      'a\n\nb',
    ],
    [
      'pictures left out',
      [
        user([
          { type: 'image_url', image_url: { url: 'x' } },
          { type: 'text', text: 'What?' },
        ]),
      ],
      'What?',
    ],
  ])('%s', (_what, messages, text) => {
    expect(asked(chat(messages))?.text).toBe(text);
  });

  it.each([
    ['Where is Rome?', 'Where is Rome?'],
    [['Where is Rome?'], 'Where is Rome?'],
  ])('of a text completion: %j', (prompt, text) => {
    expect(asked({ endpoint: ENDPOINTS.complete, body: { prompt } })?.text).toBe(text);
  });
});

describe('requests that only an equal one can answer', () => {
  it.each([
    ['embeddings', { endpoint: ENDPOINTS.embed, body: { input: 'Hi' } }],
    ['messages', { endpoint: ENDPOINTS.messages, body: { messages: [user('Hi')] } }],
    ['more than four messages', chat(Array(5).fill(user('Hi')))],
    ['more than four with the system’s', chat([system('x'), ...Array(4).fill(user('Hi'))])],
    ['no words of a user', chat([system('x')])],
    ['nothing but white space', chat([user(' \n')])],
    ['nothing but a picture', chat([user([{ type: 'image_url', image_url: { url: 'x' } }])])],
    ['no messages', { body: {} }],
    ['messages that are none', chat(['Hi'])],
    ['several prompts', { endpoint: ENDPOINTS.complete, body: { prompt: ['a', 'b'] } }],
    ['tokens for a prompt', { endpoint: ENDPOINTS.complete, body: { prompt: [1, 2] } }],
    ['numbers that cannot be told apart', chat([user('Hi')], { seed: 2 ** 60 })],
  ] satisfies [string, Partial<CacheRequest>][])('%s', (_what, parts) => {
    expect(asked(parts)).toBeUndefined();
  });

  it('8,192 tokens, and not one less', () => {
    expect(asked(PLAIN, 8_192)).toBeUndefined();
    expect(asked(PLAIN, 8_191)).toBeDefined();
  });

  it('four messages may be', () => {
    expect(asked(chat(Array(4).fill(user('Hi'))))).toBeDefined();
  });
});

describe('what must be equal', () => {
  it.each([
    ['the users’ words', chat([user('Where is Roma?')])],
    ['the system’s words', chat([system('Be brief.'), user('Where is Rome?')])],
    [
      'whether it is streamed',
      chat([user('Where is Rome?')], { stream: true, stream_options: { include_usage: true } }),
    ],
    ['a text in parts', chat([user([{ type: 'text', text: 'Where is Rome?' }])])],
  ])('not: %s', (_what, parts) => {
    expect(asked(parts)?.shelf.digest).toBe(SHELF);
  });

  it.each([
    ['the workspace', { ...PLAIN, scope: scopeOf({ workspace: 'team-b' }) }],
    ['the cache namespace', { ...PLAIN, scope: scopeOf({ cacheNamespace: 'shop' }) }],
    ['the metadata', { ...PLAIN, scope: scopeOf({ metadata: { _user: 'bob' } }) }],
    ['the provider', { ...PLAIN, provider: 'anthropic' }],
    ['the upstream', { ...PLAIN, upstream: 'https://elsewhere.example.com' }],
    ['what becomes of the answer', { ...PLAIN, treatment: 'redacted' }],
    ['the model', chat([user('Where is Rome?')], { model: 'gpt-other' })],
    ['a parameter', chat([user('Where is Rome?')], { temperature: 0.5 })],
    ['the tools', chat([user('Where is Rome?')], { tools: [{ type: 'function', function: { name: 'f' } }] })],
    ['who spoke', chat([user('Where is Rome?'), { role: 'assistant', content: 'In Italy.' }])],
    ['the name of a user', chat([{ role: 'user', name: 'bob', content: 'Where is Rome?' }])],
    ['how many messages there are', chat([user('Where is'), user('Rome?')])],
    [
      'a picture',
      chat([
        user([
          { type: 'image_url', image_url: { url: 'x' } },
          { type: 'text', text: 'Where?' },
        ]),
      ]),
    ],
  ] satisfies [string, Partial<CacheRequest>][])('%s', (_what, parts) => {
    expect(asked(parts)?.shelf.digest).not.toBe(SHELF);
  });

  it('what the model said, what tools gave, and pictures', () => {
    const said = (content: string) =>
      asked(chat([user('Hi'), { role: 'assistant', content }, user('And?')]))?.shelf.digest;
    const shown = (url: string) =>
      asked(
        chat([
          user([
            { type: 'image_url', image_url: { url } },
            { type: 'text', text: 'What?' },
          ]),
        ]),
      )?.shelf.digest;
    expect(said('Rome')).not.toBe(said('Oslo'));
    expect(shown('a')).not.toBe(shown('b'));
    expect(said('Rome')).toBe(said('Rome'));
  });

  it('the model that embeds', () => {
    expect(asked(PLAIN, 10, '@openai/embed-large')?.shelf.digest).not.toBe(SHELF);
  });

  it('a shelf is never the place of an answer', () => {
    expect(asked({ endpoint: ENDPOINTS.complete, body: { prompt: 'x' } })?.shelf.digest).not.toBe(
      asked({ endpoint: ENDPOINTS.complete, body: { prompt: 'y', x: 1 } })?.shelf.digest,
    );
    expect(asked(PLAIN)?.shelf.workspace).toBe('team-a');
  });
});

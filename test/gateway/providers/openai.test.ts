import { describe, expect, it } from 'vitest';
import { CATALOG } from '#gateway/catalog.ts';
import { OPENAI_KIN } from '#gateway/providers/openai/kin.ts';
import { openAiCompatible } from '#gateway/providers/openai/provider.ts';
import { PROVIDERS } from '#gateway/providers/registry.ts';

function kin(name: string) {
  const provider = OPENAI_KIN.find((row) => row.name === name);
  if (provider === undefined) throw new Error(`no row ${name}`);
  return provider;
}

describe('credentials', () => {
  it.each([
    ['openai', { api_key: 'sk-1' }, ['authorization', 'Bearer sk-1']],
    ['openai', {}, []],
    ['openai', { api_key: '' }, []],
    ['openai', { api_key: 7 }, []],
    [
      'openai',
      { api_key: 'sk-1', vendor_organization: 'org-1', vendor_project: 'proj-1' },
      ['authorization', 'Bearer sk-1', 'openai-organization', 'org-1', 'openai-project', 'proj-1'],
    ],
    ['openai', { vendor_project: 'proj-1' }, ['openai-project', 'proj-1']],
    ['openai', { api_key: 'sk-1', vendor_organization: '' }, ['authorization', 'Bearer sk-1']],
    ['groq', { api_key: 'gsk', vendor_organization: 'org-1' }, ['authorization', 'Bearer gsk']],
    ['ollama', {}, []],
    ['vllm', { api_key: 'token' }, ['authorization', 'Bearer token']],
  ])('%s with %j sends %j', (name, credentials, headers) => {
    expect(kin(name).authorize(credentials)).toEqual(headers);
  });
});

describe('error bodies', () => {
  const read = kin('openai').readProblem;
  const problem = (message: string, rest: object = {}) => ({
    message,
    type: undefined,
    code: undefined,
    param: undefined,
    ...rest,
  });

  it.each([
    [
      {
        error: {
          message: 'Too long.',
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
      problem('Too long.', { type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' }),
    ],
    [{ error: { message: 'No.', type: null, param: null, code: null } }, problem('No.')],
    [{ error: { message: 'No.', code: 402 } }, problem('No.', { code: '402' })],
    [{ error: 'model not found' }, problem('model not found')],
    [{ error: 'Bad key.', code: 'invalid-argument' }, problem('Bad key.', { code: 'invalid-argument' })],
    [
      { object: 'error', message: 'Too big.', type: 'BadRequestError', param: null, code: 400 },
      problem('Too big.', { type: 'BadRequestError', code: '400' }),
    ],
    [{ detail: 'Unauthorized' }, problem('Unauthorized')],
    [{ detail: [{ loc: ['body', 'n'], msg: 'not a number', type: 'int' }] }, problem('not a number', { param: 'n' })],
    [
      { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'bad role' }, { msg: 'second' }] },
      problem('bad role', { param: 'messages.0.role' }),
    ],
    [{ message: { detail: [{ loc: ['body'], msg: 'extra field' }] } }, problem('extra field')],
    [{ error: { error: { message: 'Deep.' } } }, problem('Deep.')],
  ])('%j', (body, expected) => {
    expect(read(body)).toEqual(expected);
  });

  it.each([
    [undefined],
    [null],
    ['text'],
    [42],
    [[]],
    [{}],
    [{ error: {} }],
    [{ error: null }],
    [{ error: '' }],
    [{ detail: [] }],
    [{ detail: ['text'] }],
    [{ object: 'list', data: [] }],
  ])('%j is not one', (body) => {
    expect(read(body)).toBeUndefined();
  });
});

describe('words for a context window that is too small', () => {
  const words = kin('openai').contextLengthWords;
  const tellsOf = (text: string) => words.some((word) => text.toLowerCase().includes(word));

  it.each([
    'context_length_exceeded',
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    'Please reduce the length of the messages or completion.',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'Invalid request: Your request exceeded model token limit: 8192',
    'the request exceeds the available context size (4096 tokens)',
  ])('knows: %s', (text) => {
    expect(tellsOf(text)).toBe(true);
  });

  it.each([
    'content_policy_violation',
    'Your request was rejected as a result of our safety system.',
    "Invalid value for 'temperature'.",
    "Invalid 'messages[0].content': string too long.",
    'max_tokens is too large: 100000.',
  ])('is not: %s', (text) => {
    expect(tellsOf(text)).toBe(false);
  });

  it('is written in lower case, as it is compared', () => {
    for (const provider of PROVIDERS.values()) {
      for (const word of provider.contextLengthWords) expect(word).toBe(word.toLowerCase());
    }
  });
});

describe('a row', () => {
  it('takes its defaults and keeps its differences', () => {
    const row = openAiCompatible({
      name: 'mine',
      baseUrl: 'https://mine.example/v1',
      operations: ['chat'],
      streamUsageOnRequest: false,
    });
    expect(row).toMatchObject({ name: 'mine', dialect: 'openai', needsCredential: true, streamUsageOnRequest: false });
    expect(row.operations).toEqual({ chat: { path: '/chat/completions' } });
    expect(row.authorize({ api_key: 'k' })).toEqual(['authorization', 'Bearer k']);
  });
});

describe('the registry', () => {
  it('has no name twice', () => {
    expect(OPENAI_KIN.length).toBeGreaterThan(20);
    expect(PROVIDERS.size).toBe(OPENAI_KIN.length + 2);
  });

  it.each([...PROVIDERS.values()].map((provider) => [provider.name, provider] as const))('%s is sound', (name, row) => {
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(row.operations.chat?.path).toMatch(/^\/[a-z/]+$/);
    if (row.baseUrl !== undefined) {
      const url = new URL(row.baseUrl);
      expect(row.baseUrl).toBe(`${url.origin}${url.pathname === '/' ? '' : url.pathname}`);
      expect(row.baseUrl.endsWith('/')).toBe(false);
      expect(url.protocol).toBe(url.hostname === 'localhost' ? 'http:' : 'https:');
    }
    expect(row.needsCredential).toBe(row.baseUrl?.startsWith('https:') ?? false);
    expect(row.chat === undefined).toBe(row.dialect === 'openai');
    expect(row.authorize({}).length % 2).toBe(0);
  });
});

describe('the catalogue', () => {
  it('tells the operator of every provider', () => {
    expect([...CATALOG.providers.keys()].toSorted()).toEqual([...PROVIDERS.keys()].toSorted());
    for (const [name, row] of CATALOG.providers) expect(row.name).toBe(name);
  });

  it.each([
    ['openai', true, true],
    ['anthropic', true, true],
    ['ollama', false, true],
    ['openai-compatible', false, false],
    ['simulator', false, true],
  ])('%s: needs a credential %s, has a host of its own %s', (name, needsCredential, hasBaseUrl) => {
    expect(CATALOG.providers.get(name)).toMatchObject({ needsCredential, hasBaseUrl });
  });

  it('lists operations', () => {
    expect(CATALOG.providers.get('openai')?.operations).toEqual(['chat', 'complete', 'embed']);
    expect(CATALOG.providers.get('groq')?.operations).toEqual(['chat']);
  });
});

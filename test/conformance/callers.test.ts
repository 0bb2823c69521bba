/** Who is calling: where a key may stand, which keys count, what they may do. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, defaultConfig } from '../fakes/objects.ts';
import { failureOf, HI, HI_MESSAGE, type Stage, startStage, target } from './stage.ts';

const KEY = 'callers-key-0123456789';
const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString();
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    if (upstream === undefined) throw new Error('one upstream');
    return [
      defaultConfig('house', target(upstream)),
      apiKey('caller', KEY),
      apiKey('off', 'off-key-01234567890', { disabled: true }),
      apiKey('gone', 'gone-key-0123456789', { expires_at: YESTERDAY }),
      apiKey('later', 'later-key-0123456789', { expires_at: TOMORROW }),
      apiKey('reader', 'reader-key-0123456789', { scopes: ['models.list'] }),
      apiKey('writer', 'writer-key-0123456789', { scopes: ['completions.write'] }),
      apiKey('prompter', 'prompter-key-0123456789', { scopes: ['prompts.render', 'logs.list'] }),
      apiKey('user', 'user-key-0123456789', { type: 'workspace-user' }),
      apiKey('org', 'org-key-01234567890', { type: 'organisation-service' }, 'model-gateway'),
    ].join('');
  });
});
afterAll(() => stage.close());

function bare(path: string, headers: Record<string, string>, body: object = HI): Promise<Response> {
  return stage.gateway.post(path, body, { 'x-gateway-api-key': '', ...headers });
}

describe('a key', () => {
  it.each([
    ['its own header', { 'x-gateway-api-key': KEY }],
    ['bearer', { authorization: `Bearer ${KEY}` }],
    ['bearer in lower case', { authorization: `bearer ${KEY}` }],
    ['x-api-key', { 'x-api-key': KEY }],
    ['its own header, whatever the bearer is', { 'x-gateway-api-key': KEY, authorization: 'Bearer other-thing' }],
    ['bearer, whatever x-api-key is', { authorization: `Bearer ${KEY}`, 'x-api-key': 'other-thing' }],
  ])('may stand in %s', async (_where, headers) => {
    expect((await bare('/v1/chat/completions', headers)).status).toBe(200);
    expect(stage.at(0).calls.at(-1)?.headers.authorization).toBe('Bearer upstream-key');
    expect(JSON.stringify(stage.at(0).calls.at(-1)?.rawHeaders)).not.toContain(KEY);
  });

  it.each([
    [
      'a wrong one of its own header does not fall through to the bearer',
      { 'x-gateway-api-key': 'no', authorization: `Bearer ${KEY}` },
    ],
    ['a wrong bearer does not fall through to x-api-key', { authorization: 'Bearer no', 'x-api-key': KEY }],
  ])('%s', async (_what, headers) => {
    expect((await bare('/v1/chat/completions', headers)).status).toBe(401);
  });

  const BAD: readonly (readonly [string, Record<string, string>])[] = [
    ['none', {}],
    ['an empty bearer', { authorization: 'Bearer' }],
    ['a bearer of spaces', { authorization: 'Bearer    ' }],
    ['another scheme', { authorization: `Basic ${Buffer.from(KEY).toString('base64')}` }],
    ['an unknown one', { authorization: 'Bearer unknown-key-0123456789' }],
    ['a long one', { authorization: `Bearer ${'k'.repeat(8_000)}` }],
    ['SQL', { authorization: "Bearer ' OR 1=1 --" }],
    ['a name of every object', { authorization: 'Bearer __proto__' }],
    ['one that is disabled', { authorization: 'Bearer off-key-01234567890' }],
    ['one that has expired', { authorization: 'Bearer gone-key-0123456789' }],
    ['a key with something more', { authorization: `Bearer ${KEY}x` }],
    ['a key cut short', { authorization: `Bearer ${KEY.slice(0, -1)}` }],
    ['a key in other letters', { authorization: `Bearer ${KEY.toUpperCase()}` }],
  ];
  it.each(BAD)('that is %s gets the one 401', async (_what, headers) => {
    const before = stage.at(0).calls.length;
    const response = await bare('/v1/chat/completions', headers);
    const reference = await bare('/v1/chat/completions', { authorization: 'Bearer some-other-unknown-key' });
    expect(response.status).toBe(401);
    expect(await response.text()).toBe(await reference.text());
    const names = [...response.headers.keys()].filter((name) => name !== 'date');
    expect(names).toEqual([...reference.headers.keys()].filter((name) => name !== 'date'));
    expect(stage.at(0).calls.length).toBe(before);
  });

  it('that is refused is never echoed or logged', async () => {
    const secret = 'canary-of-a-key-0123456789';
    const response = await bare('/v1/chat/completions', { authorization: `Bearer ${secret}` });
    expect(await response.text()).not.toContain('canary');
    expect(JSON.stringify([...response.headers])).not.toContain('canary');
    expect(JSON.stringify(await stage.gateway.logs())).not.toContain('canary');
  });

  it('that expires later is good', async () => {
    expect((await bare('/v1/chat/completions', { 'x-api-key': 'later-key-0123456789' })).status).toBe(200);
  });

  it('is refused in Anthropic’s envelope where that is spoken', async () => {
    const response = await bare('/v1/messages', { 'x-api-key': 'wrong' }, HI_MESSAGE);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
  });
});

describe('scopes', () => {
  const INFERENCE = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/messages'] as const;
  const bodies: Record<string, object> = {
    '/v1/completions': { model: 'm', prompt: 'x' },
    '/v1/embeddings': { model: 'm', input: 'x' },
    '/v1/messages': HI_MESSAGE,
  };
  it.each(INFERENCE.flatMap((path) => ['reader', 'prompter'].map((key) => [path, key] as const)))(
    '%s: 403 for %s, which lacks completions.write',
    async (path, key) => {
      const response = await bare(path, { 'x-gateway-api-key': `${key}-key-0123456789` }, bodies[path] ?? HI);
      expect(response.status).toBe(403);
      expect(await response.text()).toContain('completions.write');
    },
  );

  it.each(['writer', 'user'])('inference is for %s', async (key) => {
    expect((await bare('/v1/chat/completions', { 'x-gateway-api-key': `${key}-key-0123456789` })).status).toBe(200);
  });

  it.each([
    ['reader-key-0123456789', 200],
    ['writer-key-0123456789', 200],
    [KEY, 200],
    ['prompter-key-0123456789', 403],
    ['wrong', 401],
  ])('GET /v1/models with %s is %i', async (key, status) => {
    const response = await fetch(`${stage.gateway.origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(response.status).toBe(status);
  });
});

describe('the order of refusals', () => {
  it.each([
    ['an unknown path needs no key', '/v1/nothing', 404],
    ['a known path does, before its body is read', '/v1/chat/completions', 401],
  ])('%s', async (_what, path, status) => {
    const response = await fetch(stage.gateway.origin + path, { method: 'POST', body: 'not json' });
    expect(response.status).toBe(status);
  });

  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])('%s on a path that takes POST is 405, without a key', async (method) => {
    const response = await fetch(`${stage.gateway.origin}/v1/chat/completions`, { method });
    expect(response.headers.get('allow')).toBe('POST');
    expect(await failureOf(response)).toMatchObject({ status: 405, code: 'method_not_allowed' });
  });

  it('POST /v1/models is 405', async () => {
    const response = await bare('/v1/models', {});
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toContain('GET');
  });
});

describe('an open gateway', () => {
  it('asks for no key, and has callers in the namespace default', async () => {
    const open = await startStage(
      1,
      ([upstream]) => (upstream === undefined ? '' : defaultConfig('house', target(upstream))),
      () => ({ open: true }),
    );
    try {
      const response = await open.gateway.chat(HI, { 'x-gateway-api-key': '', authorization: 'Bearer whatever' });
      expect(response.status).toBe(200);
      expect(open.at(0).calls.at(-1)?.headers.authorization).toBe('Bearer upstream-key');
      const [line] = (await open.gateway.logs()).filter(({ msg }) => msg === 'request');
      expect(line).toMatchObject({ status: 200, namespace: 'default' });
    } finally {
      await open.close();
    }
  });
});

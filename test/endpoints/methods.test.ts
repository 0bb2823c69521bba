/** What stands at which path, and for which method. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawExchange } from '../fakes/raw.ts';
import { ROUTES } from '../reliability/routes.ts';
import { startWires, type Wires } from './wires.ts';

let wires: Wires;
beforeAll(async () => {
  wires = await startWires();
});
afterAll(() => wires.close());

interface Answer {
  readonly status: number;
  readonly allow: string | undefined;
  readonly type: string | undefined;
  readonly body: Record<string, unknown>;
}

/** By a bare socket: no client library writes all of these. */
async function ask(method: string, path: string): Promise<Answer> {
  const head = `${method} ${path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n`;
  const { first } = await rawExchange(wires.gateway.origin, head);
  if (first === undefined) throw new Error(`${method} ${path} was not answered`);
  const { status, headers, body } = first;
  const read = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
  return { status, allow: headers['allow'], type: headers['content-type'], body: read };
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'];
const GOOD: Readonly<Record<string, string>> = {
  ...Object.fromEntries(ROUTES.map(([path]) => [path, 'POST'])),
  '/v1/models': 'GET',
  '/v1/models/@openai/m': 'GET',
};
const WRONG = Object.entries(GOOD).flatMap(([path, allow]) =>
  METHODS.filter((method) => method !== allow).map((method) => [method, path, allow] as const),
);

const isMessages = (path: string) => path.startsWith('/v1/messages');

/** Each dialect's own envelope. */
function assertEnvelope(path: string, body: Record<string, unknown>, code: string): void {
  const error = { message: expect.any(String), code };
  if (!isMessages(path)) expect(body).toEqual({ error: { ...error, type: expect.any(String), param: null } });
  else expect(body).toMatchObject({ type: 'error', error: { ...error, type: expect.stringMatching(/_error$/) } });
}

describe('a wrong method', () => {
  it.each(WRONG)('%s %s is a 405 that allows %s', async (method, path, allow) => {
    const answer = await ask(method, path);
    expect(answer).toMatchObject({ status: 405, allow, type: 'application/json' });
    if (method !== 'HEAD') assertEnvelope(path, answer.body, 'method_not_allowed');
  });

  it.each(WRONG.slice(0, 3))('%s %s with a query is the same', async (method, path, allow) => {
    expect(await ask(method, `${path}?x=/v1/models`)).toMatchObject({ status: 405, allow });
  });
});

describe('a right method', () => {
  it.each(Object.entries(GOOD))('at %s is %s, which asks for a key', async (path, method) => {
    const answer = await ask(method, path);
    expect(answer.status).toBe(401);
    assertEnvelope(path, answer.body, 'invalid_api_key');
  });

  it.each(ROUTES)('at %s may have a query', async (path) => {
    expect((await ask('POST', `${path}?beta=true`)).status).toBe(401);
  });
});

describe('an unknown path', () => {
  it.each([
    '/',
    '/v1',
    '/v1/',
    '/v2/chat/completions',
    '/chat/completions',
    '/v1/chat',
    '/v1/chat/completions/',
    '/v1/chat/completions/x',
    '/v1//chat/completions',
    '/V1/chat/completions',
    '/v1/Chat/Completions',
    '/v1/chat/completions;x=1',
    '/v1/chat%2Fcompletions',
    '/v1/../v1/chat/completions',
    '/v1/chat/completions%00',
    '/v1/modelsx',
    '/v1/messages/',
    '/v1/messages/batches',
    '/v1/messages/count_tokens/x',
    '/v1/responses',
    '/healthz',
    '/metrics',
    '/config',
    '/__proto__',
    '/constructor',
    `/v1/${'x'.repeat(4_000)}`,
  ])('%s is a 404, whatever the method', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await ask(method, path);
      expect(answer).toMatchObject({ status: 404, type: 'application/json', allow: undefined });
      assertEnvelope(path, answer.body, 'unknown_path');
    }
  });

  it.each(['/v1/%zz', '/v1/models/%', '/%ff%fe', '/v1/models/%E0%A4%A', `/v1/models/${'m'.repeat(3_000)}`])(
    '%s is refused in our words',
    async (path) => {
      const answer = await ask('GET', path);
      expect([400, 401, 404]).toContain(answer.status);
      expect(answer.body).toEqual({
        error: { message: expect.any(String), type: expect.any(String), code: expect.any(String), param: null },
      });
      expect(JSON.stringify(answer.body)).not.toMatch(/FST_|fastify|node_modules/i);
    },
  );

  it('is not told at length', async () => {
    const { body } = await ask('GET', `/v1/${'x'.repeat(4_000)}`);
    expect(JSON.stringify(body).length).toBeLessThan(500);
  });
});

describe('an operation that the provider lacks', () => {
  it.each([
    ['anthropic', '/v1/completions', 'complete'],
    ['anthropic', '/v1/embeddings', 'embed'],
    ['openai', '/v1/messages/count_tokens', 'messages'],
  ] as const)('at %s, %s is a 501 that says so', async (wire, path, word) => {
    const before = wires.at(0).calls.length;
    const good = ROUTES.find(([route]) => route === path)?.[1];
    const response = await wires.gateway.post(path, good, { 'x-gateway-config': wire });
    expect(response.status).toBe(501);
    const body = (await response.json()) as { error: { message: string }; provider?: string };
    expect(body.error).toMatchObject({ type: 'not_found_error', code: 'unsupported_operation' });
    expect(body.error.message).toContain(wire);
    expect(body.error.message).toContain(word);
    expect(body.provider).toBe(wire);
    expect(wires.at(0).calls.length).toBe(before);
  });
});

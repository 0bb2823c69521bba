/** G1-G5: bodies that are no JSON, too deep, too large, of another type, poisoned; on every route. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { defaultConfig } from '../fakes/objects.ts';
import { rawExchange } from '../fakes/raw.ts';
import { codeOf, ROUTES } from './routes.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => (upstream === undefined ? '' : defaultConfig('house', target(upstream))));
});
afterAll(() => stage.close());

/** After each: nothing was sent on, nothing is left open, the process answers. */
afterEach(async () => {
  expect(stage.at(0).calls).toHaveLength(0);
  await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
  expect((await fetch(`${stage.gateway.adminOrigin}/healthz`)).status).toBe(200);
});

const PATHS = ROUTES.map(([path]) => path);
const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;

const BODIES: readonly (readonly [what: string, body: string, code: string])[] = [
  ['empty', '', 'invalid_json'],
  ['white space', '  \n ', 'invalid_json'],
  ['no JSON', 'canary-text', 'invalid_json'],
  ['cut off', '{"model":"canary', 'invalid_json'],
  ['followed by more', '{"model":"m"} canary', 'invalid_json'],
  ['an array', '[{"model":"canary"}]', 'invalid_json'],
  ['a string', '"canary"', 'invalid_json'],
  ['a number', '42', 'invalid_json'],
  ['null', 'null', 'invalid_json'],
  ['NaN', '{"temperature":NaN}', 'invalid_json'],
  ['a trailing comma', '{"model":"m",}', 'invalid_json'],
  ['single quotes', "{'model':'m'}", 'invalid_json'],
  ['a byte order mark', '\ufeff{"model":"m"}', 'invalid_json'],
  ['__proto__', '{"model":"m","__proto__":{"polluted":true}}', 'invalid_json'],
  [
    '__proto__ deep down',
    '{"model":"m","messages":[{"role":"user","content":{"__proto__":{"polluted":true}}}]}',
    'invalid_json',
  ],
  ['__proto__ in escapes', '{"model":"m","\\u005f_proto__":{"polluted":true}}', 'invalid_json'],
  ['constructor.prototype', '{"model":"m","constructor":{"prototype":{"polluted":true}}}', 'invalid_json'],
  ['5,000 arrays', `{"messages":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'too_deep'],
  ['5,000 open arrays', '['.repeat(10_000), 'invalid_json'],
  ['65 levels', `{"messages":${'['.repeat(64)}${']'.repeat(64)}}`, 'too_deep'],
  ['65 levels of objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'too_deep'],
  ['100,000 keys', keys(100_000), 'too_large'],
  ['50,001 keys', keys(50_001), 'too_large'],
];

describe.each(PATHS)('%s', (path) => {
  it.each(BODIES)('%s is a 400', async (_what, body, code) => {
    const { status, code: said, text } = await codeOf(await stage.gateway.post(path, body));
    expect(status).toBe(400);
    if (!path.startsWith('/v1/messages')) expect(said).toBe(code);
    expect(text).not.toContain('canary');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it.each([
    ['text/plain', {}],
    ['application/xml', {}],
    ['application/jsonx', {}],
    ['multipart/form-data; boundary=x', {}],
    ['application/json garbage', {}],
    ['application/json', { 'content-encoding': 'gzip' }],
    ['application/json', { 'content-encoding': 'br' }],
  ])('content-type %s %j is a 415', async (type, headers) => {
    const { status, code } = await codeOf(await stage.gateway.post(path, '{}', { 'content-type': type, ...headers }));
    expect(status).toBe(415);
    if (!path.startsWith('/v1/messages')) expect(code).toBe('unsupported_media_type');
  });

  it('more than 32 MiB, announced, is a 413 before it is sent', async () => {
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${stage.gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${33 * 1024 * 1024}\r\n\r\n{`;
    const { first, closed } = await rawExchange(stage.gateway.origin, head, { waitMs: 3_000 });
    expect(first?.status).toBe(413);
    expect(first?.body).toContain('error');
    expect(closed).toBe(true);
  });
});

describe('what is right', () => {
  it('a 413 comes in chunks too, and memory stays flat', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 0x20);
    const before = process.memoryUsage().rss;
    async function* body() {
      for (let sent = 0; sent < 80; sent += 1) yield chunk;
    }
    const headers = { 'content-type': 'application/json', 'x-gateway-api-key': stage.gateway.key };
    const options = { method: 'POST', headers, body: body(), duplex: 'half' } as RequestInit;
    const status = await fetch(`${stage.gateway.origin}/v1/chat/completions`, options).then(
      (response) => response.status,
      () => 413,
    );
    expect(status).toBe(413);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  it('is charged little CPU: deep and wide bodies cost milliseconds', async () => {
    const body = `{"messages":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    await stage.gateway.chat(body);
    const startedMs = performance.now();
    for (let request = 0; request < 20; request += 1) await stage.gateway.chat(body);
    expect((performance.now() - startedMs) / 20).toBeLessThan(50);
  });
});

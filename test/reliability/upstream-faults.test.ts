/** G21-G23, G25, G27, G28: what upstreams do wrong with whole answers, told in the one envelope. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failureOf, HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiError } from '../fakes/openai-wire.ts';
import {
  chat,
  gzipped,
  hangAfterHeaders,
  hangBeforeHeaders,
  huge,
  json,
  pieces,
  rawBytes,
  resetBeforeHeaders,
  resetMidBody,
  text,
} from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    const up = upstream as Upstream;
    const at = (host: string) => ({ provider: 'openai', api_key: 'upstream-key', custom_host: host });
    return [
      defaultConfig('house', target(up)),
      config('hasty', target(up, { request_timeout: 80 })),
      config('unhurried', target(up, { request_timeout: 400 })),
      config('refused', at('http://127.0.0.1:1/v1')),
      config('no-name', at('http://no-such-name.invalid/v1')),
      config('tls-on-plain', at(`https://127.0.0.1:${up.port}/v1`)),
    ].join('');
  });
});
afterAll(() => stage.close());
beforeEach(() => stage.at(0).answer(chat()));

async function ask(name = 'house', body: object = HI) {
  const response = await stage.gateway.chat(body, { 'x-gateway-config': name });
  return { ...(await failureOf(response)), headers: response.headers };
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const BODY = '{"id":"x","choices":[]}';

const UNREACHABLE: readonly (readonly [string, string, number, string])[] = [
  ['refuses connections', 'refused', 502, 'upstream_unreachable'],
  ['has no address', 'no-name', 502, 'upstream_unreachable'],
  ['does not speak TLS', 'tls-on-plain', 502, 'upstream_tls'],
];

describe('an upstream that', () => {
  it.each(UNREACHABLE)('%s', async (_what, name, status, code) => {
    const failure = await ask(name);
    expect(failure).toMatchObject({ status, code, type: 'upstream_error' });
    expect(failure.message).not.toMatch(/127\.0\.0\.1|ECONN|ENOTFOUND|invalid\b/);
  });

  const WRONG: readonly (readonly [string, ReturnType<typeof text>, string])[] = [
    ['breaks off before any answer', resetBeforeHeaders, 'upstream_unreachable'],
    ['breaks off in the middle', resetMidBody(BODY.repeat(50)), 'upstream_cut'],
    ['closes before the announced length', rawBytes([`${HEAD}content-length: 500\r\n\r\n${BODY}`]), 'upstream_cut'],
    [
      'closes between two chunks',
      rawBytes([`${HEAD}transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n`]),
      'upstream_cut',
    ],
    ['closes inside the head', rawBytes(['HTTP/1.1 200 OK\r\ncontent-ty']), 'upstream_cut'],
    ['says nothing that is HTTP', rawBytes(['SSH-2.0-OpenSSH_9.6\r\n\r\n']), 'upstream_invalid'],
    ['speaks HTTP/0.9', rawBytes([BODY]), 'upstream_cut'],
    ['speaks HTTP/2.0', rawBytes([`HTTP/2.0 200 OK\r\n\r\n${BODY}`]), 'upstream_invalid'],
    ['switches protocols', rawBytes(['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n']), 'upstream_invalid'],
    [
      'says two lengths',
      rawBytes([`${HEAD}content-length: 23\r\ncontent-length: 24\r\n\r\n${BODY}`]),
      'upstream_invalid',
    ],
    [
      'says a length and chunks',
      rawBytes([`${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`]),
      'upstream_invalid',
    ],
    [
      'says a coding of its own',
      rawBytes([`${HEAD}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`]),
      'upstream_invalid',
    ],
    ['says a negative length', rawBytes([`${HEAD}content-length: -1\r\n\r\n${BODY}`]), 'upstream_invalid'],
    ['says a length in words', rawBytes([`${HEAD}content-length: many\r\n\r\n${BODY}`]), 'upstream_invalid'],
    [
      'sends a chunk size of garbage',
      rawBytes([`${HEAD}transfer-encoding: chunked\r\n\r\nxyz\r\n${BODY}\r\n`]),
      'upstream_invalid',
    ],
    [
      'sends a chunk longer than its size',
      rawBytes([`${HEAD}transfer-encoding: chunked\r\n\r\n5\r\n${BODY}\r\n0\r\n\r\n`]),
      'upstream_invalid',
    ],
    ['sends a bare LF head', rawBytes([`HTTP/1.1 200 OK\ncontent-length: 2\n\n{}\r\n\r\n`]), 'upstream_invalid'],
    ['folds a header', rawBytes([`${HEAD}x-a: b\r\n c\r\ncontent-length: 2\r\n\r\n{}`]), 'upstream_invalid'],
    ['sends NUL in a header', rawBytes([`${HEAD}x-a: b\0c\r\ncontent-length: 2\r\n\r\n{}`]), 'upstream_invalid'],
    [
      'sends an endless header',
      rawBytes([`${HEAD}x-long: `, ...Array.from({ length: 30 }, () => 'x'.repeat(10_000))], { ending: 'stall' }),
      'upstream_invalid',
    ],
    ['sends a thousand headers', rawBytes([`${HEAD}${'x-h: y\r\n'.repeat(1_000)}\r\n`]), 'upstream_invalid'],
    ['answers with HTML', text(200, '<html>canary</html>', { 'content-type': 'text/html' }), 'upstream_invalid'],
    ['answers with an array', json(200, ['canary']), 'upstream_invalid'],
    ['answers with a string', json(200, 'canary'), 'upstream_invalid'],
    ['answers with nothing', text(200, ''), 'upstream_invalid'],
    ['answers with half an object', text(200, '{"canary":'), 'upstream_invalid'],
    ['answers in gzip', gzipped({ canary: 1 }), 'upstream_invalid'],
    ['redirects', text(307, '', { location: 'http://169.254.169.254/' }), 'upstream_redirect'],
  ];
  it.each(WRONG)('%s', async (_what, reply, code) => {
    stage.at(0).answer(reply);
    const failure = await ask();
    expect(failure).toMatchObject({ status: 502, code, type: 'upstream_error' });
    expect(failure.message).not.toContain('canary');
    expect((await stage.gateway.chat(HI)).status).toBe(502);
    stage.at(0).answer(chat());
    expect((await stage.gateway.chat(HI)).status).toBe(200);
  });

  const RIGHT: readonly (readonly [string, string])[] = [
    ['ends with its connection', `${HEAD}\r\n${BODY}`],
    ['says close', `${HEAD}connection: close\r\ncontent-length: 23\r\n\r\n${BODY}`],
    [
      'chunks with extensions and trailers',
      `${HEAD}transfer-encoding: chunked\r\n\r\n17;a=b\r\n${BODY}\r\n0\r\nx-t: 1\r\n\r\n`,
    ],
    ['chunks in capitals', `${HEAD}Transfer-Encoding: Chunked\r\n\r\n17\r\n${BODY}\r\n0\r\n\r\n`],
    [
      'goes through 100 and 103 first',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${HEAD}content-length: 23\r\n\r\n${BODY}`,
    ],
    ['says no reason', `HTTP/1.1 200\r\ncontent-length: 23\r\n\r\n${BODY}`],
    ['speaks HTTP/1.0', `HTTP/1.0 200 OK\r\ncontent-length: 23\r\n\r\n${BODY}`],
    ['sends more than it said', `${HEAD}content-length: 23\r\n\r\n${BODY}HTTP/1.1 500 Smuggled\r\n\r\n`],
  ];
  it.each(RIGHT.flatMap(([what, wire]) => [1, 7, 4096].map((size) => [what, size, wire] as const)))(
    '%s is understood, in pieces of %i bytes',
    async (_what, size, wire) => {
      const parts = wire.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
      stage.at(0).answer(rawBytes(parts));
      const response = await stage.gateway.chat(HI);
      expect(await response.text()).toBe(BODY);
      expect(response.status).toBe(200);
    },
  );

  it('sends 200 MB is cut off, and memory stays bounded', async () => {
    stage.at(0).answer(huge(200 * 1024 * 1024));
    const before = process.memoryUsage().rss;
    expect(await ask()).toMatchObject({ status: 502, code: 'upstream_invalid' });
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  });

  it.each([
    ['never answers', hangBeforeHeaders],
    ['sends its head and no more', hangAfterHeaders],
    ['sends half a head', rawBytes(['HTTP/1.1 200 OK\r\n'], { ending: 'stall' })],
  ])('%s is given up at its request_timeout', async (_what, reply) => {
    stage.at(0).answer(reply);
    const startedMs = performance.now();
    expect(await ask('hasty')).toMatchObject({ status: 408, code: 'request_timeout', type: 'timeout_error' });
    expect(performance.now() - startedMs).toBeLessThan(1_080);
    await expect.poll(() => stage.at(0).calls.at(-1)?.abortedAt).toBeDefined();
  });

  it('answers slowly, but begins in time, is waited for', async () => {
    const parts = BODY.match(/[\s\S]{1,1}/g) ?? [];
    stage.at(0).answer(pieces(parts, { gapMs: 25, headers: { 'content-type': 'application/json' } }));
    const response = await stage.gateway.chat(HI, { 'x-gateway-config': 'unhurried' });
    expect(await response.text()).toBe(BODY);
  });
});

describe('an upstream’s own refusal', () => {
  it.each([
    [400, 'invalid_request_error'],
    [402, 'billing_error'],
    [404, 'not_found_error'],
    [409, 'conflict'],
    [422, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'server_error'],
    [503, 'overloaded'],
  ])('%i keeps its status, message, type, code and param', async (status, type) => {
    const error = { message: 'It was said.', type, code: 'their_code', param: 'messages' };
    stage.at(0).answer(json(status, { error }));
    expect(await ask()).toMatchObject({ status, ...error });
  });

  it.each([
    ['no body', text(500, '')],
    ['HTML', text(500, '<html>canary</html>', { 'content-type': 'text/html' })],
    ['another shape', json(500, { canary: true })],
    ['an error that is a string', json(500, { error: 'plain words' })],
  ])('with %s is filled in by ours', async (_what, reply) => {
    stage.at(0).answer(reply);
    const failure = await ask();
    expect(failure.status).toBe(500);
    expect(failure.message.length).toBeGreaterThan(5);
    expect(failure.message).not.toContain('canary');
    expect(failure.type).toBe('upstream_error');
  });

  it.each([401, 403])('of our stored credential, %i, is a 502 without the credential', async (status) => {
    stage.at(0).answer(json(status, openAiError('Incorrect API key provided: upstream-key')));
    const failure = await ask();
    expect(failure).toMatchObject({ status: 502, code: 'upstream_auth', type: 'upstream_error' });
    expect(failure.message).not.toContain('upstream-key');
    expect(JSON.stringify(await stage.gateway.logs())).not.toContain('upstream-key');
  });

  it.each(['3600', 'Wed, 21 Oct 2015 07:28:00 GMT', 'soon', '-1'])('with retry-after: %s keeps it', async (value) => {
    stage
      .at(0)
      .answer(json(429, openAiError('slow down', 'rate_limit_error', 'their_limit'), { 'retry-after': value }));
    const failure = await ask();
    expect(failure).toMatchObject({ status: 429, code: 'their_limit', type: 'rate_limit_error' });
    expect(failure.headers.get('retry-after')).toBe(value);
  });
});

describe('a certificate that nobody vouches for', () => {
  it('is upstream_tls, without its text', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'certificate-'));
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
    const subject = ['-subj', '/CN=canary', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject], {
      stdio: 'ignore',
    });
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) =>
      response.end('{}'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const spec = { provider: 'openai', api_key: 'k', custom_host: `https://127.0.0.1:${port}/v1` };
      stage.gateway.apply(`${stage.manifests}${config('tls', spec)}`);
      const failure = await ask('tls');
      expect(failure).toMatchObject({ status: 502, code: 'upstream_tls' });
      expect(failure.message).not.toContain('canary');
    } finally {
      server.close();
      rmSync(directory, { recursive: true });
    }
  });
});

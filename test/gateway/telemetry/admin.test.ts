import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Admin } from '#crds/command/admin-server.ts';
import { type AdminView, type ServedConfig, startAdmin } from '#gateway/admin.ts';
import type { UsagePage } from '#gateway/usage-page.ts';

const SERVED: ServedConfig = { generation: 7, hash: 'abc', loaded_at: '2026-01-31T12:00:00.000Z', format: 1 };

const USED: UsagePage = {
  incarnation: 'one',
  mode: 'own',
  store: { state: 'ok' },
  shares_version: 3,
  budgets: [{ key: 'u|0||a', id: 'u', group: ['a'], period_start_ms: 0, used: '9007199254740993' }],
};

let admin: Admin;
let reason: string | undefined;
let served: ServedConfig;
let metrics: AdminView['metrics'];

const view: AdminView = {
  ready: () => reason,
  metrics: () => metrics(),
  config: () => served,
  objects: () => ['GatewayConfig team-a/chat', 'Integration team-a/openai'],
  usage: async () => USED,
};

beforeEach(async () => {
  reason = undefined;
  served = SERVED;
  metrics = async () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'm 1\n' });
  admin = await startAdmin({ host: '127.0.0.1', port: 0, view });
});
afterEach(() => admin.close());

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(admin.origin + path, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('probes', () => {
  test('alive, whatever the readiness', async () => {
    reason = 'draining';
    expect(await get('/healthz')).toMatchObject({ status: 200, text: 'ok\n' });
  });

  test('ready is told anew each time, with the reason why not', async () => {
    expect(await get('/readyz')).toMatchObject({ status: 200, text: 'ok\n' });
    reason = 'no configuration is loaded yet';
    expect(await get('/readyz')).toMatchObject({ status: 503, text: 'no configuration is loaded yet\n' });
    reason = 'draining';
    expect(await get('/readyz?verbose')).toMatchObject({ status: 503, text: 'draining\n' });
    reason = undefined;
    expect((await get('/readyz')).status).toBe(200);
  });
});

describe('pages', () => {
  test('metrics come with the type that they say', async () => {
    const answer = await get('/metrics');
    expect(answer).toMatchObject({ status: 200, text: 'm 1\n' });
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('metrics that fail are an internal error without a detail', async () => {
    metrics = async () => {
      throw new Error('canary');
    };
    const answer = await get('/metrics');
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'internal', type: 'server_error', param: null } });
    expect(answer.text).not.toContain('canary');
  });

  test('what was used, amounts as text', async () => {
    const usage = await get('/usage');
    expect(usage.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(usage.text)).toEqual(USED);
  });

  test('the config in use, and its objects on request', async () => {
    const config = await get('/config');
    expect(config.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(config.text)).toEqual(SERVED);
    for (const query of ['?objects', '?objects=1', '?a=b&objects']) {
      const objects = await get(`/config${query}`);
      expect(objects.text).toBe('GatewayConfig team-a/chat\nIntegration team-a/openai\n');
      expect(objects.headers.get('content-type')).toMatch(/^text\/plain/);
    }
  });

  test('no config yet, and what was refused, are told as they are', async () => {
    served = {
      ...{ generation: 0, hash: '', loaded_at: null, format: 1 },
      refused: { generation: 3, hash: 'def', reason: 'unknown format 2' },
    };
    const answer = await get('/config');
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual(served);
  });
});

describe('what is not there', () => {
  test.each(['/', '/v1/models', '/metrics/', '/healthz%20', '//metrics', '/constructor', '/__proto__'])(
    '%s is 404',
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { type: 'not_found_error', code: 'unknown_path' } });
    },
  );

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is 405 and says what is allowed', async (method) => {
    const answer = await get('/metrics', { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  test('an unknown path is 404 before the method is looked at', async () => {
    expect((await get('/nothing', { method: 'POST' })).status).toBe(404);
  });

  test('a body that nobody reads does not hold the connection', async () => {
    const answer = await get('/metrics', { method: 'POST', body: 'x'.repeat(1_000_000) });
    expect(answer.status).toBe(405);
    expect((await get('/healthz')).status).toBe(200);
  });

  test('HEAD answers as GET, without the body', async () => {
    const answer = await get('/config', { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(Number(answer.headers.get('content-length'))).toBe(JSON.stringify(SERVED).length + 1);
  });
});

describe('the listener', () => {
  test('says where it listens, also on IPv6', async () => {
    expect(admin.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const six = await startAdmin({ host: '::1', port: 0, view }).catch(() => undefined);
    if (six === undefined) return;
    expect(six.origin).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${six.origin}/healthz`)).status).toBe(200);
    await six.close();
  });

  test('a port in use is refused with its code', async () => {
    const port = Number(new URL(admin.origin).port);
    await expect(startAdmin({ host: '127.0.0.1', port, view })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('garbage ends its own connection only', async () => {
    const socket = connect(Number(new URL(admin.origin).port), '127.0.0.1');
    socket.write('garbage\r\n\r\n');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
    expect((await get('/healthz')).status).toBe(200);
  });

  test('closing ends idle connections and the listener', async () => {
    const other = await startAdmin({ host: '127.0.0.1', port: 0, view });
    const socket = connect(Number(new URL(other.origin).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.resume();
    const ended = once(socket, 'close');
    await other.close();
    await ended;
    await expect(fetch(`${other.origin}/healthz`)).rejects.toThrow();
  });
});

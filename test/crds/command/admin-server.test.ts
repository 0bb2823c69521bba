import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Admin, healthPages, startAdminServer } from '#crds/command/admin-server.ts';

let admin: Admin;
let notReady: string | undefined;
let metrics: () => Promise<{ contentType: string; text: string }>;

beforeEach(async () => {
  notReady = undefined;
  metrics = async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1' });
  admin = await startAdminServer({ host: '127.0.0.1', port: 0, pages });
});
afterEach(() => admin.close());

const pages = new Map(healthPages({ ready: () => notReady, metrics: () => metrics() }));

async function get(path: string, method = 'GET') {
  const response = await fetch(`${admin.origin}${path}`, { method });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('an admin port', () => {
  it('says that it lives, ready or not', async () => {
    notReady = 'secrets are not listed yet';
    expect(await get('/healthz')).toMatchObject({ status: 200, text: 'ok\n' });
  });

  it('says whether it is ready, and why not', async () => {
    expect(await get('/readyz')).toMatchObject({ status: 200, text: 'ok\n' });
    notReady = 'secrets are not listed yet';
    expect(await get('/readyz')).toMatchObject({ status: 503, text: 'secrets are not listed yet\n' });
  });

  it('has metrics, with the media type of their format', async () => {
    const { status, headers, text } = await get('/metrics?name=x');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(text).toBe('up 1');
  });

  it('answers HEAD without the body', async () => {
    const { status, headers, text } = await get('/healthz', 'HEAD');
    expect([status, headers.get('content-length'), text]).toEqual([200, '3', '']);
  });

  it('has nothing else', async () => {
    const { status, text } = await get('/config');
    expect([status, text]).toEqual([404, 'The admin port has only /healthz, /readyz, /metrics.\n']);
    const refused = await get('/healthz', 'POST');
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('answers a page that fails, and goes on', async () => {
    metrics = () => Promise.reject(new Error('no numbers'));
    expect(await get('/metrics')).toMatchObject({ status: 500, text: 'no numbers\n' });
    expect((await get('/healthz')).status).toBe(200);
  });

  it('rejects where the port cannot be had', async () => {
    const port = Number(new URL(admin.origin).port);
    const second = startAdminServer({ host: '127.0.0.1', port, pages });
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

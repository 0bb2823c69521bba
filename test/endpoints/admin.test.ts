/** The admin port of a whole gateway: what it says before, while and after requests are served. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage } from '../conformance/stage.ts';
import { startTestGateway, TEST_KEY } from '../fakes/gateway.ts';
import { config, defaultConfig, object } from '../fakes/objects.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(0, () =>
    [
      defaultConfig('house', { provider: 'simulator' }),
      config('other', { provider: 'simulator' }, { namespace: 'team-a' }),
      object('Integration', 'sim', { provider: 'simulator' }),
    ].join(''),
  );
});
afterAll(() => stage.close());

const admin = (path: string, init: RequestInit = {}) => fetch(stage.gateway.adminOrigin + path, init);

interface Served {
  readonly generation: number;
  readonly hash: string;
  readonly loaded_at: string;
  readonly format: number;
}
const served = async () => (await (await admin('/config')).json()) as Served;

describe('a gateway that serves', () => {
  it.each(['/healthz', '/readyz'])('%s is 200 ok, for HEAD without a body', async (path) => {
    const response = await admin(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect((await response.text()).trim()).toBe('ok');
    const head = await admin(path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('/config tells what is served, and nothing of what it holds', async () => {
    const response = await admin('/config');
    expect(response.headers.get('content-type')).toBe('application/json');
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({
      generation: expect.any(Number),
      hash: expect.stringMatching(/^(sha256[:-])?[0-9a-f]{16,64}$/),
      loaded_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      format: expect.any(Number),
    });
    expect(text).not.toContain('simulator');
  });

  it('/config?objects has a line for each object, and no secret', async () => {
    const response = await admin('/config?objects');
    expect(response.headers.get('content-type')).toContain('text/plain');
    const text = await response.text();
    expect(text.trimEnd().split('\n').toSorted()).toEqual([
      'ApiKey default/test',
      'GatewayConfig default/house',
      'GatewayConfig team-a/other',
      'Integration default/sim',
    ]);
    expect(text).not.toContain(TEST_KEY);
  });

  it('/config follows a change of manifests', async () => {
    const before = await served();
    stage.gateway.apply(stage.manifests + config('more', { provider: 'simulator' }));
    const changed = await served();
    expect(changed.generation).toBeGreaterThan(before.generation);
    expect(changed.hash).not.toBe(before.hash);
    expect(await (await admin('/config?objects')).text()).toContain('GatewayConfig default/more\n');
    stage.gateway.apply(stage.manifests);
    expect((await served()).generation).toBeGreaterThan(changed.generation);
    expect(await (await admin('/config?objects')).text()).not.toContain('default/more');
  });

  it('/metrics counts a request, in the form that Prometheus reads', async () => {
    const before = await stage.gateway.metric('modelgateway_requests_total');
    expect((await stage.gateway.chat(HI)).status).toBe(200);
    expect((await stage.gateway.metric('modelgateway_requests_total')) - before).toBe(1);
    const response = await admin('/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    for (const line of lines) expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [-+.\deEInfNa]+)$/);
  });

  it.each([
    'requests_total',
    'request_duration_seconds',
    'requests_in_flight',
    'attempts_total',
    'first_byte_seconds',
    'tokens_total',
    'stream_failures_total',
    'retries_total',
    'breaker_state',
    'config_generation',
    'config_age_seconds',
    'config_refused_total',
  ])('/metrics has the family modelgateway_%s', async (name) => {
    const text = await stage.gateway.metrics();
    expect(text).toMatch(new RegExp(`^# TYPE modelgateway_${name} (counter|gauge|histogram)$`, 'm'));
    expect(text).toMatch(new RegExp(`^# HELP modelgateway_${name} \\S.+$`, 'm'));
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is refused at every page', async (method) => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/config']) {
      const response = await admin(path, { method, body: '{}' });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET, HEAD');
      expect(await response.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    }
  });

  it.each(['/', '/v1/chat/completions', '/v1/models', '/healthz/', '/Config', '/debug', '/__proto__'])(
    '%s is not there',
    async (path) => {
      const response = await admin(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'unknown_path' } });
    },
  );
});

describe('a gateway without a configuration', () => {
  it('is alive, not ready, and says why until it has one', async () => {
    const gateway = await startTestGateway({ empty: true });
    const status = async (path: string) => (await fetch(gateway.adminOrigin + path)).status;
    try {
      expect(await status('/healthz')).toBe(200);
      expect(await status('/metrics')).toBe(200);
      const ready = await fetch(`${gateway.adminOrigin}/readyz`);
      expect([ready.status, await ready.text()]).toEqual([503, expect.stringMatching(/\w+ \w+/)]);
      const none = await fetch(`${gateway.adminOrigin}/config`);
      expect([none.status, await none.json()]).toEqual([200, { generation: 0, hash: '', loaded_at: null, format: 2 }]);
      const objects = await fetch(`${gateway.adminOrigin}/config?objects`);
      expect([objects.status, await objects.text()]).toEqual([200, '']);
      expect((await fetch(`${gateway.origin}/v1/models`)).status).toBe(503);
      gateway.apply(defaultConfig('house', { provider: 'simulator' }));
      for (const path of ['/readyz', '/config', '/config?objects']) expect(await status(path)).toBe(200);
      expect((await gateway.chat(HI)).status).toBe(200);
    } finally {
      await gateway.close();
    }
  });
});

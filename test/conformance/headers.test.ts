/** Headers on the way up and down: an allow-list up, `forward_headers`, what never passes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, config, defaultConfig } from '../fakes/objects.ts';
import { openAiChat } from '../fakes/openai-wire.ts';
import { rawExchange, rawPost } from '../fakes/raw.ts';
import { chat, json } from '../fakes/replies.ts';
import { HI, type Stage, startStage, target } from './stage.ts';

let stage: Stage;
const KEY = 'sent-key-0123456789';
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) => {
    if (upstream === undefined) throw new Error('one upstream');
    return [
      defaultConfig('house', target(upstream)),
      config('forwards', target(upstream, { forward_headers: ['x-tenant', 'Authorization', 'cookie', 'X-API-Key'] })),
      config('everything', target(upstream, { forward_headers: NEVER })),
      config('parent', { forward_headers: ['x-tenant'], strategy: { mode: 'single' }, targets: [target(upstream)] }),
      config('child', {
        forward_headers: ['x-tenant'],
        strategy: { mode: 'single' },
        targets: [target(upstream, { forward_headers: ['x-other'] })],
      }),
      apiKey('sent', KEY),
    ].join('');
  });
});
afterAll(() => stage.close());

const NEVER = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'proxy-authorization',
  'proxy-connection',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
  'x-gateway-api-key',
  'x-gateway-config',
];

/** Sent headers of the last call, lower case; of one name several. */
function sent(): Record<string, string[]> {
  const raw = stage.at(0).calls.at(-1)?.rawHeaders ?? [];
  const headers: Record<string, string[]> = {};
  for (let index = 0; index < raw.length; index += 2) {
    const name = String(raw[index]).toLowerCase();
    headers[name] = [...(headers[name] ?? []), String(raw[index + 1])];
  }
  return headers;
}

async function ask(headers: Record<string, string>): Promise<Record<string, string[]>> {
  const response = await stage.gateway.chat(HI, headers);
  expect(response.status).toBe(200);
  return sent();
}

describe('up', () => {
  it('goes what the provider needs, once, and nothing of the caller', async () => {
    const headers = await ask({
      'user-agent': 'callers-agent',
      cookie: 'session=1',
      'x-tenant': 'acme',
      'accept-language': 'de',
      origin: 'https://callers.example',
      referer: 'https://callers.example/page',
      'x-forwarded-for': '10.0.0.1',
      'x-forwarded-host': 'inner',
      'x-forwarded-proto': 'https',
      forwarded: 'for=10.0.0.1',
      'x-real-ip': '10.0.0.1',
      via: '1.1 proxy',
      x_underscored: 'y',
    });
    expect(Object.keys(headers).toSorted()).toEqual(
      [
        'accept',
        'accept-encoding',
        'authorization',
        'cdn-loop',
        'connection',
        'content-length',
        'content-type',
        'host',
        'user-agent',
      ].filter((name) => name !== 'connection' || 'connection' in headers),
    );
    expect(headers).toMatchObject({
      authorization: ['Bearer upstream-key'],
      'accept-encoding': ['identity'],
      'content-type': ['application/json'],
      'content-length': [String(JSON.stringify(HI).length)],
      host: [new URL(stage.at(0).origin).host],
    });
    expect(JSON.stringify(headers)).not.toContain('callers');
  });

  it('goes a valid traceparent', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const [passed] = (await ask({ traceparent })).traceparent ?? [];
    expect(passed?.split('-')[1]).toBe('0af7651916cd43dd8448eb211c80319c');
  });

  it('go the headers that a config names, in place of ours', async () => {
    const headers = await ask({
      'x-gateway-config': 'forwards',
      'x-tenant': 'acme',
      'x-other': 'no',
      authorization: 'Bearer callers-own',
      cookie: 'session=1',
    });
    expect(headers).toMatchObject({
      'x-tenant': ['acme'],
      authorization: ['Bearer callers-own'],
      cookie: ['session=1'],
    });
    expect(headers['x-other']).toBeUndefined();
  });

  it.each([
    ['authorization', `Bearer ${KEY}`],
    ['x-api-key', KEY],
  ])('never goes the gateway key, not even in a forwarded %s', async (name, value) => {
    const headers = await ask({ 'x-gateway-api-key': '', 'x-gateway-config': 'forwards', [name]: value });
    expect(JSON.stringify(headers)).not.toContain(KEY);
    expect(headers.authorization).toEqual(['Bearer upstream-key']);
  });

  it('goes a forwarded bearer beside a gateway key of its own header', async () => {
    const headers = await ask({ 'x-gateway-config': 'forwards', 'x-gateway-api-key': KEY, 'x-api-key': 'callers' });
    expect(headers['x-api-key']).toEqual(['callers']);
  });

  it('goes nothing that no proxy may pass, whatever forward_headers says', async () => {
    const lines: Record<string, string> = { 'x-gateway-api-key': KEY, 'x-gateway-config': 'everything' };
    for (const name of [
      'te',
      'trailer',
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-host',
      'via',
      'x-real-ip',
      'upgrade',
      'proxy-authorization',
    ])
      lines[name] = name === 'te' ? 'trailers' : 'sneaked-in';
    const text = rawPost('/v1/chat/completions', JSON.stringify(HI), { ...lines, connection: 'close' });
    const { first } = await rawExchange(stage.gateway.origin, text);
    expect(first?.status).toBe(200);
    expect(JSON.stringify(sent())).not.toMatch(/sneaked-in|trailers|x-gateway/);
  });

  it.each([
    ['the parent’s list holds for a child without one', 'parent', ['x-tenant']],
    ['a child’s list replaces the parent’s', 'child', ['x-other']],
  ])('%s', async (_what, name, passed) => {
    const headers = await ask({ 'x-gateway-config': name, 'x-tenant': '1', 'x-other': '2' });
    expect(['x-tenant', 'x-other'].filter((header) => header in headers)).toEqual(passed);
  });

  it('the header x-gateway-forward-headers beats the config', async () => {
    const headers = await ask({
      'x-gateway-config': 'parent',
      'x-gateway-forward-headers': ' X-Other , x-third',
      'x-tenant': '1',
      'x-other': '2',
      'x-third': '3',
    });
    expect(headers).toMatchObject({ 'x-other': ['2'], 'x-third': ['3'] });
    expect(headers['x-tenant']).toBeUndefined();
  });

  it('goes no header that Connection names', async () => {
    const text = rawPost('/v1/chat/completions', JSON.stringify(HI), {
      'x-gateway-api-key': KEY,
      'x-gateway-config': 'forwards',
      'x-tenant': 'acme',
      cookie: 'session=1',
      connection: 'x-tenant, close',
    });
    await rawExchange(stage.gateway.origin, text);
    expect(sent()).toMatchObject({ cookie: ['session=1'] });
    expect(sent()['x-tenant']).toBeUndefined();
  });
});

describe('down', () => {
  it('comes what the upstream said, without what is its own business', async () => {
    const headers = {
      'set-cookie': 'a=b',
      server: 'upstream/1',
      'alt-svc': 'h3=":443"',
      'x-gateway-provider': 'forged',
      'x-request-id': 'upstreams-own',
      'x-ratelimit-remaining-requests': '7',
      'openai-processing-ms': '12',
      connection: 'keep-alive, x-hop',
      'x-hop': 'hop',
    };
    stage.at(0).answer(json(200, openAiChat(), headers));
    const response = await stage.gateway.chat(HI);
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('7');
    expect(response.headers.get('openai-processing-ms')).toBe('12');
    expect(response.headers.get('x-gateway-provider')).toBe('openai');
    for (const name of ['set-cookie', 'server', 'alt-svc', 'x-hop']) expect(response.headers.has(name)).toBe(false);
    expect(response.headers.get('x-request-id')).not.toBe('upstreams-own');
    stage.at(0).answer(chat());
  });
});

/** G36: secrets of every kind through every path, and none of them in anything that is logged, counted or told. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { apiKey, config, object, secret } from '../fakes/objects.ts';
import { openAiEvent } from '../fakes/openai-wire.ts';
import { chat, chatStream, json, pieces, type Reply, resetBeforeHeaders } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../gateway/telemetry/otlp-receiver.ts';

const canaries: string[] = [];
function canary(what: string): string {
  const value = `canary-${what}-${randomBytes(8).toString('hex')}`;
  canaries.push(value);
  return value;
}

const GATEWAY_KEY = canary('gateway-key');
const STORED = canary('stored-credential');
const INLINE = canary('inline-credential');

let stage: Stage;
let traces: OtlpReceiver;
beforeAll(async () => {
  traces = await startOtlpReceiver();
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.origin,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  stage = await startStage(
    1,
    ([upstream]) => {
      const up = upstream as Upstream;
      return [
        apiKey('bird', GATEWAY_KEY),
        secret('creds', { key: STORED }),
        object('Integration', 'prod', {
          provider: 'openai',
          secret_mappings: [{ target_field: 'api_key', secret_name: 'creds', secret_key: 'key' }],
          configurations: { custom_host: `${up.origin}/v1` },
        }),
        config('inline', target(up, { api_key: INLINE })),
        config('forwarding', target(up, { api_key: INLINE, forward_headers: ['x-secret', 'authorization'] })),
        config('retrying', target(up, { api_key: INLINE, retry: { attempts: 1, use_retry_after_headers: true } })),
      ].join('');
    },
    () => ({ logLevel: 'debug', env: process.env }),
  );
});
afterAll(async () => {
  await stage.close();
  await traces.close();
});

const ROUTES: Record<string, (prompt: string) => object> = {
  '/v1/chat/completions': (prompt) => ({ ...HI, messages: [{ role: 'user', content: prompt }], user: canary('user') }),
  '/v1/completions': (prompt) => ({ model: 'm', prompt }),
  '/v1/embeddings': (prompt) => ({ model: 'm', input: prompt }),
  '/v1/messages': (prompt) => ({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: prompt }] }),
};

/** Headers that say which way a request goes. */
const WAYS: readonly Record<string, string>[] = [
  { 'x-gateway-provider': '@prod' },
  { 'x-gateway-config': 'inline' },
  { 'x-gateway-config': 'forwarding', 'x-secret': canary('forwarded') },
  { 'x-gateway-config': 'retrying' },
  {
    'x-gateway-provider': 'openai',
    authorization: `Bearer ${canary('direct-credential')}`,
    'x-gateway-custom-host': 'http://127.0.0.1:1',
  },
  { 'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: canary('inline-config'), speed: 1 }) },
  { 'x-gateway-config': canary('config-name') },
  { 'x-gateway-api-key': canary('wrong-key') },
  { 'x-gateway-config': 'inline', 'x-gateway-metadata': JSON.stringify({ a: canary('metadata') }) },
  { 'x-gateway-config': 'inline', 'x-gateway-metadata': canary('bad-metadata') },
  { 'x-gateway-config': 'inline', 'x-gateway-request-timeout': canary('bad-timeout') },
  { 'x-gateway-config': 'inline', cookie: canary('cookie'), 'x-api-key': canary('other-key') },
];

const echo = () => `${STORED} ${INLINE} ${GATEWAY_KEY}`;
const ANSWERS = [
  chat(),
  chatStream(),
  json(401, { error: { message: `Incorrect API key provided: ${echo()}` } }),
  json(403, { error: { message: echo() } }),
  resetBeforeHeaders,
  pieces([openAiEvent({ choices: [{ delta: { content: canary('answer') } }] }), `data: ${canary('garbage')}\n\n`]),
  json(200, [canary('wrong-shape')]),
];

async function askEverything(reply: Reply): Promise<void> {
  stage.at(0).answer(reply);
  const ways = WAYS.flatMap((headers) => Object.entries(ROUTES).map(([path, body]) => ({ headers, path, body })));
  for (const { headers, path, body } of ways) {
    for (const stream of [false, true]) {
      const sent = { ...body(canary('prompt')), stream };
      const response = await stage.gateway.post(path, sent, { 'x-gateway-api-key': GATEWAY_KEY, ...headers });
      await response.text().catch(() => '');
    }
  }
}

describe('secrets', () => {
  it('are in no log line, metric, trace or admin answer, whatever happens', async () => {
    for (const reply of ANSWERS) await askEverything(reply);
    await stage.gateway.post('/v1/chat/completions', `{"broken": "${canary('broken-body')}`);
    await expect.poll(() => traces.spans().length, { timeout: 5_000 }).toBeGreaterThan(100);
    const { adminOrigin } = stage.gateway;
    const told = {
      logs: JSON.stringify(await stage.gateway.logs()),
      metrics: await stage.gateway.metrics(),
      traces: traces.requests.map(({ body }) => body.toString()).join('\n'),
      config: await (await fetch(`${adminOrigin}/config?objects`)).text(),
      health: await (await fetch(`${adminOrigin}/readyz`)).text(),
    };
    expect(told.logs.length).toBeGreaterThan(10_000);
    for (const [where, text] of Object.entries(told)) {
      const found = canaries.filter((value) => text.includes(value) && !value.includes('config-name'));
      expect(found, where).toEqual([]);
    }
  }, 60_000);

  it('of ours are in no answer, even where the upstream says them', async () => {
    for (const status of [401, 403]) {
      stage.at(0).answer(json(status, { error: { message: echo() } }));
      for (const headers of [{ 'x-gateway-provider': '@prod' }, { 'x-gateway-config': 'inline' }]) {
        const text = await (
          await stage.gateway.chat(HI, { 'x-gateway-api-key': GATEWAY_KEY, ...headers } as Record<string, string>)
        ).text();
        for (const value of [STORED, INLINE, GATEWAY_KEY]) expect(text).not.toContain(value);
      }
    }
  });
});

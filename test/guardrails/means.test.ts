/** What checks reach the world with: services, models of our own, images. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Stage } from '../conformance/stage.ts';
import { apiKey, object, secret } from '../fakes/objects.ts';
import { chat, json, problem } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { usageLimit, usedOf } from '../limits/stage.ts';
import { guardrail, HI, lineOf, startGuarded, tell } from './stage.ts';

let stage: Stage | undefined;
let service: Upstream | undefined;
afterEach(async () => {
  await stage?.close();
  await service?.close();
  stage = undefined;
  service = undefined;
});

const JUDGE = { id: 'llmJudge', parameters: { prompt: 'It is polite.', model: '@judge/judge-model' } };
const verdict = (holds: boolean) =>
  chat({ text: JSON.stringify({ verdict: holds, reason: 'because' }), model: 'judge-model' });

/** `house` asks the first upstream; the Integration `judge` is the second. */
async function start(check: object, more = '', actions: object = { deny: true }, spec: object = {}): Promise<Stage> {
  stage = await startGuarded(
    { input_guardrails: ['judged'], ...spec },
    ([, judge]) =>
      guardrail('judged', [check], actions) +
      secret('judge', { api_key: 'judge-secret' }) +
      object('Integration', 'judge', {
        provider: 'openai',
        configurations: { custom_host: `${judge?.origin}/v1` },
        secret_mappings: [{ target_field: 'api_key', secret_name: 'judge', secret_key: 'api_key' }],
      }) +
      more,
    { count: 2 },
  );
  return stage;
}

describe('a model that judges', () => {
  it('is asked through its Integration, with its credential, and never judged itself', async () => {
    const on = await start(JUDGE);
    on.at(1).answer(verdict(true));
    expect((await on.gateway.chat(HI)).status).toBe(200);
    const [call] = on.at(1).calls;
    expect(call?.headers['authorization']).toBe('Bearer judge-secret');
    expect(call?.path).toBe('/v1/chat/completions');
    expect(on.at(1).json()).toMatchObject({ model: 'judge-model', response_format: { type: 'json_object' } });
    expect(on.at(1).calls).toHaveLength(1);
    on.at(1).answer(verdict(false));
    expect((await on.gateway.chat(HI)).status).toBe(446);
  });

  it('is a request of its own in the log, in the same trace, billed to the same key', async () => {
    const on = await start(JUDGE, usageLimit('budget', { credit_limit: 10_000 }));
    on.at(1).answer(verdict(true));
    await (await on.gateway.chat(HI, { 'x-gateway-trace-id': 'a'.repeat(32) })).text();
    const lines = (await on.gateway.logs()).filter(({ msg }) => msg === 'request');
    expect(lines).toMatchObject([
      {
        inner: true,
        caller: 'test',
        model: '@judge/judge-model',
        sent_model: 'judge-model',
        status: 200,
        output_tokens: 12,
      },
      { caller: 'test', status: 200, output_tokens: 12 },
    ]);
    expect(new Set(lines.map(({ trace_id: id }) => id))).toEqual(new Set(['a'.repeat(32)]));
    expect(await usedOf(on)).toEqual([42]);
    expect(await on.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
  });

  it('keeps within the limits of the key: beyond them there is no verdict', async () => {
    const on = await start(JUDGE, usageLimit('budget', { credit_limit: 0 }));
    expect((await tell(await on.gateway.chat(HI))).body).toMatchObject({ error: { code: 'guardrail_failed' } });
    expect(on.at(1).calls).toHaveLength(0);
  });

  it('of answers is asked while the key’s only turn lasts', async () => {
    const key = 'one-at-a-time-0123456789';
    const on = await start(
      JUDGE,
      apiKey('one', key, { concurrency: { max_in_flight: 1 } }),
      { deny: true },
      { input_guardrails: [], output_guardrails: ['judged'] },
    );
    on.at(1).answer(verdict(true));
    expect((await on.gateway.chat(HI, { 'x-gateway-api-key': key })).status).toBe(200);
  });

  it.each([
    ['fails', problem(500)],
    ['says something else', chat({ text: 'I would say yes.' })],
    ['says nothing', json(200, { choices: [] })],
  ])('comes to no verdict where it %s', async (_what, reply) => {
    const on = await start(JUDGE);
    on.at(1).answer(reply);
    expect((await tell(await on.gateway.chat(HI))).body).toMatchObject({ error: { code: 'guardrail_failed' } });
  });

  it('may be one that does not exist', async () => {
    const on = await start({ id: 'llmJudge', parameters: { prompt: 'x', model: '@nobody/m' } });
    expect((await tell(await on.gateway.chat(HI))).body).toMatchObject({ error: { code: 'guardrail_failed' } });
  });
});

describe('moderation', () => {
  it('asks the endpoint of the provider', async () => {
    const on = await start({ id: 'moderation', parameters: { model: '@judge/mod' } });
    const flagged = (hate: boolean) =>
      json(200, { results: [{ flagged: hate, categories: { hate }, category_scores: { hate: 0.5 } }] });
    on.at(1).answer([flagged(false), flagged(true)]);
    expect((await on.gateway.chat(HI)).status).toBe(200);
    expect(on.at(1).calls[0]?.path).toBe('/v1/moderations');
    expect(on.at(1).json()).toEqual({ model: 'mod', input: ['Hi'] });
    expect(on.at(1).calls[0]?.headers['authorization']).toBe('Bearer judge-secret');
    expect((await on.gateway.chat(HI)).status).toBe(446);
  });
});

describe('a webhook', () => {
  it('may rewrite the request, which is still a stream if the caller said so', async () => {
    const body = { model: 'other', messages: [{ role: 'user', content: 'rewritten' }], stream: true };
    const asked = await startUpstream(json(200, { verdict: true, transformedData: { request: { json: body } } }));
    service = asked;
    const on = await start({
      id: 'webhook',
      parameters: { webhookURL: `${asked.origin}/check?x=1`, headers: { 'x-own': 'y' } },
    });
    expect((await on.gateway.chat(HI)).status).toBe(200);
    const { stream: _, ...sent } = body;
    expect(on.at(0).json()).toEqual(sent);
    expect(asked.calls[0]).toMatchObject({
      path: '/check?x=1',
      headers: { 'x-own': 'y', 'content-type': 'application/json' },
    });
  });

  it('is left when the caller leaves', async () => {
    const asked = await startUpstream({ send: () => undefined });
    service = asked;
    const on = await start({ id: 'webhook', parameters: { webhookURL: asked.origin, timeout: 30_000 } });
    const leave = new AbortController();
    const left = on.gateway.chat(HI, {}, leave.signal).catch(() => undefined);
    await asked.called(1);
    leave.abort();
    await left;
    expect(await lineOfLeft(on)).toMatchObject({ status: 499 });
    expect(on.at(0).calls).toHaveLength(0);
  });
});

describe('images of a request', () => {
  const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const image = (url: string) => ({
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });

  it('are fetched from where the installation lets requests go', async () => {
    const asked = await startUpstream({ send: (response) => void response.end(PNG) });
    service = asked;
    const images = guardrail('images', [{ id: 'inlineImageUrls', parameters: {} }]);
    const at = (listed: readonly string[]) =>
      startGuarded({ input_guardrails: ['images'] }, images, { gateway: () => ({ requestHosts: listed }) });
    stage = await at([asked.origin]);
    await (await stage.gateway.chat(image(`${asked.origin}/a.png`))).text();
    expect(JSON.stringify(stage.at(0).json())).toContain(`data:image/png;base64,${PNG.toString('base64')}`);
    await stage.close();
    stage = await at([]);
    await (await stage.gateway.chat(image(`${asked.origin}/a.png`))).text();
    expect(JSON.stringify(stage.at(0).json())).toContain(asked.origin);
    expect(asked.calls).toHaveLength(1);
  });
});

async function lineOfLeft(on: Stage): Promise<Record<string, unknown> | undefined> {
  for (let turn = 0; turn < 20; turn += 1) {
    const line = await lineOf(on);
    if (line !== undefined) return line;
  }
  return undefined;
}

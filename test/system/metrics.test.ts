/** What Prometheus is told of real requests, and that no caller can make it tell more than it should. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { startTestGateway } from '../fakes/gateway.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import { chat, chatStream, gated, json, pieces, problem } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(
    2,
    ([first, second]) => {
      const [one, two] = [target(first as Upstream), target(second as Upstream)];
      const retry = { attempts: 2, on_status_codes: [503], use_retry_after_headers: true };
      const breaker = { failure_threshold: 2, cooldown_interval: 60_000 };
      return (
        defaultConfig('house', one) +
        config('again', { ...one, retry }) +
        config('broken', { strategy: { mode: 'fallback' }, targets: [{ ...one, cb_config: breaker }, two] })
      );
    },
    ([first]) => ({ requestHosts: [first?.origin ?? ''] }),
  );
});
afterAll(() => stage.close());

async function send(body: object = HI, headers: Readonly<Record<string, string>> = {}, path = '/v1/chat/completions') {
  const response = await stage.gateway.post(path, body, headers);
  return { status: response.status, text: await response.text() };
}

type Selector = readonly [name: string, labels?: Readonly<Record<string, string>>];

/** How much each series grows while `act` runs. */
async function growth(selectors: readonly Selector[], act: () => Promise<unknown>): Promise<number[]> {
  const read = () => Promise.all(selectors.map(([name, labels]) => stage.gateway.metric(name, labels)));
  const before = await read();
  await act();
  const after = await read();
  return after.map((value, index) => value - (before[index] ?? 0));
}

/** Not those of the process, which come and go with what it waits for. */
const OURS = /^(?:modelgateway|gen_ai)_/;
const OPENAI = { provider: 'openai' } as const;

describe('names', () => {
  it.each([
    ['modelgateway_requests_total', 'counter'],
    ['modelgateway_request_duration_seconds', 'histogram'],
    ['modelgateway_requests_in_flight', 'gauge'],
    ['modelgateway_attempts_total', 'counter'],
    ['modelgateway_first_byte_seconds', 'histogram'],
    ['modelgateway_tokens_total', 'counter'],
    ['modelgateway_stream_failures_total', 'counter'],
    ['modelgateway_retries_total', 'counter'],
    ['modelgateway_breaker_state', 'gauge'],
    ['modelgateway_config_generation', 'gauge'],
    ['modelgateway_config_age_seconds', 'gauge'],
    ['modelgateway_config_refused_total', 'counter'],
    ['gen_ai_client_operation_duration_seconds', 'histogram'],
  ])('%s is a %s with a help text', async (name, type) => {
    const text = await stage.gateway.metrics();
    expect(text).toContain(`\n# TYPE ${name} ${type}\n`);
    expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.+$`, 'm'));
  });

  it('and values are the text format: each series once, each value a number', async () => {
    await send();
    const response = await fetch(`${stage.gateway.adminOrigin}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const series = (await response.text()).split('\n').filter((line) => OURS.test(line));
    expect(series.length).toBeGreaterThan(50);
    const SERIES = /^([a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*\})?) (\S+)$/;
    const names = series.map((line) => {
      const [, name, value] = SERIES.exec(line) ?? [];
      expect(Number(value?.replace('+Inf', 'Infinity')), line).not.toBeNaN();
      return name;
    });
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a request', () => {
  it('that is answered counts once, with its attempt, its tokens and its times', async () => {
    stage.at(0).answer(
      json(200, {
        ...openAiChat({ model: 'counted-model' }),
        usage: {
          prompt_tokens: 100,
          completion_tokens: 20,
          total_tokens: 120,
          prompt_tokens_details: { cached_tokens: 64 },
          completion_tokens_details: { reasoning_tokens: 8 },
        },
      }),
    );
    const of = { provider: 'openai', model: 'counted-model' };
    const grown = await growth(
      [
        ['modelgateway_requests_total', { endpoint: 'chatComplete', status: '200', ...OPENAI, code: 'none' }],
        ['modelgateway_request_duration_seconds_count', { endpoint: 'chatComplete', status: '2xx', ...OPENAI }],
        ['modelgateway_first_byte_seconds_count', { ...OPENAI, stream: 'false' }],
        ['modelgateway_attempts_total', { ...OPENAI, status: '200' }],
        ['modelgateway_tokens_total', { ...of, type: 'input' }],
        ['modelgateway_tokens_total', { ...of, type: 'output' }],
        ['modelgateway_tokens_total', { ...of, type: 'cached' }],
        ['modelgateway_tokens_total', { ...of, type: 'reasoning' }],
        [
          'gen_ai_client_operation_duration_seconds_count',
          { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai', gen_ai_response_model: 'counted-model' },
        ],
        ['modelgateway_retries_total'],
        ['modelgateway_stream_failures_total'],
      ],
      () => send(),
    );
    expect(grown).toEqual([1, 1, 1, 1, 100, 20, 64, 8, 1, 0, 0]);
  });

  it.each([
    ['a wrong key', { 'x-gateway-api-key': 'wrong' }, HI, { status: '401', code: 'invalid_api_key' }],
    ['a field out of bounds', {}, { ...HI, n: 0 }, { status: '400', code: 'invalid_value' }],
    ['an unknown config', { 'x-gateway-config': 'no' }, HI, { status: '400', code: 'unknown_config' }],
  ])('with %s counts under its code, without an attempt', async (_what, headers, body, labels) => {
    const selectors: Selector[] = [
      ['modelgateway_requests_total', { ...labels, provider: 'none' }],
      ['modelgateway_requests_total'],
      ['modelgateway_attempts_total'],
    ];
    expect(await growth(selectors, () => send(body, headers))).toEqual([1, 1, 0]);
  });

  it('that is tried again counts each try', async () => {
    const soon = { 'retry-after-ms': '1' };
    stage.at(0).answer([json(503, {}, soon), json(503, {}, soon), chat()]);
    const selectors: Selector[] = [
      ['modelgateway_requests_total', { status: '200' }],
      ['modelgateway_attempts_total', { status: '503' }],
      ['modelgateway_attempts_total', { status: '200' }],
      ['modelgateway_retries_total', OPENAI],
    ];
    expect(await growth(selectors, () => send(HI, { 'x-gateway-config': 'again' }))).toEqual([1, 2, 1, 2]);
  });

  it('of another endpoint and a stream counts under those', async () => {
    stage.at(0).answer(chatStream());
    const selectors: Selector[] = [
      ['modelgateway_requests_total', { endpoint: 'messages', status: '200' }],
      ['modelgateway_first_byte_seconds_count', { endpoint: 'messages', stream: 'true' }],
      ['modelgateway_tokens_total', { type: 'output' }],
      ['gen_ai_server_time_per_output_token_seconds_count'],
    ];
    const body = { ...HI_MESSAGE, stream: true };
    expect(await growth(selectors, () => send(body, {}, '/v1/messages'))).toEqual([1, 1, 12, 1]);
  });

  it('whose stream breaks off counts as a failed stream, by its reason', async () => {
    stage.at(0).answer(pieces(openAiEvents().slice(0, 3), { ending: 'reset', gapMs: 5 }));
    const selectors: Selector[] = [
      ['modelgateway_stream_failures_total', { ...OPENAI, reason: 'upstream_cut' }],
      ['modelgateway_requests_total', { status: '200', code: 'upstream_cut' }],
    ];
    expect(await growth(selectors, () => send({ ...HI, stream: true }))).toEqual([1, 1]);
  });
});

describe('gauges', () => {
  it('requests_in_flight says how many run, and is 0 again when none does', async () => {
    const gate = gated(chat());
    const before = stage.at(0).calls.length;
    stage.at(0).answer(gate.reply);
    const asked = Promise.all(Array.from({ length: 7 }, () => send()));
    await stage.at(0).called(before + 7);
    expect(await stage.gateway.metric('modelgateway_requests_in_flight')).toBe(7);
    gate.open();
    await asked;
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
  });

  it('requests_in_flight is 0 again also where callers leave', async () => {
    stage.at(0).answer(gated(chat()).reply);
    const before = stage.at(0).calls.length;
    const leaving = new AbortController();
    const asked = Promise.allSettled(
      Array.from({ length: 5 }, (_, index) =>
        stage.gateway.chat({ ...HI, stream: index % 2 === 0 }, {}, leaving.signal),
      ),
    );
    await stage.at(0).called(before + 5);
    const left = await growth([['modelgateway_requests_total', { status: '499' }]], async () => {
      leaving.abort();
      await asked;
      await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
    });
    expect(left).toEqual([5]);
  });

  it('config_generation and config_age_seconds follow the snapshot, config_refused_total what was refused', async () => {
    const { gateway } = stage;
    const generation = await gateway.metric('modelgateway_config_generation');
    gateway.apply(stage.manifests);
    expect(await gateway.metric('modelgateway_config_generation')).toBe(generation + 1);
    expect(await gateway.metric('modelgateway_config_age_seconds')).toBeLessThan(30);
    const refused = await growth([['modelgateway_config_refused_total']], async () => {
      gateway.gateway.load({ index: 'nonsense', shards: new Map() });
    });
    expect(refused).toEqual([1]);
    expect(await gateway.metric('modelgateway_config_generation')).toBe(generation + 1);
  });

  it('config_generation is absent before there is a snapshot', async () => {
    const empty = await startTestGateway({ empty: true });
    const text = await empty.metrics();
    expect(text).not.toContain('modelgateway_config_generation');
    expect(text).toContain('modelgateway_requests_in_flight 0');
    await empty.close();
  });

  it('breaker_state tells an open circuit by its target', async () => {
    stage.at(0).answer(problem(500));
    stage.at(1).answer(chat());
    const state = () =>
      stage.gateway.metric('modelgateway_breaker_state', { target: 'default/broken config.targets[0]' });
    for (let count = 0; count < 3; count += 1) await send(HI, { 'x-gateway-config': 'broken' });
    expect(await state()).toBe(2);
  });
});

describe('hostile callers', () => {
  const random = () => randomBytes(6).toString('hex');

  async function seriesCount(): Promise<number> {
    return (await stage.gateway.metrics()).split('\n').filter((line) => OURS.test(line)).length;
  }

  /** In parallel, but not all at once. */
  async function many(count: number, act: () => Promise<unknown>): Promise<void> {
    for (let done = 0; done < count; done += 20) await Promise.all(Array.from({ length: 20 }, act));
  }

  it.each<[what: string, act: () => Promise<unknown>]>([
    ['models', () => send({ ...HI, model: `m-${random()}` })],
    ['metadata', () => send(HI, { 'x-gateway-metadata': JSON.stringify({ [random()]: random() }) })],
    ['providers', () => send(HI, { 'x-gateway-provider': random(), 'x-gateway-config': '{}' })],
    ['configs', () => send(HI, { 'x-gateway-config': random() })],
    ['keys', () => send(HI, { 'x-gateway-api-key': random() })],
    ['users', () => send({ ...HI, user: random() })],
    ['paths', () => send(HI, {}, `/v1/${random()}`)],
    ['names of headers', () => send(HI, { [`x-${random()}`]: random() })],
    ['trace ids', () => send(HI, { 'x-gateway-trace-id': random(), 'x-gateway-span-name': random() })],
    ['methods', () => fetch(`${stage.gateway.origin}/v1/chat/completions`, { method: `X${random()}` })],
  ])('do not add a series with hundreds of %s', async (_what, act) => {
    stage.at(0).answer(chat());
    await act();
    const before = await seriesCount();
    await many(200, act);
    expect(await seriesCount()).toBe(before);
  });

  it('do not add one with breakers of their own configs', async () => {
    stage.at(0).answer(problem(500));
    const fail = () => {
      const own = { ...target(stage.at(0)), cb_config: { failure_threshold: 1, cooldown_interval: 60_000 } };
      return send(HI, { 'x-gateway-config': JSON.stringify({ ...own, name: random() }) });
    };
    expect((await fail()).status).toBe(500);
    const before = await seriesCount();
    await many(100, fail);
    expect(await seriesCount()).toBe(before);
  });

  it('are bounded even where the upstream answers with any model, status or code that they ask for', async () => {
    let count = 0;
    stage.at(0).answer((call) => {
      count += 1;
      const { model } = JSON.parse(call.body) as { model: string };
      if (count % 4 === 0) return json(400 + (count % 200), { error: { message: 'no', type: model, code: model } });
      return chat({ model: `${model}"\n\\`.repeat(count % 3) });
    });
    await many(1_500, () => send({ ...HI, model: random() }));
    const first = await stage.gateway.metrics();
    const models = new Set([...first.matchAll(/gen_ai_response_model="((?:[^"\\]|\\.)*)"/g)].map(([, name]) => name));
    expect(models.size).toBeLessThanOrEqual(200);
    expect(models).toContain('other');
    const before = await seriesCount();
    await many(400, () => send({ ...HI, model: random() }));
    expect((await seriesCount()) - before).toBeLessThan(40);
  });
});

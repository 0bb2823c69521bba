/** A hit counts as a request and costs nothing; what it saved is told. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chat, chatStream, gated } from '../fakes/replies.ts';
import { startUpstream } from '../fakes/upstream.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { rateLimit, startLimitStage, usageLimit } from '../limits/stage.ts';
import { type MoneyStage, startMoneyStage } from '../money/money-stage.ts';
import { CACHED, numbered, question } from './stage.ts';

let stage: MoneyStage;
beforeAll(async () => {
  stage = await startMoneyStage();
});
afterEach(() => stage.at(0).answer(numbered({ model: 'gpt-4o-mini' })));
afterAll(() => stage.close());

const PRICED = { model: 'gpt-4o-mini' };
const BY_CONFIG = { 'x-gateway-config': JSON.stringify({ virtual_key: 'plain', ...CACHED }) };

async function linesOf(asked: object, times: number): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const about = `cost ${Math.random()}`;
  const headers = { ...BY_CONFIG, 'x-gateway-trace-id': about };
  for (let time = 0; time < times; time += 1) await (await stage.gateway.chat(asked, headers)).text();
  let lines: readonly Readonly<Record<string, unknown>>[] = [];
  await waitFor(async () => {
    lines = (await stage.gateway.logs()).filter((line) => line['caller_trace_id'] === about);
    return lines.length === times;
  }, 'the lines');
  return lines;
}

describe('the log', () => {
  it.each([
    ['a whole answer', {}],
    ['a stream', { stream: true }],
  ])('says of a hit that it costs nothing, and what it saved: %s', async (_what, how) => {
    stage.at(0).answer(numbered({ model: 'gpt-4o-mini' }));
    const [first, again] = await linesOf({ ...question(), ...PRICED, ...how }, 2);
    expect(first).toMatchObject({ cache: 'MISS', input_tokens: 9, output_tokens: 12 });
    expect(first?.['saved_usd']).toBeUndefined();
    expect(Number(first?.['cost_usd'])).toBeGreaterThan(0);
    expect(again).toMatchObject({
      cache: 'HIT',
      input_tokens: 0,
      output_tokens: 0,
      cost_usd: '0',
      saved_usd: first?.['cost_usd'],
      attempts: 0,
    });
  });

  it('says nothing of a cache that is not there', async () => {
    const line = await stage.lineOf('/v1/chat/completions', 'plain', { ...question(), ...PRICED });
    expect(line).not.toHaveProperty('cache');
  });

  it.each([
    ['whole answer', {}, chat({ model: 'gpt-4o-mini' })],
    ['stream', { stream: true }, chatStream({ model: 'gpt-4o-mini' })],
  ])('bills one of those who share a %s', async (_what, how, reply) => {
    const gate = gated(reply);
    stage.at(0).answer(gate.reply);
    const before = stage.at(0).calls.length;
    const about = `shared ${Math.random()}`;
    const headers = { ...BY_CONFIG, 'x-gateway-trace-id': about };
    const asked = { ...question(), ...PRICED, ...how };
    const asking = [1, 2, 3].map(async () => (await stage.gateway.chat(asked, headers)).text());
    await stage.at(0).called(before + 1);
    await waitFor(async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === 3, 'all of them');
    gate.open();
    await Promise.all(asking);
    let lines: readonly Readonly<Record<string, unknown>>[] = [];
    await waitFor(async () => {
      lines = (await stage.gateway.logs()).filter((line) => line['caller_trace_id'] === about);
      return lines.length === 3;
    }, 'the lines');
    const paid = lines.filter((line) => line['cost_usd'] !== '0');
    expect(paid).toHaveLength(1);
    expect(paid[0]).toMatchObject({ cache: 'MISS' });
    for (const line of lines.filter((each) => each !== paid[0]))
      expect(line).toMatchObject({ cache: 'HIT', saved_usd: paid[0]?.['cost_usd'] });
  });
});

describe('metrics', () => {
  it('count what came of requests, and what was saved', async () => {
    const { gateway } = stage;
    const count = (status: string) => gateway.metric('modelgateway_cache_requests_total', { status });
    const before = { hits: await count('HIT'), misses: await count('MISS') };
    const saved = await gateway.metric('modelgateway_cache_saved_usd_total');
    const paid = await gateway.metric('modelgateway_cost_usd_total');
    const [first] = await linesOf({ ...question(), ...PRICED }, 3);
    const cost = Number(first?.['cost_usd']);
    expect(await count('MISS')).toBe(before.misses + 1);
    expect(await count('HIT')).toBe(before.hits + 2);
    expect(await gateway.metric('modelgateway_cache_saved_usd_total')).toBeCloseTo(saved + 2 * cost, 12);
    expect(await gateway.metric('modelgateway_cost_usd_total')).toBeCloseTo(paid + cost, 12);
    expect(await gateway.metric('modelgateway_cache_bytes')).toBeGreaterThan(0);
    expect(await gateway.metric('modelgateway_cache_faults_total')).toBe(0);
  });
});

describe('limits', () => {
  it('of requests count a hit, those of tokens do not', async () => {
    const upstream = await startUpstream(numbered());
    const limits = rateLimit('few', { value: 3, unit: 'rph' }) + usageLimit('tokens', { credit_limit: 1_000_000 });
    const limited = await startLimitStage(limits, { gateway: { requestHosts: [upstream.origin] } });
    const at = { provider: 'openai', api_key: 'k', custom_host: `${upstream.origin}/v1` };
    const headers = { 'x-gateway-config': JSON.stringify({ ...at, ...CACHED }) };
    const asked = question();
    const statuses: number[] = [];
    for (let time = 0; time < 4; time += 1) statuses.push((await limited.gateway.chat(asked, headers)).status);
    const { budgets } = await limited.gateway.gateway.usage();
    await limited.close();
    await upstream.close();
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(upstream.calls.length).toBe(1);
    expect(budgets.map(({ used }) => Number(used))).toEqual([21]);
  });
});

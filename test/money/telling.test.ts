/** What a settled exchange tells of its bill: line, terminal, span, metrics. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Bill } from '#gateway/money/bill.ts';
import { createLog } from '#gateway/telemetry/log.ts';
import { LabelValues, MoneyFamily } from '#gateway/telemetry/metric-families.ts';
import { createMetrics } from '#gateway/telemetry/metrics.ts';
import { attemptSpans } from '#gateway/telemetry/spans.ts';
import { collectingSink } from '../gateway/telemetry/collecting-sink.ts';
import { anAttempt, anExchange } from '../gateway/telemetry/settled-exchange.ts';
import { usage } from './prices.ts';

const BILL: Bill = { usage: usage(9, 12), estimated: false, cost: 142_500_000, priceVersion: 'openai-1' };

async function lineOf(over: Parameters<typeof anExchange>[0], terminal = false): Promise<string> {
  const sink = collectingSink();
  const log = createLog({ level: 'info', sink, terminal });
  log.request(anExchange(over));
  await log.close();
  return sink.text;
}

describe('the line', () => {
  it('names every part of the usage that there was, and no other', async () => {
    const used = usage(
      100,
      50,
      {
        cached_tokens: 1,
        cache_creation_tokens: 2,
        cache_creation_1h_tokens: 3,
        audio_tokens: 4,
        image_tokens: 5,
        cached_audio_tokens: 6,
        cached_image_tokens: 7,
      },
      {
        reasoning_tokens: 8,
        audio_tokens: 9,
        image_tokens: 10,
        accepted_prediction_tokens: 11,
        rejected_prediction_tokens: 12,
      },
    );
    expect(JSON.parse(await lineOf({ bill: { ...BILL, usage: used, estimated: true } }))).toMatchObject({
      input_tokens: 100,
      output_tokens: 50,
      cache_read_tokens: 1,
      cache_write_tokens: 2,
      cache_write_1h_tokens: 3,
      input_audio_tokens: 4,
      input_image_tokens: 5,
      cache_read_audio_tokens: 6,
      cache_read_image_tokens: 7,
      reasoning_tokens: 8,
      output_audio_tokens: 9,
      output_image_tokens: 10,
      accepted_prediction_tokens: 11,
      rejected_prediction_tokens: 12,
      cost_usd: '0.0001425',
      price_version: 'openai-1',
      estimated: true,
    });
    const plain = JSON.parse(await lineOf({ bill: { ...BILL, usage: usage(9, 12, { cached_tokens: 0 }, {}) } }));
    expect(Object.keys(plain).filter((name) => name.endsWith('_tokens'))).toEqual(['input_tokens', 'output_tokens']);
  });

  it.each<[string, Bill | undefined, RegExp]>([
    ['the cost', BILL, /cost=\S*\$0\.0001425/],
    ['that it is not known', { ...BILL, cost: undefined }, /cost=\S*unknown/],
    ['nothing where nothing was used', undefined, /^(?!.*cost)/],
  ])('on a terminal says %s', async (_what, bill, text) => {
    expect(stripVTControlCharacters(await lineOf({ bill }, true))).toMatch(text);
  });
});

describe('the span of the attempt that answered', () => {
  it('carries cost, prices and Integration, and no other attempt does', () => {
    const attempts = [anAttempt({ status: 503 }), anAttempt({ integration: 'team-a/main' })];
    const spans = attemptSpans(anExchange({ attempts, bill: { ...BILL, estimated: true } }), performance.now());
    expect(spans[0]?.attributes).not.toHaveProperty('modelgateway.cost_usd');
    expect(spans[1]?.attributes).toMatchObject({
      'modelgateway.cost_usd': 0.0001425,
      'modelgateway.price_version': 'openai-1',
      'modelgateway.usage_estimated': true,
      'modelgateway.integration': 'team-a/main',
      'gen_ai.usage.input_tokens': 9,
    });
  });

  it('has no cost where none is known', () => {
    const bill = { ...BILL, cost: undefined, priceVersion: undefined };
    const [span] = attemptSpans(anExchange({ bill }), performance.now());
    for (const name of ['cost_usd', 'price_version', 'usage_estimated'])
      expect(span?.attributes).not.toHaveProperty(`modelgateway.${name}`);
  });
});

describe('the counter of money', () => {
  const provider = new LabelValues(4);
  const cost = () => new MoneyFamily('cost', 'Help.', { provider });

  it('is exact however often and however much is added', () => {
    const family = cost();
    let sum = 0n;
    for (let index = 0; index < 200_000; index += 1) {
      const amount = index % 5 === 0 ? Number.MAX_SAFE_INTEGER - index : index;
      family.add(amount, provider.idOf('openai'));
      sum += BigInt(amount);
    }
    const units = String(sum).padStart(13, '0');
    expect(family.text()).toContain(
      `cost{provider="openai"} ${units.slice(0, -12)}.${units.slice(-12).replace(/0+$/, '')}\n`,
    );
  });

  it('counts each label by itself', () => {
    const family = cost();
    family.add(10 ** 12, provider.idOf('openai'));
    family.add(1, provider.idOf('anthropic'));
    family.add(500_000_000_000, provider.idOf('openai'));
    expect(family.text()).toBe(
      '# HELP cost Help.\n# TYPE cost counter\ncost{provider="openai"} 1.5\ncost{provider="anthropic"} 0.000000000001\n',
    );
  });

  it('stands beside the count of what has no price', async () => {
    const sources = { breakers: () => [], config: () => undefined, refused: () => 0, droppedLogLines: () => 0 };
    const metrics = createMetrics(sources);
    for (const bill of [BILL, BILL, { ...BILL, cost: undefined }, undefined]) {
      metrics.begin();
      metrics.settle(anExchange({ bill }));
    }
    const text = await metrics.text();
    const labels = '{provider="openai",model="gpt-4o-mini-2024-07-18"}';
    expect(text).toContain(`modelgateway_cost_usd_total${labels} 0.000285\n`);
    expect(text).toContain(`modelgateway_cost_unknown_total${labels} 1\n`);
  });
});

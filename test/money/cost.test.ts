/** Prices x usage, to the last digit. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PricingAdjustments } from '#crds/limits/pricing.ts';
import { costOf, worstCost } from '#gateway/money/cost.ts';
import { dollarsOf } from '#gateway/money/exact.ts';
import type { PriceList } from '#gateway/money/price-list.ts';
import type { Usage } from '#gateway/providers/provider.ts';
import { known, listed, own, usage } from './prices.ts';

const DOLLARS = 1e12;
const cost = (prices: PriceList, of: Usage, images?: number) => dollarsOf(costOf(prices, of, images));

describe('by the price pages', () => {
  it.each<[string, string, Usage, string]>([
    // 1,000 x 2.50 + 500 x 10.00, for a million each.
    ['openai', 'gpt-4o', usage(1_000, 500), '0.0075'],
    ['openai', 'gpt-4o-mini', usage(1, 1), '0.00000075'],
    // 88 x 0.15 + 12 x 0.075 + 7 x 0.60
    ['openai', 'gpt-4o-mini', usage(100, 7, { cached_tokens: 12 }), '0.0000183'],
    // Reasoning is a part of the answer and costs what the answer costs: 10 x 1.10 + 300 x 4.40
    ['openai', 'o4-mini', usage(10, 300, undefined, { reasoning_tokens: 256 }), '0.001331'],
    // 60 x 2.50 + 40 x 32 + 20 x 10 + 30 x 64
    ['openai', 'gpt-audio', usage(100, 50, { audio_tokens: 40 }, { audio_tokens: 30 }), '0.00355'],
    ['openai', 'text-embedding-3-small', usage(12_345, 0), '0.0002469'],
    // Writes cost more than input: 300 x 2 + 500 x 0.10 + 200 x 2.50 + 10 x 10
    ['openai', 'gpt-6.1-sol', usage(1_000, 10, { cached_tokens: 500, cache_creation_tokens: 200 }), '0.00125'],
    // 10 x 3 + 1,000 x 0.30 + 100 x 3.75 + 50 x 15
    [
      'anthropic',
      'claude-sonnet-4-6',
      usage(1_110, 50, { cached_tokens: 1_000, cache_creation_tokens: 100 }),
      '0.001455',
    ],
    // Of 100 written ones 40 are kept for an hour: 60 x 3.75 + 40 x 6
    [
      'anthropic',
      'claude-sonnet-4-6',
      usage(100, 0, { cache_creation_tokens: 100, cache_creation_1h_tokens: 40 }),
      '0.000465',
    ],
    ['anthropic', 'claude-opus-4-1', usage(1_000_000, 1_000_000), '90'],
    // Made up: 10 and 20.
    ['simulator', 'echo', usage(3, 2), '0.00007'],
  ])('%s %s %j costs %s', (provider, model, used, dollars) => {
    expect(cost(known(listed(provider, model)), used)).toBe(dollars);
  });
});

describe('long prompts', () => {
  const tiered = own({
    request_token: { price: '0.000001' },
    response_token: { price: '0.00001' },
    cache_read_input_token: { price: '0.0000001' },
    tiers: [
      { above_tokens: 1_000, request_token: { price: '0.000004' } },
      { above_tokens: 100, request_token: { price: '0.000002' }, response_token: { price: '0.00003' } },
    ],
  });

  it.each([
    [1, '0.000011'],
    [100, '0.00011'],
    // All of it at the prices of the tier, not only what is above.
    [101, '0.000232'],
    [1_000, '0.00203'],
    // What the tier does not name is as it is without a tier, not as in the one below.
    [1_001, '0.004014'],
  ])('of %d tokens and one token of answer cost %s', (tokens, dollars) => {
    expect(cost(tiered, usage(tokens, 1))).toBe(dollars);
  });

  it('keep the price of cached tokens that no tier names', () => {
    expect(cost(tiered, usage(2_000, 0, { cached_tokens: 2_000 }))).toBe('0.0002');
  });

  it.each<[string, string, number, string, string]>([
    ['openai', 'gpt-6-sol', 272_000, '0.544', '1.088004'],
    ['openai', 'gpt-5.5', 272_000, '1.36', '2.72001'],
    ['anthropic', 'claude-haiku-5-5', 100_000, '0.01', '0.0500005'],
    ['anthropic', 'claude-sonnet-4-5', 200_000, '0.6', '1.200006'],
  ])('%s %s: %d tokens cost %s, one more %s', (provider, model, tokens, short, long) => {
    const prices = known(listed(provider, model));
    expect([cost(prices, usage(tokens, 0)), cost(prices, usage(tokens + 1, 0))]).toEqual([short, long]);
  });
});

/** Two tokens of each kind that can be told apart. */
const ALL_KINDS = usage(
  20,
  20,
  {
    cached_tokens: 6,
    cache_creation_tokens: 4,
    cache_creation_1h_tokens: 2,
    audio_tokens: 4,
    image_tokens: 4,
    cached_audio_tokens: 2,
    cached_image_tokens: 2,
  },
  {
    reasoning_tokens: 2,
    audio_tokens: 2,
    image_tokens: 2,
    accepted_prediction_tokens: 2,
    rejected_prediction_tokens: 2,
  },
);
/** 20 = 2 read as text, 2 audio and 2 images read, 4 written, 2 audio, 2 images: 6 are plain. Of the answer 10 are plain. */
const PLAIN_INPUT = 6;
const PLAIN_OUTPUT = 10;

/** What of `ALL_KINDS` and 3 images a unit is charged for, where it alone has a price. */
const CHARGED: Readonly<Record<Exclude<keyof PricingAdjustments['multiplier'], 'default'>, number>> = {
  request_token: 20,
  request_text_token: PLAIN_INPUT,
  request_image_token: 2,
  request_audio_token: 2,
  response_token: 20,
  response_text_token: PLAIN_OUTPUT,
  response_image_token: 2,
  response_audio_token: 2,
  cache_read_input_token: 6,
  cache_read_text_input_token: 2,
  cache_read_image_input_token: 2,
  cache_read_audio_input_token: 2,
  cache_write_input_token: 4,
  cache_write_text_input_token: 4,
  cache_write_image_input_token: 0,
  reasoning_token: 2,
  prediction_accepted_token: 2,
  prediction_rejected_token: 2,
  image: 3,
  request: 1,
};
const UNITS = Object.keys(CHARGED) as (keyof typeof CHARGED)[];
/** Units that have a price of their own where `request_token` and `response_token` have one: they are no part of these. */
const FINER = new Set(UNITS.filter((unit) => /_(?:text|image)_/.test(unit)));

describe('each kind of unit', () => {
  it.each(Object.entries(CHARGED))('%s alone priced at a dollar costs %d', (unit, count) => {
    expect(costOf(own({ [unit]: { price: 1 } }), ALL_KINDS, 3)).toBe(count * DOLLARS);
  });

  it.each(UNITS)('%s has a multiplier of its own', (unit) => {
    const prices = Object.fromEntries(UNITS.map((each) => [each, { price: '0.01' }]));
    const multiplier = unit === 'image' ? { image: { default: '1.5' } } : { [unit]: '1.5' };
    const plain = costOf(own(prices), ALL_KINDS, 3);
    const finer = UNITS.filter((each) => FINER.has(each) && isPartOf(each, unit)).length > 0;
    const counted = finer ? finerCount(unit) : CHARGED[unit];
    expect(costOf(own(prices, multiplier), ALL_KINDS, 3) - plain).toBe(counted * 0.005 * DOLLARS);
  });

  it('takes the default multiplier where it is not named, and its own where it is', () => {
    const prices = Object.fromEntries(UNITS.map((each) => [each, { price: '0.01' }]));
    const all = costOf(own(prices), ALL_KINDS, 3);
    expect(costOf(own(prices, { default: '0.5' }), ALL_KINDS, 3)).toBe(all / 2);
    expect(costOf(own(prices, { default: 0 }), ALL_KINDS, 3)).toBe(0);
    expect(costOf(own(prices, { default: 0, request: 2 }), ALL_KINDS, 3)).toBe(0.02 * DOLLARS);
  });

  it('is charged as the provider says, even where the parts are more than the sum', () => {
    const prices = own({ response_token: { price: 1 }, request_token: { price: 1 } });
    expect(costOf(prices, usage(1, 1, { cached_tokens: 3 }, { reasoning_tokens: 5 }))).toBe(8 * DOLLARS);
  });

  function isPartOf(unit: string, whole: string): boolean {
    return unit.replace(/_(?:text|image)_/, '_') === whole;
  }

  /** A multiplier of the whole is that of its plain and pictured parts too. */
  function finerCount(unit: (typeof UNITS)[number]): number {
    return UNITS.filter((each) => FINER.has(each) && isPartOf(each, unit)).reduce(
      (sum, each) => sum + CHARGED[each],
      0,
    );
  }
});

describe('multipliers', () => {
  it.each([
    ['0.9', '0.0000009'],
    [0.85, '0.00000085'],
    ['1.000000000000000001', '0.000001'],
    ['0', '0'],
    ['1000000', '1'],
  ])('%s of a millionth is %s', (multiplier, dollars) => {
    expect(cost(own({ request_token: { price: '0.000001' } }, { default: multiplier }), usage(1, 0))).toBe(dollars);
  });

  it('are exact before the one rounding', () => {
    // A third of a unit three million times is a million units: rounding each token first would lose all of it.
    const prices = own({ request_token: { price: '0.000000000001' } }, { default: '0.333333333333333333' });
    expect(costOf(prices, usage(3_000_000, 0))).toBe(1_000_000);
  });
});

describe('one entry', () => {
  it('is rounded half up once', () => {
    const prices = own({ request_token: { price: '0.0000000000005' }, response_token: { price: '0.0000000000001' } });
    expect([0, 1, 2, 3].map((tokens) => costOf(prices, usage(tokens, 0)))).toEqual([0, 1, 1, 2]);
    expect(costOf(prices, usage(0, 4))).toBe(0);
    expect(costOf(prices, usage(1, 4))).toBe(1);
  });

  it('is at most what a number can hold', () => {
    const prices = own({ request_token: { price: 1e9 } });
    expect(costOf(prices, usage(Number.MAX_SAFE_INTEGER, 0))).toBe(Number.MAX_SAFE_INTEGER);
    expect(worstCost(prices, Number.MAX_SAFE_INTEGER, 0)).toBe(Number.MAX_SAFE_INTEGER);
  });
});

/** Of so many digits after the point: with 12, all prices are whole units of what is billed. */
const priceOf = (digits: number) =>
  fc
    .tuple(fc.nat(10 ** 6), fc.integer({ min: 2, max: digits }))
    .map(([significant, zeros]) => `0.${'0'.repeat(zeros)}${significant}`.slice(0, 2 + digits));
const part = fc.nat(50_000);
const anyUsage = fc
  .record({ plain: part, read: part, written: part, output: part, reasoning: part })
  .map(({ plain, read, written, output, reasoning }) =>
    usage(
      plain + read + written,
      output + reasoning,
      { cached_tokens: read, cache_creation_tokens: written },
      { reasoning_tokens: reasoning },
    ),
  );
const pricesOf = (digits: number) => {
  const price = priceOf(digits);
  return fc.record({
    request_token: price,
    response_token: price,
    cache_read_input_token: price,
    cache_write_input_token: price,
    reasoning_token: price,
  });
};
const anyPrices = fc.oneof(pricesOf(18), pricesOf(12));

describe('sums', () => {
  it('are the exact rational cost, but for half a unit of each entry', () => {
    fc.assert(
      fc.property(anyPrices, fc.array(anyUsage, { maxLength: 30 }), (texts, used) => {
        const prices = own(Object.fromEntries(Object.entries(texts).map(([unit, text]) => [unit, { price: text }])));
        let exact = 0n;
        let billed = 0n;
        for (const each of used) {
          const one = rationalCost(texts, each);
          const cost = BigInt(costOf(prices, each));
          // 1e-18 against 1e-12.
          const error = 2n * (cost * 1_000_000n - one);
          expect(error > -1_000_000n && error <= 1_000_000n).toBe(true);
          exact += one;
          billed += cost;
        }
        const error = 2n * (billed * 1_000_000n - exact);
        expect(error < 0n ? -error : error).toBeLessThanOrEqual(1_000_000n * BigInt(used.length));
      }),
    );
  });

  it('do not drift over a million entries', () => {
    const prices = own({ request_token: { price: '0.0000001' }, response_token: { price: '0.0000007' } });
    let billed = 0n;
    for (let entry = 0; entry < 1_000_000; entry += 1) billed += BigInt(costOf(prices, usage(entry % 7, entry % 11)));
    // 142,857 rounds of 0..6 are 2,999,997 tokens of input, 90,909 rounds of 0..10 are 4,999,995 of output.
    expect(dollarsOf(billed)).toBe('3.7999962');
  });

  /** Units of 1e-18, by hand: each kind times its price. */
  function rationalCost(texts: Readonly<Record<keyof typeof CHARGED & string, string>> | object, of: Usage): bigint {
    const at = (unit: string) => {
      const [, fraction = ''] = (texts as Record<string, string>)[unit]?.split('.') ?? [];
      return BigInt(fraction.padEnd(18, '0'));
    };
    const { cached_tokens: read = 0, cache_creation_tokens: written = 0 } = of.prompt_tokens_details ?? {};
    const { reasoning_tokens: reasoning = 0 } = of.completion_tokens_details ?? {};
    return (
      BigInt(of.prompt_tokens - read - written) * at('request_token') +
      BigInt(read) * at('cache_read_input_token') +
      BigInt(written) * at('cache_write_input_token') +
      BigInt(of.completion_tokens - reasoning) * at('response_token') +
      BigInt(reasoning) * at('reasoning_token')
    );
  }
});

describe('the most that a request can cost', () => {
  it('is never less than what it does cost', () => {
    fc.assert(
      fc.property(anyPrices, anyUsage, fc.nat(5), (texts, used, more) => {
        const prices = own(Object.fromEntries(Object.entries(texts).map(([unit, text]) => [unit, { price: text }])));
        const worst = worstCost(prices, used.prompt_tokens + more, used.completion_tokens + more);
        expect(worst).toBeGreaterThanOrEqual(costOf(prices, used));
      }),
    );
  });

  it.each([
    // Nobody knows before whether a prompt will be written to the cache for an hour: 1,000 x 6 + 100 x 15.
    ['anthropic', 'claude-sonnet-4-6', 1_000, 100, '0.0075'],
    ['openai', 'gpt-4o', 1_000, 100, '0.0035'],
    ['openai', 'text-embedding-3-small', 1_000, 0, '0.00002'],
    // By the tier of the prompt.
    ['openai', 'gpt-5.5', 300_000, 0, '3'],
  ])('%s %s %d + %d tokens: %s', (provider, model, prompt, output, dollars) => {
    expect(dollarsOf(worstCost(known(listed(provider, model)), prompt, output))).toBe(dollars);
  });

  it('holds the price of the request, and is rounded up', () => {
    const prices = own({ request: { price: '0.01' }, request_token: { price: '0.0000000000001' } });
    expect(worstCost(prices, 1, 0)).toBe(0.01 * DOLLARS + 1);
  });
});

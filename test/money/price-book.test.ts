/** Which prices a model has. */
import { describe, expect, it } from 'vitest';
import { costOf } from '#gateway/money/cost.ts';
import { dollarsOf } from '#gateway/money/exact.ts';
import { contextTokens, maxOutputTokens } from '#gateway/money/model-facts.ts';
import { integrationPrices } from '#gateway/money/price-book.ts';
import type { TokenPrices } from '#gateway/providers/model-page.ts';
import { PROVIDERS } from '#gateway/providers/registry.ts';
import { config, integration, known, listed, providerOf, usage } from './prices.ts';

const OPENAI = providerOf('openai');
const PAGES = [...PROVIDERS.values()].flatMap(({ name, models }) => (models === undefined ? [] : [{ name, models }]));

/** What a million tokens of prompt cost. */
function inputOf(provider: string, model: string): string | undefined {
  const prices = listed(provider, model);
  // Of so many prompts of one token, each of which is short.
  return prices === undefined ? undefined : dollarsOf(BigInt(costOf(prices, usage(1, 0))) * 1_000_000n);
}

describe('a model of a price page', () => {
  it.each([
    ['openai', 'gpt-4o', '2.5'],
    ['openai', 'gpt-4o-2024-08-06', '2.5'],
    // A version with a price of its own.
    ['openai', 'gpt-4o-2024-05-13', '5'],
    ['openai', 'gpt-4o-mini-2024-07-18', '0.15'],
    ['openai', 'gpt-4-0613', '30'],
    ['openai', 'gpt-3.5-turbo-0125', '0.5'],
    ['openai', 'gpt-5-chat-latest', '1.25'],
    ['openai', 'gpt-5.6', '4'],
    ['openai', 'gpt-5.6-2026-07-09', '4'],
    ['openai', 'gpt-4-turbo-preview', '10'],
    ['openai', 'o1', '15'],
    ['openai', 'text-embedding-ada-002', '0.1'],
    ['anthropic', 'claude-sonnet-4-20250514', '3'],
    ['anthropic', 'claude-sonnet-4-5-20250929', '3'],
    ['anthropic', 'claude-3-5-haiku-latest', '0.8'],
    ['anthropic', 'claude-opus-4-0', '15'],
    ['anthropic', 'claude-opus-5-5', '4'],
    ['anthropic', 'claude-haiku-5-5', '0.1'],
    ['simulator', 'echo', '10'],
    ['simulator', 'delay-200+status-503', '10'],
  ])('%s %s costs %s for a million tokens of prompt', (provider, model, dollars) => {
    expect(inputOf(provider, model)).toBe(dollars);
  });

  it.each([
    ['openai', 'gpt-99'],
    ['openai', ''],
    ['openai', 'gpt-4o-mini-2024'.repeat(100)],
    ['openai', 'GPT-4o'],
    // A fine-tuned model has prices of its own.
    ['openai', 'ft:gpt-4o-mini-2024-07-18:org::id'],
    ['openai', '__proto__'],
    ['openai', 'constructor'],
    ['openai', 'claude-opus-5'],
    ['anthropic', 'gpt-4o'],
    ['anthropic', 'claude-opus-9'],
    // Who sells the same models elsewhere has prices of their own.
    ['openrouter', 'gpt-4o'],
    ['ollama', 'llama3'],
  ])('%s has no price of %s', (provider, model) => {
    expect(listed(provider, model)).toBeUndefined();
  });

  it('is not known without a name', () => {
    expect(integrationPrices(OPENAI, integration([]))(undefined)).toBeUndefined();
  });

  it('is compiled once, under whichever name', () => {
    const list = known(listed('openai', 'gpt-4o'));
    expect(listed('openai', 'gpt-4o')).toBe(list);
    expect(listed('openai', 'gpt-4o-2024-08-06')).toBe(list);
    expect(listed('openai', 'gpt-4o-2099-01-01')).toBe(list);
  });
});

describe.each(PAGES)('the price page of $name', ({ name, models }) => {
  it('says its day and its source', () => {
    expect(models.date).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(models.source).toMatch(/^https:\/\/|^made up$/);
  });

  it('has aliases of its own rows alone', () => {
    for (const [alias, row] of models.aliases ?? []) {
      expect(models.rows.has(row), `${alias} -> ${row}`).toBe(true);
      expect(models.rows.has(alias), alias).toBe(false);
    }
  });

  it('has prices that can be true', () => {
    for (const [model, row] of models.rows) {
      expect(row.prices.request_token, model).toBeGreaterThan(0);
      for (const prices of [row.prices, row.longPrompts?.prices ?? {}]) expectOrder(prices, `${name} ${model}`);
      const long = row.longPrompts?.prices.request_token ?? Number.POSITIVE_INFINITY;
      expect(long, model).toBeGreaterThan(row.prices.request_token ?? 0);
      expect(row.contextTokens, model).toBeGreaterThan(row.longPrompts?.aboveTokens ?? 0);
    }
  });

  it('names in a version what it is of', () => {
    for (const model of models.rows.keys()) expect(listed(name, model)?.version).toBe(`${name}-${models.date}`);
  });

  /** Reading from a cache is cheaper than sending, writing is not; an answer is dearer than a prompt. */
  function expectOrder(prices: TokenPrices, model: string): void {
    const { request_token: input = 0, cache_read_input_token: read, cache_write_input_token: write } = prices;
    if (read !== undefined) expect(read, model).toBeLessThan(input);
    if (write !== undefined) expect(write, model).toBeGreaterThan(input);
    if (prices.response_token !== undefined) expect(prices.response_token, model).toBeGreaterThanOrEqual(input);
    if (prices.cache_write_1h_input_token !== undefined)
      expect(prices.cache_write_1h_input_token, model).toBeGreaterThan(write ?? 0);
  }
});

describe('an Integration', () => {
  const OWN = config({ request_token: { price: 1 } });

  it('overrides the price of a model, its versions included, and of no other', () => {
    const prices = integrationPrices(OPENAI, integration([{ slug: 'gpt-4o', pricing_config: OWN }]));
    const one = (model: string) => dollarsOf(costOf(known(prices(model)), usage(1, 1)));
    expect(['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-latest'].map(one)).toEqual(['1', '1', '1']);
    expect(one('gpt-4o-mini')).toBe('0.00000075');
    expect(prices('gpt-99')).toBeUndefined();
  });

  it('knows prices of models that no page has', () => {
    const prices = integrationPrices(OPENAI, integration([{ slug: 'house-model', pricing_config: OWN }]));
    expect(costOf(known(prices('house-model')), usage(2, 2))).toBe(2e12);
    expect(costOf(known(prices('house-model-2026-01-01')), usage(2, 2))).toBe(2e12);
  });

  it('replaces all prices of the page: what it leaves out is not filled in from there', () => {
    const record = integration([{ slug: 'gpt-4o', pricing_config: config({ response_token: { price: 1 } }) }]);
    const prices = known(integrationPrices(OPENAI, record)('gpt-4o'));
    expect(costOf(prices, usage(1_000, 1, { cached_tokens: 500 }))).toBe(1e12);
  });

  it('multiplies what it sets itself and what the page says alike', () => {
    const record = integration([{ slug: 'house-model', pricing_config: OWN }], { default: '0.5', response_token: 3 });
    const prices = integrationPrices(OPENAI, record);
    expect(costOf(known(prices('house-model')), usage(1, 0))).toBe(0.5e12);
    // 1,000 x 2.50 x 0.5 + 100 x 10 x 3
    expect(dollarsOf(costOf(known(prices('gpt-4o')), usage(1_000, 100)))).toBe('0.00425');
  });

  it('that sets nothing has the page itself', () => {
    const record = integration([{ slug: 'gpt-4o' }]);
    expect(integrationPrices(OPENAI, record)('gpt-4o')).toBe(listed('openai', 'gpt-4o'));
  });

  it.each([
    ['its own version', integration([{ slug: 'm', pricing_config: config({}, 'contract 7') }]), 'm', 'contract 7'],
    ['the page', integration([], { default: '0.9' }), 'gpt-4o', `openai-${OPENAI.models?.date} x0.9`],
    [
      'each multiplier',
      integration([], { default: 2, reasoning_token: '1.5', image: { default: 3 } }),
      'gpt-4o',
      `openai-${OPENAI.models?.date} x2,reasoning_token=1.5,image=3`,
    ],
    [
      'its version and the multiplier',
      integration([{ slug: 'm', pricing_config: config({}, 'contract 7') }], { default: '1.1' }),
      'm',
      'contract 7 x1.1',
    ],
  ])('is called in the ledger by %s', (_what, record, model, version) => {
    expect(integrationPrices(OPENAI, record)(model)?.version).toBe(version);
  });

  it('without a version is called by what it says: the same prices, the same name', () => {
    const versionOf = (price: number) =>
      integrationPrices(OPENAI, integration([{ slug: 'm', pricing_config: config({ request: { price } }) }]))('m')
        ?.version;
    expect(versionOf(1)).toMatch(/^team-a\/main@[0-9a-f]{8}$/);
    expect(versionOf(1)).toBe(versionOf(1));
    expect(versionOf(1)).not.toBe(versionOf(2));
  });
});

describe('sizes of models', () => {
  it.each([
    ['openai', 'gpt-4o', 16_384, 128_000],
    ['openai', 'gpt-4o-2024-05-13', 4_096, 128_000],
    ['openai', 'gpt-6.1-sol', 128_000, 1_050_000],
    ['openai', 'text-embedding-3-large', 0, 8_192],
    ['openai', 'gpt-99', undefined, undefined],
    ['anthropic', 'claude-sonnet-4-5-20250929', 64_000, 1_000_000],
    ['anthropic', 'claude-haiku-4-5', 64_000, 200_000],
    ['anthropic', 'claude-opus-5-5', 128_000, 1_000_000],
    ['anthropic', 'claude-opus-9', undefined, undefined],
    ['simulator', 'echo', 256, undefined],
    ['simulator', 'slow-5+long-400', 600, undefined],
    ['ollama', 'llama3', undefined, undefined],
    ['nobody', 'x', undefined, undefined],
  ])('%s %s: %s of output, %s in all', (provider, model, output, context) => {
    expect([maxOutputTokens(provider, model), contextTokens(provider, model)]).toEqual([output, context]);
  });
});

/** Prices of the public price page. Fast mode, batches and tools that are billed by their use are not among them. */
import type { ModelPage, ModelRow, TokenPrices } from '../model-page.ts';
import { modelTraits } from './models.ts';

const MILLION_TOKENS = 1_000_000;
const CONTEXT_TOKENS = 200_000;

function prices(input: number, read: number, write: number, hourWrite: number, output: number): TokenPrices {
  return {
    request_token: input,
    cache_read_input_token: read,
    cache_write_input_token: write,
    cache_write_1h_input_token: hourWrite,
    response_token: output,
  };
}

const OPUS = prices(15, 1.5, 18.75, 30, 75);
const LATER_OPUS = prices(5, 0.5, 6.25, 10, 25);
const SONNET = prices(3, 0.3, 3.75, 6, 15);
const LONG_SONNET = { aboveTokens: 200_000, prices: prices(6, 0.6, 7.5, 12, 22.5) };
const FABLE = prices(10, 1, 12.5, 20, 50);
const LATER_FABLE = prices(10, 0.25, 12.5, 20, 50);
const SMALL_HAIKU = prices(0.1, 0.01, 0.125, 0.2, 0.5);
const LONG_HAIKU = { aboveTokens: 100_000, prices: prices(0.5, 0.05, 0.625, 1, 2.5) };

type Priced = Pick<ModelRow, 'prices' | 'longPrompts' | 'contextTokens'>;

const WIDE: Readonly<Record<string, Priced>> = {
  'claude-fable-5-1': { prices: LATER_FABLE },
  'claude-mythos-5-1': { prices: LATER_FABLE },
  'claude-fable-5': { prices: FABLE },
  'claude-mythos-5': { prices: FABLE },
  'claude-opus-5-5': { prices: prices(4, 0.2, 5, 8, 20) },
  'claude-opus-5': { prices: LATER_OPUS },
  'claude-opus-4-8': { prices: LATER_OPUS },
  'claude-opus-4-7': { prices: LATER_OPUS },
  'claude-opus-4-6': { prices: LATER_OPUS },
  'claude-sonnet-5-5': { prices: prices(2, 0.1, 2.5, 4, 10) },
  'claude-sonnet-5': { prices: prices(2, 0.2, 2.5, 4, 10) },
  'claude-sonnet-4-6': { prices: SONNET },
  'claude-sonnet-4-5': { prices: SONNET, longPrompts: LONG_SONNET },
  'claude-sonnet-4': { prices: SONNET, longPrompts: LONG_SONNET },
  'claude-haiku-5-5': { prices: SMALL_HAIKU, longPrompts: LONG_HAIKU },
};

const NARROW: Readonly<Record<string, Priced>> = {
  'claude-opus-4-5': { prices: LATER_OPUS },
  'claude-opus-4-1': { prices: OPUS },
  'claude-opus-4': { prices: OPUS },
  'claude-haiku-4-5': { prices: prices(1, 0.1, 1.25, 2, 5) },
  'claude-3-7-sonnet': { prices: SONNET },
  'claude-3-5-sonnet': { prices: SONNET },
  'claude-3-5-haiku': { prices: prices(0.8, 0.08, 1, 1.6, 4) },
  'claude-3-opus': { prices: OPUS },
  'claude-3-haiku': { prices: prices(0.25, 0.03, 0.3, 0.5, 1.25) },
};

function rowsOf(priced: Readonly<Record<string, Priced>>, contextTokens: number): [string, ModelRow][] {
  return Object.entries(priced).map(([model, row]) => {
    const { maxOutputTokens } = modelTraits(model);
    return [model, { ...row, contextTokens, ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) }];
  });
}

export const ANTHROPIC_MODELS: ModelPage = {
  date: '2026-10-24',
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  rows: new Map([...rowsOf(WIDE, MILLION_TOKENS), ...rowsOf(NARROW, CONTEXT_TOKENS)]),
  aliases: new Map([
    ['claude-opus-4-0', 'claude-opus-4'],
    ['claude-sonnet-4-0', 'claude-sonnet-4'],
  ]),
};

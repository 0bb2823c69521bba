/** Prices of one model, made ready for reckoning: every kind of unit has its price, multipliers are in it. */
import type { PriceUnit } from '#crds/limits/pricing.ts';
import type { TokenUnit } from '../providers/model-page.ts';
import { DECIMALS, exactOf, PER_BILL_UNIT } from './exact.ts';

/** What can be charged for. */
export type ChargedUnit = PriceUnit | TokenUnit;

/** Prices in units of 1e-18 US dollars. */
export type UnitPrices = Readonly<Partial<Record<ChargedUnit, bigint>>>;

/** What is counted of a request, in the order in which `cost.ts` counts it. */
export const COUNTED = [
  'request',
  'image',
  'request_text_token',
  'request_image_token',
  'request_audio_token',
  'cache_read_text_input_token',
  'cache_read_image_input_token',
  'cache_read_audio_input_token',
  'cache_write_text_input_token',
  'cache_write_1h_input_token',
  'response_text_token',
  'response_image_token',
  'response_audio_token',
  'reasoning_token',
  'prediction_accepted_token',
  'prediction_rejected_token',
] as const satisfies readonly ChargedUnit[];

/** What is counted before a request. */
export const WORST_COUNTED = ['request', 'input', 'output'] as const;

/** For one of each of what is counted, multipliers in it. */
export interface Rates {
  /** Units of 1e-36 US dollars. */
  readonly exact: readonly bigint[];
  /** Units of 1e-12 US dollars, where all of them are whole. */
  readonly whole: Float64Array | undefined;
}

export interface PriceTier {
  /** It holds for prompts of more tokens. */
  readonly aboveTokens: number;
  readonly rates: Rates;
  /** With the dearest that a token of the prompt, and one of the answer, can cost. */
  readonly worst: Rates;
}

export interface PriceList {
  /** What the ledger calls these prices by. */
  readonly version: string;
  /** Prompts of any length first; `aboveTokens` ascends. */
  readonly tiers: readonly [PriceTier, ...PriceTier[]];
}

/** Prices and the tiers above them, which change what they name. */
export interface PriceSheet {
  readonly version: string;
  readonly prices: UnitPrices;
  readonly tiers: readonly { readonly aboveTokens: number; readonly prices: UnitPrices }[];
}

/** In units of 1e-18; `default` for the units that are not named. */
export type Multipliers = Readonly<Partial<Record<ChargedUnit | 'default', bigint>>>;

const ONE = exactOf(1, DECIMALS);

/** Where a unit has no price of its own, and where no multiplier: those of a unit that it is a finer part of. */
interface Fallback {
  readonly price?: ChargedUnit;
  readonly multiplier?: ChargedUnit;
}

function partOf(unit: ChargedUnit): Fallback {
  return { price: unit, multiplier: unit };
}

const FALLBACKS: Readonly<Record<ChargedUnit, Fallback>> = {
  request_token: {},
  request_text_token: partOf('request_token'),
  request_image_token: partOf('request_token'),
  request_audio_token: { price: 'request_token' },
  response_token: {},
  response_text_token: partOf('response_token'),
  response_image_token: partOf('response_token'),
  response_audio_token: { price: 'response_token' },
  cache_read_input_token: { price: 'request_token' },
  cache_read_text_input_token: partOf('cache_read_input_token'),
  cache_read_image_input_token: partOf('cache_read_input_token'),
  cache_read_audio_input_token: { price: 'cache_read_input_token' },
  cache_write_input_token: { price: 'request_token' },
  cache_write_text_input_token: partOf('cache_write_input_token'),
  cache_write_image_input_token: partOf('cache_write_input_token'),
  cache_write_1h_input_token: partOf('cache_write_text_input_token'),
  reasoning_token: { price: 'response_token' },
  prediction_accepted_token: { price: 'response_token' },
  prediction_rejected_token: { price: 'response_token' },
  image: {},
  request: {},
};
const INPUT = COUNTED.filter((unit) => /^(?:request_|cache_)/.test(unit));
const OUTPUT = COUNTED.filter((unit) => /^(?:response_|reasoning_|prediction_)/.test(unit));

function priceOf(unit: ChargedUnit, prices: UnitPrices): bigint {
  const { price: fallback } = FALLBACKS[unit];
  return prices[unit] ?? (fallback === undefined ? 0n : priceOf(fallback, prices));
}

function multiplierOf(unit: ChargedUnit, multipliers: Multipliers): bigint {
  const { multiplier: fallback } = FALLBACKS[unit];
  const own = multipliers[unit];
  if (own !== undefined) return own;
  return fallback === undefined ? (multipliers.default ?? ONE) : multiplierOf(fallback, multipliers);
}

function tierOf(aboveTokens: number, prices: UnitPrices, multipliers: Multipliers): PriceTier {
  const charge = (unit: ChargedUnit) => priceOf(unit, prices) * multiplierOf(unit, multipliers);
  const dearest = (units: readonly ChargedUnit[]) =>
    units.map(charge).reduce((most, each) => (each > most ? each : most), 0n);
  return {
    aboveTokens,
    rates: ratesOf(COUNTED.map(charge)),
    worst: ratesOf([charge('request'), dearest(INPUT), dearest(OUTPUT)]),
  };
}

function ratesOf(exact: readonly bigint[]): Rates {
  const areWhole = exact.every((rate) => rate % PER_BILL_UNIT === 0n);
  return { exact, whole: areWhole ? Float64Array.from(exact, (rate) => Number(rate / PER_BILL_UNIT)) : undefined };
}

export function compilePrices(sheet: PriceSheet, multipliers: Multipliers = {}): PriceList {
  const { prices, version } = sheet;
  const above = sheet.tiers
    .toSorted((one, other) => one.aboveTokens - other.aboveTokens)
    .map((tier) => tierOf(tier.aboveTokens, { ...prices, ...tier.prices }, multipliers));
  return { version, tiers: [tierOf(0, prices, multipliers), ...above] };
}

/** Which prices a model has: those that an Integration sets, else those of its provider's price page. */
import { createHash } from 'node:crypto';
import type { PriceUnit, PricingAdjustments, PricingConfig } from '#crds/limits/pricing.ts';
import type { IntegrationRecord } from '#crds/snapshot/contract.ts';
import { type ModelRow, namesOf, type TokenPrices } from '../providers/model-page.ts';
import type { Provider } from '../providers/provider.ts';
import { DECIMALS, exactOf } from './exact.ts';
import {
  type ChargedUnit,
  compilePrices,
  type Multipliers,
  type PriceList,
  type PriceSheet,
  type UnitPrices,
} from './price-list.ts';

/** Prices of a model as it is sent upstream; undefined: not known. */
export type ModelPrices = (model: string | undefined) => PriceList | undefined;

/** Of a number of US dollars for a million, what is left of its digits for one. */
const MILLIONTH_DECIMALS = DECIMALS - 6;

/** Remembered names of one book. */
const MAX_VERSIONS = 1_000;

const listed = new WeakMap<Provider, ModelPrices>();
const integrated = new WeakMap<IntegrationRecord, ModelPrices>();

/** Of the provider's price page. */
export function listPrices(provider: Provider): ModelPrices {
  return remembered(listed, provider, () => new PriceBook(provider, new Map(), {}, '').find);
}

/** As the Integration says, its multipliers included; what it does not name is as the price page says. */
export function integrationPrices(provider: Provider, record: IntegrationRecord): ModelPrices {
  const own = record.models.flatMap(({ slug, pricing_config: config }) =>
    config === undefined ? [] : [[slug, sheetOf(config, `${record.namespace}/${record.name}`)] as const],
  );
  if (own.length === 0 && record.pricing_adjustments === undefined) return listPrices(provider);
  const { multipliers, note } = multipliersOf(record.pricing_adjustments);
  return remembered(integrated, record, () => new PriceBook(provider, new Map(own), multipliers, note).find);
}

function remembered<K extends object>(known: WeakMap<K, ModelPrices>, key: K, make: () => ModelPrices): ModelPrices {
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}

class PriceBook {
  /** By names of rows and of the Integration: callers cannot add to them. */
  readonly #compiled = new Map<string, PriceList>();
  readonly #provider: Provider;
  readonly #own: ReadonlyMap<string, PriceSheet>;
  readonly #multipliers: Multipliers;
  readonly #note: string;
  /** Other names that have been asked for, of which there can be any number. */
  readonly #versions = new Map<string, PriceList>();
  #others: PriceList | undefined;

  constructor(provider: Provider, own: ReadonlyMap<string, PriceSheet>, multipliers: Multipliers, note: string) {
    this.#provider = provider;
    this.#own = own;
    this.#multipliers = multipliers;
    this.#note = note;
  }

  readonly find: ModelPrices = (model) => {
    if (model === undefined) return undefined;
    const known = this.#compiled.get(model) ?? this.#versions.get(model);
    if (known !== undefined) return known;
    for (const name of namesOf(this.#provider.models, model)) {
      const list = this.#compiled.get(name) ?? this.#compile(name);
      if (list === undefined) continue;
      if (name !== model && this.#versions.size < MAX_VERSIONS) this.#versions.set(model, list);
      return list;
    }
    return this.#otherPrices();
  };

  #compile(name: string): PriceList | undefined {
    const row = this.#provider.models?.rows.get(name);
    const sheet = this.#own.get(name) ?? (row === undefined ? undefined : this.#sheetOfRow(row));
    if (sheet === undefined) return undefined;
    const list = this.#finished(sheet);
    this.#compiled.set(name, list);
    return list;
  }

  #otherPrices(): PriceList | undefined {
    const row = this.#provider.models?.others;
    if (row !== undefined) this.#others ??= this.#finished(this.#sheetOfRow(row));
    return this.#others;
  }

  #finished(sheet: PriceSheet): PriceList {
    return compilePrices({ ...sheet, version: sheet.version + this.#note }, this.#multipliers);
  }

  #sheetOfRow({ prices, longPrompts }: ModelRow): PriceSheet {
    return {
      version: `${this.#provider.name}-${this.#provider.models?.date}`,
      prices: perMillion(prices),
      tiers:
        longPrompts === undefined
          ? []
          : [{ aboveTokens: longPrompts.aboveTokens, prices: perMillion(longPrompts.prices) }],
    };
  }
}

function perMillion(prices: TokenPrices): UnitPrices {
  return mapped(prices, (dollars) => exactOf(dollars, MILLIONTH_DECIMALS));
}

/** What has no version of its own is named after its content: the same prices, the same name, on every replica. */
function sheetOf(config: PricingConfig, integration: string): PriceSheet {
  const { tiers = [], ...prices } = config.pay_as_you_go;
  const digest = () => createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 8);
  return {
    version: config.version ?? `${integration}@${digest()}`,
    prices: unitPrices(prices),
    tiers: tiers.map(({ above_tokens: aboveTokens, ...above }) => ({ aboveTokens, prices: unitPrices(above) })),
  };
}

function unitPrices(
  given: { readonly [Unit in PriceUnit]?: { readonly price: string | number } | undefined },
): UnitPrices {
  return mapped(given, ({ price }) => exactOf(price));
}

/** With what a version says of them: ` x0.9`, ` x0.9,reasoning_token=2`. */
function multipliersOf(adjustments: PricingAdjustments | undefined): { multipliers: Multipliers; note: string } {
  const { image, ...named } = adjustments?.multiplier ?? {};
  const given = { ...named, ...(image?.default === undefined ? {} : { image: image.default }) };
  const words = Object.entries(given).map(([unit, factor]) => (unit === 'default' ? factor : `${unit}=${factor}`));
  return {
    multipliers: mapped<ChargedUnit | 'default', string | number>(given, (factor) => exactOf(factor)),
    note: words.length === 0 ? '' : ` x${words.join(',')}`,
  };
}

function mapped<K extends string, V>(
  given: { readonly [Key in K]?: V | undefined },
  exact: (value: V) => bigint,
): Readonly<Partial<Record<K, bigint>>> {
  const entries = Object.entries(given) as [K, V | undefined][];
  const known = entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, exact(value)] as const]));
  return Object.fromEntries(known) as Partial<Record<K, bigint>>;
}

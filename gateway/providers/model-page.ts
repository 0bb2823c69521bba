/** What a provider's public pages say of its models: data, with its date and source. */
import type { PriceUnit } from '#crds/limits/pricing.ts';

/** Units that are sold by the million tokens. Writes that a cache keeps for an hour have a price of their own. */
export type TokenUnit = Exclude<PriceUnit, 'image' | 'request'> | 'cache_write_1h_input_token';

/** US dollars for a million tokens; see `price-list.ts` for units without a price. */
export type TokenPrices = Readonly<Partial<Record<TokenUnit, number>>>;

export interface ModelRow {
  readonly prices: TokenPrices;
  /** The whole request pays these where its prompt has more tokens; what is not named stays as it is. */
  readonly longPrompts?: { readonly aboveTokens: number; readonly prices: TokenPrices };
  /** Prompt and answer together. */
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
}

export interface ModelPage {
  /** Day on which the rows were last compared with the page, e.g. `2026-11-01`. */
  readonly date: string;
  /** URL of the page, or what else the prices come from. */
  readonly source: string;
  readonly rows: ReadonlyMap<string, ModelRow>;
  /** Other names of rows. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** For every name that has no row. */
  readonly others?: ModelRow;
}

/** `-2024-07-18`, `-20250929`, `-0613`, `-latest`: a version of the model before it. */
const VERSION = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$/;

/** Names that a model may be known by, the best first: as it is, its alias, and both without a version at the end. */
export function namesOf(page: ModelPage | undefined, model: string): readonly string[] {
  const bare = model.replace(VERSION, '');
  const names = bare === model ? [model] : [model, bare];
  return names.flatMap((name) => {
    const alias = page?.aliases?.get(name);
    return alias === undefined ? [name] : [name, alias];
  });
}

/** The row of a model. */
export function rowOf(page: ModelPage, model: string): ModelRow | undefined {
  const name = namesOf(page, model).find((known) => page.rows.has(known));
  return name === undefined ? page.others : page.rows.get(name);
}

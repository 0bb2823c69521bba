/** US dollars for a million tokens, by kind of unit. */
type Prices = Readonly<Record<string, number | undefined>>;

export interface PricedModel {
  readonly prices: Prices;
  readonly longPrompts?: { readonly aboveTokens: number; readonly prices: Prices };
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
}

export interface PricedProvider {
  readonly name: string;
  readonly date: string;
  readonly source: string;
  readonly rows: ReadonlyMap<string, PricedModel>;
  readonly aliases?: ReadonlyMap<string, string>;
  readonly others?: PricedModel;
}

const COLUMNS: readonly (readonly [title: string, unit: string])[] = [
  ['input', 'request_token'],
  ['cache read', 'cache_read_input_token'],
  ['cache write', 'cache_write_input_token'],
  ['for an hour', 'cache_write_1h_input_token'],
  ['output', 'response_token'],
  ['audio in', 'request_audio_token'],
  ['audio out', 'response_audio_token'],
];

const HEAD = `# Prices

Written by \`npm run generate\` from the price pages that the gateway knows; do not edit.
US dollars for a million tokens, from the provider's public page, last compared with it on the day that is named: what a
contract or an invoice says can be set in the Integration. A model's name may end in a version (\`-2024-07-18\`,
\`-20250929\`, \`-0613\`, \`-latest\`). Cached tokens without a price of their own cost what input costs; reasoning tokens
are a part of the output. A model that is not here has no known cost, until an Integration sets
\`models[].pricing_config\`: the log then says \`cost_unknown\`, and \`modelgateway_cost_unknown_total\` counts it.

Every request that used something says in its line of the log what it cost (\`cost_usd\`) and by which prices
(\`price_version\`). Embedded mode keeps the same in \`ledger.db\` below \`--data\`:

    sqlite3 .model-gateway/ledger.db "SELECT key, sum(cost) / 1e12 AS usd FROM entries GROUP BY key"
    sqlite3 .model-gateway/ledger.db "SELECT * FROM costs ORDER BY at DESC LIMIT 20"

\`cost\` is a whole number of 1e-12 US dollars; it is NULL where no price is known.
`;

/** Markdown: a table for each provider. */
export function pricesReference(providers: readonly PricedProvider[]): string {
  return [HEAD, ...providers.map(section)].join('\n');
}

function section({ name, date, source, rows, aliases, others }: PricedProvider): string {
  const models = [...rows, ...(others === undefined ? [] : ([['every name', others]] as const))];
  const used = COLUMNS.filter(([, unit]) => models.some(([, { prices }]) => prices[unit] !== undefined));
  const titles = ['model', ...used.map(([title]) => title), 'context', 'longest answer'];
  const lines = models.flatMap(([model, row]) => linesOf(model, row, used));
  const other = [...(aliases ?? [])].map(([alias, model]) => `\`${alias}\` is \`${model}\`.`);
  return [
    `## ${name}`,
    '',
    `${date}, ${source}`,
    '',
    `| ${titles.join(' | ')} |`,
    `|${'---|'.repeat(titles.length)}`,
    ...lines,
    '',
    ...(other.length === 0 ? [] : [other.join(' '), '']),
  ].join('\n');
}

function linesOf(model: string, row: PricedModel, columns: typeof COLUMNS): string[] {
  const line = (title: string, prices: Prices, sizes: readonly unknown[]) =>
    `| ${[title, ...columns.map(([, unit]) => prices[unit]), ...sizes].map((cell) => cell ?? '').join(' | ')} |`;
  const { longPrompts } = row;
  const first = line(model, row.prices, [row.contextTokens, row.maxOutputTokens]);
  if (longPrompts === undefined) return [first];
  return [first, line(`... above ${longPrompts.aboveTokens}`, longPrompts.prices, ['', ''])];
}

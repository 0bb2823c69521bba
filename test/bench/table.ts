/** Figures of all rounds -> one Markdown table. Pure. */
import type { ContestantName, Figure, Scenario } from './scenarios.ts';

/** Values of one scenario: by contestant, a list of rounds, each with a value per figure. */
export type Rounds = ReadonlyMap<ContestantName, readonly (readonly (number | undefined)[])[]>;

export const COLUMNS: readonly ContestantName[] = [
  'direct',
  'nginx',
  'gateway',
  'gateway-large',
  'gateway-limits',
  'gateway-cache',
  'gateway-store',
];

/** The middle value; of an even number, the mean of the middle two. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.ceil((sorted.length - 1) / 2)];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

function valuesOf(rounds: Rounds, name: ContestantName, figure: number): (number | undefined)[] {
  return (rounds.get(name) ?? []).map((values) => values[figure]);
}

function present(values: readonly (number | undefined)[]): number[] {
  return values.filter((value) => value !== undefined);
}

const COMPARE: Readonly<Record<Figure['compare'], (own: number, other: number) => number>> = {
  ratio: (own, other) => own / other,
  difference: (own, other) => own - other,
  none: () => Number.NaN,
};

/** Median of what each round says: rounds are neighbours in time, so that a busy minute hits both sides. */
function compared(scenario: Scenario, rounds: Rounds, at: number, compare: Figure['compare']): number | undefined {
  const own = valuesOf(rounds, scenario.contestants.at(-1) ?? 'gateway', at);
  const other = valuesOf(rounds, scenario.against, at);
  const pairs = own.map((value, round) => {
    const beside = other[round];
    return value === undefined || beside === undefined ? undefined : COMPARE[compare](value, beside);
  });
  return median(present(pairs));
}

function formatted(value: number | undefined, digits: number): string {
  return value === undefined
    ? ''
    : value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function rowOf(scenario: Scenario, rounds: Rounds, figure: Figure, at: number): string {
  const cells = COLUMNS.map((name) => formatted(median(present(valuesOf(rounds, name, at))), figure.digits));
  const beside = figure.compare === 'none' ? undefined : compared(scenario, rounds, at, figure.compare);
  const own = median(present(valuesOf(rounds, scenario.contestants.at(-1) ?? 'gateway', at)));
  const verdict = verdictOf(figure, beside, own);
  const sign = figure.compare === 'difference' && beside !== undefined && beside >= 0 ? '+' : '';
  const against = beside === undefined ? '' : `${sign}${formatted(beside, 2)} (${scenario.against})`;
  return `| ${[figure.title, ...cells, against, verdict].join(' | ')} |`;
}

function verdictOf(figure: Figure, beside: number | undefined, own: number | undefined): string {
  if (figure.goal === undefined) return '';
  if (beside === undefined || own === undefined) return figure.goal.text;
  return `${figure.goal.text}: ${figure.goal.met(beside, own) ? 'met' : '**missed**'}`;
}

/** The whole table; medians over rounds. */
export function table(results: readonly { readonly scenario: Scenario; readonly rounds: Rounds }[]): string {
  const head = `| | ${COLUMNS.join(' | ')} | beside | goal |`;
  const rule = `|---|${'---:|'.repeat(COLUMNS.length)}---:|---|`;
  const rows = results.flatMap(({ scenario, rounds }) =>
    scenario.figures.map((figure, at) => rowOf(scenario, rounds, figure, at)),
  );
  return [head, rule, ...rows].join('\n');
}

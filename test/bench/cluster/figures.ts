/** Measured values -> one Markdown table, and the same as data. Pure. */

export interface Figure {
  readonly title: string;
  readonly value: number;
  readonly unit: 'ms' | 's' | 'MiB' | '/s' | '';
  readonly goal?: Goal;
}

export interface Goal {
  readonly text: string;
  readonly isMet: boolean;
}

/** What took long, and what took less: `share` of the sorted values lie at or below the one that is given. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** A goal that a value stays below `limit`. */
export function below(value: number, limit: number, unit: Figure['unit']): Goal {
  return { text: `< ${shown(limit, '')} ${unit}`.trim(), isMet: value < limit };
}

/** p50, p99 and the greatest; of those that have a limit, with the goal. */
export function spread(
  title: string,
  valuesMs: readonly number[],
  limits: { readonly p50?: number; readonly p99?: number } = {},
): readonly Figure[] {
  const rows = [
    { name: 'p50', value: quantile(valuesMs, 0.5), limit: limits.p50 },
    { name: 'p99', value: quantile(valuesMs, 0.99), limit: limits.p99 },
    { name: 'max', value: quantile(valuesMs, 1), limit: undefined },
  ];
  return rows.map(({ name, value, limit }) => ({
    title: `${title}, ${name} of ${valuesMs.length}`,
    value,
    unit: 'ms' as const,
    ...(limit === undefined ? {} : { goal: below(value, limit, 'ms') }),
  }));
}

export function mebibytes(title: string, bytes: number): Figure {
  return { title, value: bytes / 1024 / 1024, unit: 'MiB' };
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ title, value, unit, goal }) => {
    const verdict = goal === undefined ? '' : `${goal.text}: ${goal.isMet ? 'met' : '**missed**'}`;
    return `| ${title} | ${shown(value, unit)} | ${verdict} |`;
  });
  return ['| | value | goal |', '|---|---:|---|', ...rows].join('\n');
}

function shown(value: number, unit: Figure['unit']): string {
  const digits = value < 10 && !Number.isInteger(value) ? 2 : 0;
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text} ${unit}`.trim();
}

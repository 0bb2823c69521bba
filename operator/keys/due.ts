/** When a key is to be replaced, by its rotation policy. */

export interface RotationRule {
  /** undefined: not again and again. */
  readonly period: 'weekly' | 'monthly' | undefined;
  /** Unix milliseconds; undefined: times follow from the last rotation. */
  readonly firstAtMs: number | undefined;
}

const WEEK_MS = 7 * 86_400_000;

/**
 * The first time after `sinceMs`, the last rotation or else the making: of the row that begins with `firstAtMs`, or one
 * period after it. undefined: never. A key of unknown age is due at once where there is a period.
 */
export function dueAt({ period, firstAtMs }: RotationRule, sinceMs: number | undefined): number | undefined {
  if (sinceMs === undefined) return firstAtMs ?? (period === undefined ? undefined : 0);
  if (firstAtMs === undefined) return period === undefined ? undefined : stepFrom(sinceMs, period, 1);
  if (firstAtMs > sinceMs) return firstAtMs;
  return period === undefined ? undefined : nextInRow(firstAtMs, period, sinceMs);
}

/** Steps are counted from the beginning, so that a row of 31sts is not one of 28ths after February. */
function nextInRow(firstAtMs: number, period: 'weekly' | 'monthly', afterMs: number): number {
  const longestMs = period === 'weekly' ? WEEK_MS : 31 * 86_400_000;
  let steps = Math.floor((afterMs - firstAtMs) / longestMs);
  while (stepFrom(firstAtMs, period, steps) <= afterMs) steps += 1;
  return stepFrom(firstAtMs, period, steps);
}

function stepFrom(fromMs: number, period: 'weekly' | 'monthly', steps: number): number {
  return period === 'weekly' ? fromMs + steps * WEEK_MS : addMonths(fromMs, steps);
}

/** The same day and time of a later month, or its last day where it has no such day. UTC. */
function addMonths(fromMs: number, months: number): number {
  const from = new Date(fromMs);
  const to = new Date(fromMs);
  to.setUTCDate(1);
  to.setUTCMonth(from.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate();
  return to.setUTCDate(Math.min(from.getUTCDate(), lastDay));
}

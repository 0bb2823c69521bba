/** When a budget starts anew. Pure: every replica finds the same period from the same clock. All times Unix milliseconds, UTC. */
export type Reset =
  | { readonly every: 'never' }
  | { readonly every: 'weekly' }
  | { readonly every: 'monthly' }
  | { readonly every: 'days'; readonly days: number; readonly anchor_ms: number };

export interface Period {
  readonly startMs: number;
  /** undefined: it never ends. */
  readonly endMs: number | undefined;
}

const DAY_MS = 86_400_000;
/** A Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;
const EVER: Period = { startMs: 0, endMs: undefined };

/** Midnight in UTC at or before a time. */
export function midnightOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}

/** The period that holds `nowMs`: from its start, up to and without its end. */
export function periodAt(reset: Reset, nowMs: number): Period {
  if (reset.every === 'never') return EVER;
  if (reset.every === 'weekly') return spanAt(FIRST_MONDAY_MS, 7 * DAY_MS, nowMs);
  if (reset.every === 'days') return spanAt(midnightOf(reset.anchor_ms), reset.days * DAY_MS, nowMs);
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
}

function spanAt(anchorMs: number, lengthMs: number, nowMs: number): Period {
  const startMs = anchorMs + Math.floor((nowMs - anchorMs) / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

/** What one call of the shared store does: settlements and requests, as text for its script and back. */
import type { Reply } from './redis-connection.ts';
import type { BudgetRule, Counter, Demand, RateRule, Reading } from './store.ts';

export type NamedRule = Pick<Counter, 'key' | 'rule'>;

export interface SettledRow {
  readonly counter: NamedRule;
  /** When it was demanded, by the store's clock; 0: now. */
  readonly atMs: number;
  readonly demanded: number;
  readonly used: bigint;
}

export interface Settlement {
  /** Id of the hold; '': there was none. */
  readonly hold: string;
  readonly rows: readonly SettledRow[];
}

export interface Asked {
  /** What its hold will be called. */
  readonly id: string;
  readonly demands: readonly Demand[];
}

export interface Work {
  readonly settlements: readonly Settlement[];
  readonly requests: readonly Asked[];
}

export interface Verdict {
  /** Index of the demand; -1: all were taken. */
  readonly refused: number;
  /** Milliseconds; -1: for ever. */
  readonly waitMs: number;
  readonly readings: readonly Reading[];
}

export interface WorkText {
  readonly counters: readonly NamedRule[];
  /** After the three of the replica. */
  readonly keys: readonly string[];
  /** Of each demand of each request in turn, index of its counter. */
  readonly asked: readonly number[];
  /** After what names the replica and its settlements. */
  readonly values: readonly (string | number)[];
}

const BASE = 10n ** 15n;

/** Two numbers that doubles hold exactly. */
export function partsOf(amount: bigint): [number, number] {
  if (amount < BASE) return [0, Number(amount)];
  const low = amount % BASE;
  return [Number((amount - low) / BASE), Number(low)];
}

/** `prefix`: of keys. */
export function writeWork({ settlements, requests }: Work, prefix: string): WorkText {
  const indexes = new Map<NamedRule, number>();
  const counters: NamedRule[] = [];
  const asked: number[] = [];
  const rest: (string | number)[] = [settlements.length];
  const indexOf = (counter: NamedRule): number => {
    const known = indexes.get(counter);
    if (known !== undefined) return known;
    const index = counters.push(counter) - 1;
    indexes.set(counter, index);
    return index;
  };
  for (const { hold, rows } of settlements) {
    rest.push(hold, rows.length);
    for (const { counter, atMs, demanded, used } of rows) {
      const [high, low] = partsOf(used);
      rest.push(indexOf(counter) + 1, atMs, demanded, high, low);
    }
  }
  rest.push(requests.length);
  for (const { id, demands } of requests) {
    rest.push(id, demands.length);
    for (const { counter, amount } of demands) {
      const index = indexOf(counter);
      asked.push(index);
      rest.push(index + 1, amount);
    }
  }
  const head: (string | number)[] = [];
  for (const { rule } of counters) pushRule(head, rule);
  return { counters, asked, keys: counters.map(({ key }) => prefix + key), values: [...head, ...rest] };
}

function pushRule(to: (string | number)[], rule: RateRule | BudgetRule): void {
  if (rule.kind === 'rate') to.push('r', rule.windowMs, rule.value, '');
  else to.push('b', rule.endsMs ?? '', ...partsOf(rule.limit > 0n ? rule.limit : 0n));
}

/** How a counter stands between two requests of a call; one for each key. */
interface Standing {
  /** Of a window; of a budget, settled. */
  readonly settled: bigint;
  sum: number;
  held: bigint;
  resetMs: number;
}

/** What the store would say of each counter after each request: it is told how they stood before the first. */
export function readVerdicts({ requests }: Work, text: WorkText, answer: readonly Reply[]): readonly Verdict[] {
  const standings = standingsOf(text, answer);
  const atMs = answer[1] as number;
  let at = 2 + 2 * text.counters.length;
  let asked = 0;
  return requests.map(({ demands }) => {
    const refused = answer[at] as number;
    const waitMs = answer[at + 1] as number;
    at += 2;
    const first = asked;
    const readings: Reading[] = [];
    // A counter that is named twice has taken both.
    if (refused < 0)
      for (const { counter, amount } of demands) take(standings[text.asked[asked++] ?? 0], counter.rule, amount);
    asked = first;
    for (const { counter } of demands)
      readings.push(readingOf(counter.rule, standings[text.asked[asked++] ?? 0], atMs));
    return { refused, waitMs, readings };
  });
}

/** Of budgets: what all have used, after the settlements. */
export function readUsed({ counters }: WorkText, answer: readonly Reply[]): readonly (readonly [NamedRule, bigint])[] {
  const used: (readonly [NamedRule, bigint])[] = [];
  for (let at = 0; at < counters.length; at++) {
    const counter = counters[at];
    if (counter?.rule.kind === 'budget') used.push([counter, BigInt(answer[2 * at + 2] as string)]);
  }
  return used;
}

function standingsOf({ counters }: WorkText, answer: readonly Reply[]): readonly Standing[] {
  const byKey = new Map<string, Standing>();
  return counters.map(({ key, rule }, at) => {
    const known = byKey.get(key);
    if (known !== undefined) return known;
    const [first = 0, second = 0] = [answer[2 * at + 2], answer[2 * at + 3]];
    const standing: Standing =
      rule.kind === 'rate'
        ? { settled: 0n, held: 0n, sum: first as number, resetMs: second as number }
        : { settled: BigInt(first as string), held: BigInt(second as string), sum: 0, resetMs: 0 };
    byKey.set(key, standing);
    return standing;
  });
}

function take(standing: Standing | undefined, rule: RateRule | BudgetRule, amount: number): void {
  if (standing === undefined || amount === 0) return;
  if (rule.kind === 'budget') {
    standing.held += BigInt(amount);
    return;
  }
  standing.sum += amount;
  standing.resetMs = rule.windowMs;
}

const NOTHING: Standing = { settled: 0n, held: 0n, sum: 0, resetMs: 0 };

function readingOf(rule: RateRule | BudgetRule, standing = NOTHING, atMs: number): Reading {
  const { sum, settled, held, resetMs } = standing;
  if (rule.kind === 'rate') {
    const remaining = rule.value - sum;
    return { used: sum, remaining: remaining > 0 ? remaining : 0, resetMs: resetMs > 0 ? resetMs : 0 };
  }
  const used = settled + held;
  return {
    used: Number(used),
    remaining: used < rule.limit ? Number(rule.limit - used) : 0,
    resetMs: rule.endsMs === undefined ? undefined : Math.max(0, rule.endsMs - atMs),
  };
}

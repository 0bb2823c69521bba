/** Counts of this process alone. */
import { BudgetCount } from './budget-count.ts';
import { type Share, WHOLE } from './share.ts';
import type { BudgetRule, Counter, Decision, Demand, Hold, LimitStore, RateRule, Reading } from './store.ts';
import { wholeAmount } from './whole-amount.ts';
import { FEW_BUCKETS, MAX_BUCKETS, WindowCount } from './window.ts';

export type Count = WindowCount | BudgetCount;

export interface BudgetUse {
  /** Of the counter. */
  readonly key: string;
  /** Settled; what is held is not in it. */
  readonly used: bigint;
}

export interface MemoryStoreOptions {
  /** Asked at each call; default: this process is alone. */
  readonly share?: () => Share;
  /** Of budgets, where it is another. */
  readonly budgetShare?: () => Share;
  /** Unix milliseconds; one that goes back stands still. Default: a clock that never goes back. */
  readonly now?: () => number;
  /** Told of everything that somebody who keeps the counts must know. */
  readonly journal?: Journal;
}

/** What changed since somebody emptied `changed`, and what is not settled. */
export interface Journal {
  readonly changed: Set<Count>;
  readonly open: Set<MemoryHold>;
}

/** More counters than this have fewer buckets each. */
const MANY_COUNTERS = 20_000;
/** Idle ones are looked for as fast as new ones come. */
const LOOKS_PER_NEW_COUNTER = 3;
/** How long what was used in a period is told after its end: requests may still be running that began in it. */
const BUDGET_GRACE_MS = 600_000;

const steadyNow = (): number => Math.floor(performance.timeOrigin + performance.now());

export class MemoryHold implements Hold {
  readonly demands: readonly Demand[];
  readonly counts: readonly Count[];
  readonly atMs: number;
  readonly #store: MemoryStore;
  #isOpen = true;

  constructor(store: MemoryStore, demands: readonly Demand[], counts: readonly Count[], atMs: number) {
    this.#store = store;
    this.demands = demands;
    this.counts = counts;
    this.atMs = atMs;
  }

  settle(amounts: readonly number[]): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#store.settle(this, amounts);
  }
}

export class MemoryStore implements LimitStore {
  readonly #counts = new Map<string, Count>();
  readonly #share: () => Share;
  readonly #budgetShare: () => Share;
  readonly #clock: () => number;
  readonly #journal: Journal | undefined;
  #lastMs = 0;
  #looking: Iterator<Count> | undefined;
  /** Since idle ones were looked for. */
  #added = 0;

  constructor({ share = () => WHOLE, budgetShare = share, now = steadyNow, journal }: MemoryStoreOptions = {}) {
    this.#share = share;
    this.#budgetShare = budgetShare;
    this.#clock = now;
    this.#journal = journal;
  }

  /** Counters that it keeps. */
  get size(): number {
    return this.#counts.size;
  }

  reserve(demands: readonly Demand[]): Decision {
    const now = this.now();
    const share = this.#share();
    const budgetShare = this.#budgetShare();
    const counts: Count[] = [];
    let refused = -1;
    let longestMs = 0;
    for (let at = 0; at < demands.length; at++) {
      const { counter, amount } = demands[at] as Demand;
      const count = this.#countOf(counter);
      counts.push(count);
      const waitMs = count.waitMs(amount, count.kind === 'rate' ? share : budgetShare, now);
      count.asked += amount;
      if (waitMs > longestMs) {
        longestMs = waitMs;
        refused = at;
      }
    }
    if (refused < 0) return this.#take(demands, counts, now);
    for (const count of counts) count.asked = 0;
    this.#dropIdle();
    return {
      ok: false,
      readings: this.#readings(counts, now),
      refused,
      retryMs: longestMs === Number.POSITIVE_INFINITY ? undefined : longestMs,
    };
  }

  /** How counters stand; takes nothing. */
  readings(demands: readonly Demand[]): readonly Reading[] {
    const counts = demands.map(({ counter }) => this.#countOf(counter));
    this.#dropIdle();
    return this.#readings(counts, this.now());
  }

  /** For the hold itself. */
  settle(hold: MemoryHold, amounts: readonly number[]): void {
    const { demands, counts, atMs } = hold;
    const now = this.now();
    for (let at = 0; at < demands.length; at++) {
      const demanded = demands[at]?.amount ?? 0;
      const count = counts[at] as Count;
      count.settle(demanded, wholeAmount(amounts[at], demanded), atMs, now);
      this.#journal?.changed.add(count);
    }
    this.#journal?.open.delete(hold);
  }

  /** What each budget was used since its period began, or since this process did. */
  *usage(): Generator<BudgetUse> {
    for (const count of this.#counts.values()) if (count.kind === 'budget') yield { key: count.key, used: count.used };
  }

  /** All counts, for those who keep them or hand them on. */
  counts(): Iterable<Count> {
    return this.#counts.values();
  }

  /** A count that was kept; for the time before the first request. */
  restore(key: string, rule: RateRule | BudgetRule): Count {
    return this.#add(key, rule);
  }

  /** Unix milliseconds. */
  now(): number {
    const now = Math.floor(this.#clock());
    if (now > this.#lastMs) this.#lastMs = now;
    return this.#lastMs;
  }

  async close(): Promise<void> {}

  #take(demands: readonly Demand[], counts: readonly Count[], now: number): Decision {
    const maxBuckets = this.#counts.size > MANY_COUNTERS ? FEW_BUCKETS : MAX_BUCKETS;
    for (let at = 0; at < counts.length; at++) {
      const count = counts[at] as Count;
      count.asked = 0;
      count.take(demands[at]?.amount ?? 0, now, maxBuckets);
    }
    const hold = new MemoryHold(this, demands, counts, now);
    if (this.#journal !== undefined) this.#record(this.#journal, hold);
    this.#dropIdle();
    return { ok: true, readings: this.#readings(counts, now), hold };
  }

  #record(journal: Journal, hold: MemoryHold): void {
    journal.open.add(hold);
    for (const count of hold.counts) journal.changed.add(count);
  }

  #readings(counts: readonly Count[], now: number): Reading[] {
    const share = this.#share();
    const budgetShare = this.#budgetShare();
    const readings: Reading[] = [];
    for (const count of counts) readings.push(count.reading(count.kind === 'rate' ? share : budgetShare, now));
    return readings;
  }

  #countOf(counter: Counter): Count {
    const { state, rule } = counter;
    const isCount = state instanceof WindowCount || state instanceof BudgetCount;
    const known = isCount && state.owner === this ? state : this.#counts.get(counter.key);
    const count = known !== undefined && adopts(known, rule) ? known : this.#add(counter.key, rule);
    if (count !== state) counter.state = count;
    return count;
  }

  #add(key: string, rule: RateRule | BudgetRule): Count {
    this.#added++;
    const before = this.#counts.get(key);
    if (before !== undefined) before.owner = undefined;
    const count = rule.kind === 'rate' ? new WindowCount(key, rule, this) : new BudgetCount(key, rule, this);
    this.#counts.set(key, count);
    return count;
  }

  #dropIdle(): void {
    for (let looks = this.#added * LOOKS_PER_NEW_COUNTER; looks > 0; looks--) {
      this.#looking ??= this.#counts.values();
      const { done, value } = this.#looking.next();
      if (done === true) this.#looking = undefined;
      else if (value.isIdle(this.#lastMs, BUDGET_GRACE_MS)) {
        value.owner = undefined;
        this.#counts.delete(value.key);
      }
    }
    this.#added = 0;
  }
}

/** Whether `count` goes on by `rule`; one of another kind cannot. */
function adopts(count: Count, rule: RateRule | BudgetRule): boolean {
  if (count.rule === rule) return true;
  if (count.kind === 'rate' && rule.kind === 'rate') count.rule = rule;
  else if (count.kind === 'budget' && rule.kind === 'budget') count.rule = rule;
  else return false;
  return true;
}

/**
 * Where counts live. A store takes all demands of a request or none, in one step; what was taken is settled later, once. Whoever
 * asks need not know whether the counts are in this process, in a store of all replicas, or a replica's share.
 */

/** In any span of `windowMs` no more than `value` is admitted. */
export interface RateRule {
  readonly kind: 'rate';
  readonly windowMs: number;
  readonly value: number;
}

/** In a period no more than `limit` is used: tokens, or money in units of 1e-12 US dollars. */
export interface BudgetRule {
  readonly kind: 'budget';
  readonly limit: bigint;
  /** Unix milliseconds; after it the counter is never asked for again. undefined: it never ends. */
  readonly endsMs: number | undefined;
  /** What becomes of requests while a shared store is away. */
  readonly onUnavailable: 'allow' | 'deny';
}

/**
 * One count: of one limit, one group of its values, one period. Whoever admits requests makes it once and asks with it again, so
 * that a store may keep with it what it knows.
 */
export interface Counter {
  /** Replicas and restarts agree on it; printable, without secrets. Another rule of the same key takes the count over. */
  readonly key: string;
  readonly rule: RateRule | BudgetRule;
  /** The store's own; undefined at first. */
  state: unknown;
}

export interface Demand {
  readonly counter: Counter;
  /** Whole, 0 or more: requests, tokens, or 1e-12 US dollars. */
  readonly amount: number;
}

/** How a counter stands, this request's own demand included where it was taken. */
export interface Reading {
  /** Used and reserved; what is beyond 2^53 is rounded. */
  readonly used: number;
  /** Never below 0. */
  readonly remaining: number;
  /** Milliseconds until all of the limit is there again, if nothing else comes; undefined: never. */
  readonly resetMs: number | undefined;
}

export interface Taken {
  readonly ok: true;
  /** In order of the demands. */
  readonly readings: readonly Reading[];
  readonly hold: Hold;
}

export interface Refused {
  readonly ok: false;
  readonly readings: readonly Reading[];
  /** Index of the demand that must wait longest; of several that must wait for ever, the first. */
  readonly refused: number;
  /** Milliseconds until it could be met, if nothing else comes; undefined: not in this period, or never. */
  readonly retryMs: number | undefined;
}

export type Decision = Taken | Refused;

/** What a request holds until it is settled. Lapses within 60 s where its replica died. */
export interface Hold {
  /** Exactly once. What was really used, in order of the demands, in place of what was demanded. Never throws, never waits. */
  settle(amounts: readonly number[]): void;
}

export interface LimitStore {
  /** All or none. A promise only where there is something to wait for; never rejects. */
  reserve(demands: readonly Demand[]): Decision | Promise<Decision>;
  /** What is kept is written, connections are closed. */
  close(): Promise<void>;
}

import type { Facts, Target } from '../plan/plan.ts';
import type { Breakers } from './breakers.ts';
import type { Reply } from './reply.ts';
import type { RetryBudgets } from './retry-budget.ts';

/** Asks one target once; `retry` is 0 for the first try. Failures are replies, a rejection is a defect and ends the routing. */
export type AttemptTarget<R extends Reply> = (target: Target, retry: number) => Promise<R>;

/** Whether a target may be asked now, as its limits stand. False: it is passed over, like one whose circuit is open. */
export type AdmitTarget = (target: Target) => boolean | Promise<boolean>;

/** What routing needs of the world around a request. */
export interface Circumstances {
  /** Milliseconds of a clock that never goes back, e.g. `performance.now()`. */
  now(): number;
  /** Unix milliseconds: HTTP dates, and the spans of sticky keys that all replicas share. */
  unixNow(): number;
  /** May end early when the client is gone. */
  sleep(ms: number): Promise<void>;
  /** [0, 1) */
  random(): number;
  /** In the clock of `now`: nothing new is begun after it. */
  readonly deadlineAt: number;
  readonly breakers: Breakers;
  readonly budgets: RetryBudgets;
  /** The client has left. */
  isGone(): boolean;
}

/** One request's way through its plan. */
export interface Trip<R extends Reply> {
  readonly facts: Facts;
  readonly attempt: AttemptTarget<R>;
  readonly circumstances: Circumstances;
  /** undefined: every target may. */
  readonly admit: AdmitTarget | undefined;
}

/** Nothing further may be begun for this request. */
export function isOver(circumstances: Circumstances): boolean {
  return circumstances.isGone() || circumstances.now() >= circumstances.deadlineAt;
}

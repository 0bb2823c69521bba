import type { RetryRule } from '../plan/plan.ts';
import type { Reply } from './reply.ts';
import { retryAfterMs } from './retry-after.ts';

/** Without `retry.on_status_codes`. 502 stands for network errors too; 408, and with it a timeout, only where listed. */
export const DEFAULT_RETRY_CODES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);
/** What upstreams may make one target's retries wait in sum. */
export const MAX_WISHED_WAIT_MS = 60_000;
const FIRST_BACKOFF_MS = 1000;

/** Whether the same target may be asked again after this reply. */
export function isRetryable(rule: RetryRule, reply: Reply): boolean {
  if (reply.final || reply.failure === 'refused' || reply.streaming === true) return false;
  return rule.statusCodes.has(reply.status);
}

/** Where a target's retries stand. */
export interface RetryMoment {
  /** 1 for the first retry. */
  readonly retry: number;
  /** Until the request's own deadline. */
  readonly remainingMs: number;
  /** Already spent on wishes of the upstream. */
  readonly wishedMs: number;
  /** [0, 1) */
  readonly random: number;
  readonly unixNowMs: number;
}

export interface Wait {
  readonly waitMs: number;
  /** The upstream asked for it: it counts towards `MAX_WISHED_WAIT_MS`. */
  readonly wished: boolean;
}

/** How long to wait before the next try; undefined: not worth waiting for, the retries end here. */
export function nextWait(rule: RetryRule, reply: Reply, moment: RetryMoment): Wait | undefined {
  const { retry, remainingMs, wishedMs, random, unixNowMs } = moment;
  if (remainingMs <= 0) return undefined;
  const wish = rule.useRetryAfter ? retryAfterMs(reply.headers, unixNowMs) : undefined;
  if (wish === undefined)
    return { waitMs: random * Math.min(FIRST_BACKOFF_MS * 2 ** (retry - 1), remainingMs), wished: false };
  if (wish >= remainingMs || wishedMs + wish > MAX_WISHED_WAIT_MS) return undefined;
  return { waitMs: wish, wished: true };
}

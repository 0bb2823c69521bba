/** Why a limit refused a request, in words for the caller. */
import { type RateUnit, WINDOW_MS } from '#crds/limits/rate-limit.ts';
import type { RateLimitRecord, UsageLimitRecord } from '#crds/snapshot/contract.ts';
import { GatewayError } from '../errors.ts';
import type { Refusal } from '../exchange.ts';
import { isRate } from './group.ts';
import type { Seat } from './limit.ts';
import type { Need } from './need.ts';
import { type Standing, wholeSeconds } from './rate-headers.ts';
import type { Demand, Refused } from './store.ts';

/** A request, or a target of it, that was refused. */
export interface LimitRefusal {
  readonly error: GatewayError;
  readonly by: Refusal;
  /** Infinity: waiting does not help. */
  readonly retryMs: number;
  /** How the limits stood; undefined where they were not asked. */
  readonly standing: Standing | undefined;
}

const SPANS: Readonly<Record<RateUnit, string>> = { rpm: 'minute', rph: 'hour', rpd: 'day', rpw: 'week' };
const FULL_RETRY_MS = 1_000;

/** `demands` in order of `seats`, as the store was asked. */
export function refusedBy(seats: readonly Seat[], demands: readonly Demand[], refused: Refused): LimitRefusal {
  const { readings, retryMs } = refused;
  const [seat, demand] = [seats[refused.refused], demands[refused.refused]];
  if (seat === undefined || demand === undefined)
    throw new Error('the store refused a demand that it was not asked for');
  const { record } = seat.limit;
  const by = { kind: record.kind, label: record.label };
  const standing = { seats, readings };
  if (isRate(record)) {
    const waitMs = retryMs ?? WINDOW_MS[record.unit];
    return { error: rateError(record, waitMs), by, retryMs: waitMs, standing };
  }
  const isSpent = (readings[refused.refused]?.remaining ?? 0) <= 0;
  const { rule } = demand.counter;
  const endsMs = rule.kind === 'budget' ? rule.endsMs : undefined;
  return { error: budgetError(record, isSpent, endsMs), by, retryMs: Number.POSITIVE_INFINITY, standing };
}

function rateError({ label, type, value, unit }: RateLimitRecord, waitMs: number): GatewayError {
  const seconds = Math.max(1, wholeSeconds(waitMs));
  return new GatewayError(
    'rate_limited',
    `The rate limit "${label}" of ${value} ${type} in any ${SPANS[unit]} is reached: try again in ${seconds} s.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

function budgetError(record: UsageLimitRecord, isSpent: boolean, endsMs: number | undefined): GatewayError {
  const { label, type, credit_limit: limit } = record;
  const state = isSpent ? 'is spent' : 'leaves too little for this request';
  const next =
    endsMs === undefined ? 'does not start anew by itself' : `starts anew at ${new Date(endsMs).toISOString()}`;
  return new GatewayError(
    'usage_limit_exceeded',
    `The usage limit "${label}" of ${limit} ${type === 'cost' ? 'USD' : 'tokens'} ${state}: it ${next}.`,
  );
}

/** A window that can never hold the request, however long one waits. undefined: it can. */
export function tooLarge({ limit }: Seat, need: Need): LimitRefusal | undefined {
  const { record, value, unit } = limit;
  const { promptTokens, outputTokens } = need;
  if (unit !== 'tokens' || value === undefined || promptTokens + outputTokens <= value || value === 0) return undefined;
  const error = new GatewayError(
    'request_exceeds_limit',
    `The request may need ${promptTokens + outputTokens} tokens (its prompt about ${promptTokens}, its answer up to ${outputTokens}), ` +
      `more than the rate limit "${record.label}" of ${value} ever admits at once: ask for less with max_tokens.`,
    { param: 'max_tokens' },
  );
  return { error, by: record, retryMs: Number.POSITIVE_INFINITY, standing: undefined };
}

/** `what` as in "ApiKey web". */
export function tooManyInFlight(kind: string, what: string, maxInFlight: number): LimitRefusal {
  const error = new GatewayError(
    'too_many_in_flight',
    `${what} has as many requests under way as it may (${maxInFlight}): try again when one of them is over.`,
    { headers: { 'retry-after': String(FULL_RETRY_MS / 1000) } },
  );
  return { error, by: { kind, label: what }, retryMs: FULL_RETRY_MS, standing: undefined };
}

/** Of two targets that were passed over: the one that can be had sooner; where waiting helps neither, a budget's. */
export function milder(one: LimitRefusal | undefined, other: LimitRefusal): LimitRefusal {
  if (one === undefined) return other;
  if (one.retryMs !== other.retryMs) return one.retryMs < other.retryMs ? one : other;
  return one.error.code === 'request_exceeds_limit' ? other : one;
}

import { GatewayError } from '../errors.ts';
import type { RetryRule, Target } from '../plan/plan.ts';
import type { Outcome } from './breaker.ts';
import { isBreakerFailure } from './breakers.ts';
import { isOver, type Trip } from './circumstances.ts';
import type { Reply, Routed } from './reply.ts';
import { isRetryable, nextWait } from './retry.ts';

const PASSED_OVER = { reply: undefined, target: undefined, retryCount: 0 } as const;

/** Asks one target, with its retries, and tells its breaker how that ended. A target at its limit is passed over: no reply. */
export function tryTarget<R extends Reply>(target: Target, trip: Trip<R>): Promise<Routed<R>> {
  const admitted = trip.admit?.(target) ?? true;
  if (admitted === true) return tryAdmitted(target, trip);
  if (admitted === false) return Promise.resolve(PASSED_OVER);
  return admitted.then((isAdmitted) => (isAdmitted ? tryAdmitted(target, trip) : PASSED_OVER));
}

function tryAdmitted<R extends Reply>(target: Target, trip: Trip<R>): Promise<Routed<R>> {
  return target.settings.breaker === undefined ? ask(target, trip) : askWatched(target, trip);
}

async function askWatched<R extends Reply>(target: Target, trip: Trip<R>): Promise<Routed<R>> {
  const { breakers } = trip.circumstances;
  const permit = breakers.enter(target);
  let outcome: Outcome = 'abandoned';
  try {
    const routed = await ask(target, trip);
    outcome = outcomeOf(target, routed.reply);
    return routed;
  } finally {
    breakers.record(target, permit, outcome);
  }
}

function outcomeOf(target: Target, reply: Reply | undefined): Outcome {
  const rule = target.settings.breaker;
  if (rule === undefined || reply === undefined || reply.final || reply.failure === 'refused') return 'abandoned';
  if (isBreakerFailure(rule, reply)) return 'failure';
  return reply.streaming === true ? 'streaming' : 'success';
}

async function ask<R extends Reply>(target: Target, trip: Trip<R>): Promise<Routed<R>> {
  const reply = await trip.attempt(target, 0);
  if (reply.ok) trip.circumstances.budgets.noteSuccess(budgetKeyOf(target, reply));
  const rule = target.settings.retry;
  if (rule === undefined || rule.attempts === 0 || !isRetryable(rule, reply)) return { reply, target, retryCount: 0 };
  return askAgain(target, trip, rule, reply);
}

async function askAgain<R extends Reply>(
  target: Target,
  { attempt, circumstances }: Trip<R>,
  rule: RetryRule,
  first: R,
): Promise<Routed<R>> {
  const { budgets } = circumstances;
  let reply = first;
  let wishedMs = 0;
  for (let retry = 1; retry <= rule.attempts && !circumstances.isGone(); retry += 1) {
    const wait = nextWait(rule, reply, {
      retry,
      wishedMs,
      remainingMs: circumstances.deadlineAt - circumstances.now(),
      random: circumstances.random(),
      unixNowMs: circumstances.unixNow(),
    });
    if (wait === undefined || !budgets.take(budgetKeyOf(target, reply))) break;
    if (wait.wished) wishedMs += wait.waitMs;
    await circumstances.sleep(wait.waitMs);
    if (isOver(circumstances)) break;
    reply = await attempt(target, retry);
    if (reply.ok) budgets.noteSuccess(budgetKeyOf(target, reply));
    if (!isRetryable(rule, reply)) return { reply, target, retryCount: retry };
  }
  return { reply, target, retryCount: -1 };
}

/** A target whose upstream is not known has a budget of its own. */
function budgetKeyOf(target: Target, reply: Reply): string {
  if (reply.budgetKey !== undefined) return reply.budgetKey;
  const { upstream } = target;
  return upstream === 'request' || upstream instanceof GatewayError ? target.breakerKey : upstream.budgetKey;
}

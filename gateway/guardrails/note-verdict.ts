/** Tells metrics, the log line and the span of a request what its guardrails said. */
import type { RequestContext } from '../request-context.ts';
import { recordFeedback } from './feedback.ts';
import type { HookResult } from './hook-results.ts';

/** Checks that one log line names. */
const MAX_NAMED = 20;

export function noteVerdict(context: RequestContext, result: HookResult): void {
  const { gateway, exchange } = context;
  for (const check of result.checks) gateway.metrics.check(check);
  noteFeedback(context, result);
  if (result.verdict) return;
  const failing = result.checks.filter(({ verdict }) => !verdict).map(({ id }) => `${result.id}/${id}`);
  const failed = [...(exchange.inspected?.failed ?? []), ...(failing.length === 0 ? [result.id] : failing)];
  exchange.inspected = { ...exchange.inspected, failed: failed.slice(0, MAX_NAMED) };
}

export function noteFeedback({ gateway, exchange }: RequestContext, { id: hook, feedback }: HookResult): void {
  if (feedback === null) return;
  recordFeedback(gateway, exchange, { source: 'hook', hook, traceId: exchange.trace.traceId, ...feedback });
}

/** A check threw what it must not throw. Name and place of the defect; never a value of the request. */
export function noteDefect({ gateway, exchange }: RequestContext, check: string, thrown: unknown): void {
  const cause = thrown instanceof Error ? thrown : new Error('something else was thrown');
  gateway.log.event('error', 'check failed', {
    trace_id: exchange.trace.traceId,
    check,
    name: cause.name,
    stack: cause.stack?.split('\n').slice(1, 8).join(' '),
  });
}

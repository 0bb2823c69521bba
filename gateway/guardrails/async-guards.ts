/** Guardrails that run beside requests. So many at a time: what comes on top is left out, and counted. */
import type { Subject } from '../checks/subject.ts';
import type { RequestContext } from '../request-context.ts';
import { asking } from './asking.ts';
import { type Guard, PHASE_MS } from './guard.ts';
import { type HookResult, resultOf } from './hook-results.ts';
import { noteDefect, noteFeedback } from './note-verdict.ts';
import { runGuard } from './run-guards.ts';

const MAX_UNDER_WAY = 64;
/** They are no part of a request: whoever leaves does not end them. */
const NEVER = new AbortController().signal;

export class AsyncGuards {
  #underWay = new Set<Promise<void>>();

  /** Begins in a turn of its own. Its verdict goes to the log, metrics and feedback. */
  start(context: RequestContext, guard: Guard, subject: Subject): void {
    const { gateway, exchange } = context;
    if (this.#underWay.size >= MAX_UNDER_WAY) {
      gateway.log.event('warn', 'guardrail left out', {
        type: 'guardrail',
        guardrail: guard.id,
        reason: `${MAX_UNDER_WAY} are under way`,
        trace_id: exchange.trace.traceId,
      });
      return;
    }
    const running = asking.run(context, () => this.#run(context, guard, subject));
    const done = running.finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Once all that are under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #run(context: RequestContext, guard: Guard, subject: Subject): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const beganAt = performance.now();
    const endsAt = beganAt + Math.max(PHASE_MS, guard.limitMs);
    const onDefect = (id: string, thrown: unknown): void => noteDefect(context, id, thrown);
    const run = await runGuard(guard, subject, { signal: NEVER, endsAt, onDefect });
    tell(context, resultOf(guard, run, beganAt));
  }
}

function tell(context: RequestContext, result: HookResult): void {
  const { gateway, exchange } = context;
  for (const check of result.checks) gateway.metrics.check(check);
  const failed = result.checks.filter(({ verdict }) => !verdict).map(({ id }) => id);
  gateway.log.event('info', 'guardrail', {
    type: 'guardrail',
    guardrail: result.id,
    verdict: result.verdict,
    failed_checks: failed.length === 0 ? undefined : failed.join(', '),
    execution_time_ms: result.execution_time,
    trace_id: exchange.trace.traceId,
  });
  noteFeedback(context, result);
}

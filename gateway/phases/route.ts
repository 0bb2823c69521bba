/** Strategy tree -> attempts -> the reply that counts. */
import { askTarget } from '../cache/ask-target.ts';
import { isUnwanted } from '../cache/unwanted.ts';
import type { Target } from '../plan/plan.ts';
import type { RequestContext } from '../request-context.ts';
import { requestFacts } from '../request-facts.ts';
import type { AdmitTarget, Circumstances } from '../route/circumstances.ts';
import { route } from '../route/route.ts';

export async function routeRequest(context: RequestContext): Promise<void> {
  if (context.routed !== undefined) return;
  const { inspection } = context;
  const attempt =
    inspection === undefined
      ? (target: Target, retry: number) => askTarget(context, target, retry)
      : (target: Target, retry: number) => inspection.attempt(target, retry);
  context.routed = await route(
    context.plan,
    requestFacts(context),
    attempt,
    new RequestCircumstances(context),
    guardOf(context),
  );
}

/** undefined: no target of this request is limited. */
function guardOf({ admission }: RequestContext): AdmitTarget | undefined {
  return admission?.guardsTargets === true ? (target) => admission.admits(target) : undefined;
}

class RequestCircumstances implements Circumstances {
  private readonly context: RequestContext;
  constructor(context: RequestContext) {
    this.context = context;
  }
  get deadlineAt(): number {
    return this.context.deadlineAt;
  }
  get breakers(): Circumstances['breakers'] {
    return this.context.gateway.breakers;
  }
  get budgets(): Circumstances['budgets'] {
    return this.context.gateway.budgets;
  }
  now(): number {
    return performance.now();
  }
  unixNow(): number {
    return Date.now();
  }
  random(): number {
    return Math.random();
  }
  isGone(): boolean {
    return isUnwanted(this.context);
  }
  /** Ends early when the caller leaves. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.context.onGone = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

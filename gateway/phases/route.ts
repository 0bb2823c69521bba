/** Strategy tree -> attempts -> the reply that counts. */
import { attemptTarget } from '../attempt.ts';
import type { Facts, Target } from '../plan/plan.ts';
import type { RequestContext } from '../request-context.ts';
import type { Circumstances } from '../route/circumstances.ts';
import { route } from '../route/route.ts';

export async function routeRequest(context: RequestContext): Promise<void> {
  const { exchange } = context;
  const facts: Facts = {
    metadata: exchange.metadata,
    params: context.body,
    headers: context.request.headers,
    pathname: exchange.pathname,
  };
  const attempt = (target: Target, retry: number) => attemptTarget(context.gateway, context, target, retry);
  context.routed = await route(context.plan, facts, attempt, new RequestCircumstances(context));
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
    return this.context.gone;
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

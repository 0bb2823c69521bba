/** Said before? */
import { askedOfPlan } from '../cache/asked-of-cache.ts';
import { CacheTurn } from '../cache/cache-turn.ts';
import { isUnwanted } from '../cache/unwanted.ts';
import { CallerLeft } from '../read-body.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';

/** An answer that is there is the answer: nothing is routed any more. */
export function recall(context: RequestContext): void | Promise<void> {
  const { rule } = context.plan.cache;
  if (rule === undefined) return;
  const asked = askedOfPlan(context);
  const turn = asked && CacheTurn.of(context, rule, asked, undefined);
  if (turn === undefined) return;
  context.cacheTurn = turn;
  const reply = turn.recall();
  return reply instanceof Promise ? reply.then((found) => take(context, found)) : take(context, reply);
}

function take(context: RequestContext, reply: GatewayReply | undefined): void {
  if (reply !== undefined)
    context.routed = { reply: context.inspection?.recalled(reply) ?? reply, target: undefined, retryCount: 0 };
  else if (isUnwanted(context)) throw new CallerLeft();
}

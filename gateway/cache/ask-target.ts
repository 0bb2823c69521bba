/** A try at a target, whose own cache is asked before. */
import { attemptTarget } from '../attempt.ts';
import { GatewayError } from '../errors.ts';
import { refusedReply } from '../failed-reply.ts';
import type { Target } from '../plan/plan.ts';
import { CallerLeft } from '../read-body.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import { askedOfTarget } from './asked-of-cache.ts';
import { CacheTurn } from './cache-turn.ts';
import { isUnwanted } from './unwanted.ts';

/** Never rejected. */
export function askTarget(context: RequestContext, target: Target, retry: number): Promise<GatewayReply> {
  if (context.plan.cache.at !== 'targets') return attemptTarget(context.gateway, context, target, retry);
  return askWithCache(context, target, retry);
}

async function askWithCache(context: RequestContext, target: Target, retry: number): Promise<GatewayReply> {
  const recalled = retry === 0 ? await recallAt(context, target) : undefined;
  if (recalled !== undefined) return recalled;
  const reply = await attemptTarget(context.gateway, context, target, retry);
  context.cacheTurn?.noteReply(reply);
  return reply;
}

async function recallAt(context: RequestContext, target: Target): Promise<GatewayReply | undefined> {
  context.cacheTurn?.fail(new GatewayError('upstream_cut', 'Another target was asked in place of this one.'));
  context.cacheTurn = undefined;
  context.exchange.cache = undefined;
  const rule = target.settings.cache;
  const asked = rule && askedOfTarget(context, target);
  const turn = asked && CacheTurn.of(context, rule, asked, target);
  if (turn === undefined) return undefined;
  context.cacheTurn = turn;
  try {
    const reply = await turn.recall();
    if (reply === undefined && isUnwanted(context)) throw new CallerLeft();
    return reply;
  } catch (error) {
    return { ...refusedReply(error, undefined), final: true };
  }
}

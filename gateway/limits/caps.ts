/** Which caps on requests in flight are about a request and its targets. */
import type { Concurrency } from '#crds/limits/concurrency.ts';
import type { Caller } from '../exchange.ts';
import type { Target, Upstream } from '../plan/plan.ts';
import type { RequestContext } from '../request-context.ts';
import type { ActiveSnapshot } from '../snapshot/active-snapshot.ts';
import { isTurn, type Queued, type Turn } from './concurrency.ts';
import { type LimitRefusal, tooManyInFlight } from './refusal.ts';

export interface Cap {
  /** Tells it apart from all others. */
  readonly name: string;
  readonly rule: Concurrency;
  readonly kind: string;
  /** As messages call it. */
  readonly what: string;
}

export function keyCap({ namespace, name, key }: Caller): Cap | undefined {
  const rule = key?.concurrency;
  if (rule === undefined) return undefined;
  return { name: `ApiKey ${namespace}/${name}`, rule, kind: 'ApiKey', what: `ApiKey ${name}` };
}

/** The target's own, then its Integration's: always in this order, so that no two requests wait for each other. */
export function capsOf(snapshot: ActiveSnapshot, target: Target, { integration }: Upstream): readonly Cap[] {
  const own = target.settings.concurrency;
  const shared = snapshot.limits.capOf(integration);
  const caps: Cap[] = [];
  if (own !== undefined) {
    const what = `The target ${target.path}`;
    caps.push({ name: `target ${target.breakerKey}`, rule: own, kind: 'GatewayConfig', what });
  }
  if (shared !== undefined && integration !== undefined) {
    const what = `Integration ${integration.slice(integration.indexOf('/') + 1)}`;
    caps.push({ name: `Integration ${integration}`, rule: shared, kind: 'Integration', what });
  }
  return caps;
}

/** The turn is added to `turns`, which are left when all is over. Resolves with why there is none. */
export function pass(
  context: RequestContext,
  cap: Cap,
  turns: Turn[],
): LimitRefusal | undefined | Promise<LimitRefusal | undefined> {
  const { turnstiles, shares } = context.gateway;
  const maxWaitMs = Math.max(0, context.deadlineAt - performance.now());
  const entered = turnstiles.enter(cap.name, cap.rule, shares.share().count, maxWaitMs);
  if (entered === undefined) return fullOf(cap);
  if (!isTurn(entered)) return waitIn(context, cap, entered, turns);
  turns.push(entered);
  return undefined;
}

async function waitIn(
  context: RequestContext,
  cap: Cap,
  queued: Queued,
  turns: Turn[],
): Promise<LimitRefusal | undefined> {
  context.onGone = queued.giveUp;
  if (context.gone) queued.giveUp();
  const turn = await queued.turn;
  context.onGone = undefined;
  if (turn === undefined) return fullOf(cap);
  turns.push(turn);
  return undefined;
}

function fullOf({ kind, what, rule }: Cap): LimitRefusal {
  return tooManyInFlight(kind, what, rule.max_in_flight);
}

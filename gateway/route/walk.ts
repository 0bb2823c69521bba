import type { Branch, PlanNode } from '../plan/plan.ts';
import { drawable, isAvailable, onlyChild } from './availability.ts';
import { isOver, type Trip } from './circumstances.ts';
import { movesOn } from './fallback.ts';
import type { Reply, Routed } from './reply.ts';
import { pickSticky } from './sticky.ts';
import { tryTarget } from './try-target.ts';
import { drawByWeight } from './weights.ts';

const NOTHING = { reply: undefined, target: undefined, retryCount: 0 } as const;

/** Asks what lies at or below `node`. Only a fallback waits for an answer; other branches just lead on. */
export function walk<R extends Reply>(node: PlanNode | undefined, trip: Trip<R>): Promise<Routed<R>> {
  if (node === undefined) return Promise.resolve(NOTHING);
  if (node.kind === 'target') return tryTarget(node, trip);
  if (node.mode === 'fallback') return fallBack(node, trip);
  return walk(node.mode === 'loadbalance' ? draw(node, trip) : onlyChild(node, trip.facts), trip);
}

function draw<R extends Reply>(branch: Branch, { facts, circumstances }: Trip<R>): PlanNode | undefined {
  const children = drawable(branch, facts, circumstances.breakers);
  const key = branch.stickyKey?.(facts);
  if (key === undefined) return drawByWeight(children, circumstances.random());
  return pickSticky(children, key, branch.stickyTtlMs, circumstances.unixNow());
}

async function fallBack<R extends Reply>(branch: Branch, trip: Trip<R>): Promise<Routed<R>> {
  const { facts, circumstances } = trip;
  const { breakers } = circumstances;
  const allOpen = !isAvailable(branch, facts, breakers);
  let last: Routed<R> = NOTHING;
  for (const child of branch.children) {
    if (!allOpen && !isAvailable(child, facts, breakers)) continue;
    if (last.reply !== undefined && isOver(circumstances)) return last;
    const routed = await walk(child, trip);
    if (routed.reply === undefined) continue;
    if (!movesOn(routed.reply, branch.fallbackCodes)) return routed;
    last = routed;
  }
  return last;
}

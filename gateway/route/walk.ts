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
  if (node.mode !== 'loadbalance') return walk(onlyChild(node, trip.facts), trip);
  if (trip.admit !== undefined) return drawUntilAdmitted(node, trip);
  return walk(draw(node, drawableOf(node, trip), trip), trip);
}

/** A child at its limit is drawn no more, and its share goes to the others. */
async function drawUntilAdmitted<R extends Reply>(branch: Branch, trip: Trip<R>): Promise<Routed<R>> {
  let children = drawableOf(branch, trip);
  for (;;) {
    const child = draw(branch, children, trip);
    if (child === undefined) return NOTHING;
    const routed = await walk(child, trip);
    if (routed.reply !== undefined || isOver(trip.circumstances)) return routed;
    children = children.filter((other) => other !== child);
  }
}

function drawableOf<R extends Reply>(branch: Branch, { facts, circumstances }: Trip<R>): readonly PlanNode[] {
  return drawable(branch, facts, circumstances.breakers);
}

function draw<R extends Reply>(
  branch: Branch,
  children: readonly PlanNode[],
  { facts, circumstances }: Trip<R>,
): PlanNode | undefined {
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

import type { Branch, Facts, PlanNode } from '../plan/plan.ts';
import type { Breakers } from './breakers.ts';

/** Whether this request could reach a target below `node` whose circuit is not open. */
export function isAvailable(node: PlanNode, facts: Facts, breakers: Breakers): boolean {
  if (breakers.allClosed) return true;
  if (node.kind === 'target') return breakers.admits(node);
  if (node.mode === 'loadbalance') return node.children.some((child) => hasShare(child, facts, breakers));
  if (node.mode === 'fallback') return node.children.some((child) => isAvailable(child, facts, breakers));
  const child = onlyChild(node, facts);
  return child !== undefined && isAvailable(child, facts, breakers);
}

/** The children that a draw is among: those available, or all of them when none is. */
export function drawable(branch: Branch, facts: Facts, breakers: Breakers): readonly PlanNode[] {
  if (breakers.allClosed) return branch.children;
  const available = branch.children.filter((child) => hasShare(child, facts, breakers));
  return available.length === 0 ? branch.children : available;
}

/** The child of a branch that leaves no choice: `single` and `conditional`. */
export function onlyChild(branch: Branch, facts: Facts): PlanNode | undefined {
  return branch.children[branch.choose === undefined ? 0 : branch.choose(facts)];
}

function hasShare(child: PlanNode, facts: Facts, breakers: Breakers): boolean {
  return child.weight > 0 && isAvailable(child, facts, breakers);
}

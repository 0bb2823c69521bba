import type { Facts, Plan } from '../plan/plan.ts';
import type { AdmitTarget, AttemptTarget, Circumstances } from './circumstances.ts';
import type { Reply, Routed } from './reply.ts';
import { walk } from './walk.ts';

/**
 * Leads one request through its plan: draws, conditions and fallbacks, retries, breakers. The last answer is returned as
 * it is. Rejects only when `attempt` does.
 */
export function route<R extends Reply>(
  plan: Plan,
  facts: Facts,
  attempt: AttemptTarget<R>,
  circumstances: Circumstances,
  admit?: AdmitTarget,
): Promise<Routed<R>> {
  return walk(plan.root, { facts, attempt, circumstances, admit });
}

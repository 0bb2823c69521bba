/** May it be said. */
import { Inspection } from '../guardrails/inspection.ts';
import type { RequestContext } from '../request-context.ts';

/** A request that no guardrail is about goes on as if there were none. */
export function inspectIn(context: RequestContext): void | Promise<void> {
  const { caller, plan, snapshot } = context;
  const { guards } = snapshot;
  if (!plan.isGuarded && !guards.hasDefaults) return;
  const defaults = guards.defaultsOf(caller.namespace);
  if (!plan.isGuarded && defaults.input.length + defaults.output.length === 0) return;
  const inspection = new Inspection(context, defaults);
  context.inspection = inspection;
  return inspection.enter();
}

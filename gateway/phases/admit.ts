/** May it, now. */
import { Admission } from '../limits/admission.ts';
import type { RequestContext } from '../request-context.ts';

/** A request that nothing can limit goes on as if there were no limits. */
export function admit(context: RequestContext): void | Promise<void> {
  const { caller, endpoint, exchange, plan, snapshot } = context;
  const book = snapshot.limits;
  const limits = book.of(caller, endpoint.type, exchange.config, exchange.prompt);
  const isCapped = caller.key?.concurrency !== undefined || plan.isCapped || book.hasCaps;
  if (limits.seats.length === 0 && !limits.hasPlaces && !isCapped) return;
  const admission = new Admission(context, limits);
  context.admission = admission;
  return admission.enter();
}

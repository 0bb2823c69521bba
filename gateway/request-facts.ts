import type { Facts } from './plan/plan.ts';
import type { RequestContext } from './request-context.ts';

/** What conditions and sticky fields see of a request. */
export function requestFacts({ exchange, body, request }: RequestContext): Facts {
  return { metadata: exchange.metadata, params: body, headers: request.headers, pathname: exchange.pathname };
}

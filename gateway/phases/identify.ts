/** Who calls. */
import { authenticate } from '../authenticate.ts';
import type { RequestContext } from '../request-context.ts';
import { assertNoLoop } from '../upstream/loop.ts';

export function identify(context: RequestContext): void {
  const { headers } = context.request;
  const identity = authenticate(headers, context.snapshot, context.gateway.open, context.endpoint.scopes);
  context.caller = identity.caller;
  context.exchange.caller = identity.caller;
  context.bearer = identity.bearer;
  context.gatewayKeyIn = identity.keyIn;
  assertNoLoop(headers);
}

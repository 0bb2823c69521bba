import { GatewayError } from '../errors.ts';
import type { RequestContext } from '../request-context.ts';

/** What those are told who waited for a call that came to nothing. */
export function brokenOff({ exchange }: RequestContext): GatewayError {
  return new GatewayError(
    exchange.errorCode ?? 'upstream_cut',
    'The call that this request waited for was broken off.',
  );
}

/** Replies of attempts that did not succeed. */
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from './errors.ts';
import type { Attempt } from './exchange.ts';
import type { Upstream } from './plan/plan.ts';
import type { GatewayReply } from './reply.ts';
import { isContextTooSmall } from './upstream/problem.ts';

/** For every list of status codes a network error counts as 502 and a timeout as 408 (`semantics.md` 4). */
const TIMEOUT_STATUS = 408;
const TIMEOUTS: ReadonlySet<string> = new Set(['request_timeout', 'upstream_timeout', 'upstream_stalled']);
/** Faults of the request itself that no other target would mend. */
const FINAL: ReadonlySet<string> = new Set([
  'invalid_value',
  'missing_field',
  'internal',
  'no_provider',
  'unknown_slug',
  'unknown_provider',
  'override_not_allowed',
  'host_not_allowed',
  'config_refused',
]);

/** `isGone`: the caller has left, which is no fault of the upstream. */
export function failedReply(
  error: GatewayError,
  upstream: Upstream,
  attempt: Attempt,
  headers: IncomingHttpHeaders,
  isGone: boolean,
  upstreamStatus?: number,
): GatewayReply {
  const timeout = TIMEOUTS.has(error.code);
  return {
    status: upstreamStatus ?? (timeout ? TIMEOUT_STATUS : error.status),
    ok: false,
    failure: upstreamStatus !== undefined ? 'status' : timeout ? 'timeout' : 'network',
    final: isGone || FINAL.has(error.code),
    headers,
    contextTooSmall: isContextTooSmall(error, upstream),
    attempt,
    upstream,
    budgetKey: upstream.budgetKey,
    upstreamHeaders: headers,
    error,
    answerStatus: error.status,
    body: undefined,
    stream: undefined,
  };
}

/** A target that was refused by us, before anything was sent. */
export function refusedReply(cause: unknown, upstream: Upstream | undefined): GatewayReply {
  const error =
    cause instanceof GatewayError
      ? cause
      : new GatewayError('internal', 'The request could not be prepared.', { cause });
  return {
    status: error.status,
    ok: false,
    failure: 'refused',
    final: FINAL.has(error.code),
    headers: undefined,
    contextTooSmall: false,
    attempt: undefined,
    upstream,
    budgetKey: upstream?.budgetKey,
    upstreamHeaders: undefined,
    error,
    answerStatus: error.status,
    body: undefined,
    stream: undefined,
  };
}

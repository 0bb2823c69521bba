/** What applies. */
import type { Json } from '../providers/provider.ts';
import type { RequestContext } from '../request-context.ts';
import { readControlHeaders } from '../resolve/request-headers.ts';
import { resolvePlan } from '../resolve/resolve.ts';

/** Metadata key that the body's `user` is copied to. */
const USER = '_user';

export function resolve(context: RequestContext): void {
  const control = readControlHeaders(context.request.headers);
  context.control = control;
  const resolved = resolvePlan(context.snapshot, context.caller, control);
  context.plan = resolved.plan;
  context.exchange.config = resolved.config;
  context.exchange.metadata = mergedMetadata(context.caller.key?.metadata, control.metadata, context.body);
}

/** The key's wins over the request's: who issued the key decides what its calls are counted under. */
function mergedMetadata(
  ofKey: Readonly<Record<string, string>> | undefined,
  ofRequest: Readonly<Record<string, string>> | undefined,
  body: Json,
): Readonly<Record<string, string>> {
  const merged: Record<string, string> = { ...ofRequest, ...ofKey };
  const user = body['user'];
  if (typeof user === 'string' && merged[USER] === undefined) merged[USER] = user;
  return merged;
}

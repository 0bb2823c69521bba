/** What applies. */
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
  context.exchange.metadata = mergedMetadata(context, control.metadata);
}

/** The workspace's wins over the key's, and that over the request's: who has more to say decides what calls are counted under. */
function mergedMetadata(
  { snapshot, caller, body }: RequestContext,
  ofRequest: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const ofWorkspace = snapshot.workspaceMetadata(caller.namespace);
  const merged: Record<string, string> = { ...ofRequest, ...caller.key?.metadata, ...ofWorkspace };
  const user = body['user'];
  if (typeof user === 'string' && merged[USER] === undefined) merged[USER] = user;
  return merged;
}

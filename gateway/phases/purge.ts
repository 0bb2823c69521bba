/** Empties the cache of a workspace: the caller's own, or the one that an organisation key names with `workspace_id`. */
import { ANNOTATIONS } from '#crds/object.ts';
import { plainHeaders, sendBody } from '../answer.ts';
import { GatewayError } from '../errors.ts';
import type { RequestContext } from '../request-context.ts';

const RETRY_AFTER_S = '2';

/** Throws `workspace_not_allowed`, `owned_elsewhere` where other replicas keep answers that this one cannot reach. */
export async function purge(context: RequestContext): Promise<void> {
  const { gateway, request } = context;
  request.resume();
  const workspace = workspaceOf(context);
  const { count } = gateway.shares.share();
  if (!gateway.cache.isShared && count > 1) {
    const message = `Each of the ${count} replicas keeps answers of its own: give the annotation ${ANNOTATIONS.purgeCache} of the Workspace another word instead.`;
    throw new GatewayError('owned_elsewhere', message);
  }
  await gateway.cache.answers.purge(workspace).catch((cause: unknown) => {
    const message = 'The store that holds the cache does not answer.';
    throw new GatewayError('control_plane_unavailable', message, { cause, headers: { 'retry-after': RETRY_AFTER_S } });
  });
  const body = JSON.stringify({ object: 'cache', workspace_id: workspace, status: 'purged' });
  sendBody(context, 200, plainHeaders(context), body);
}

function workspaceOf({ caller, request }: RequestContext): string {
  const { searchParams } = new URL(request.url ?? '', 'http://gateway');
  const asked = searchParams.get('workspace_id') ?? caller.namespace;
  if (asked === caller.namespace || caller.key?.type === 'organisation-service') return asked;
  const message = `The key ${caller.name} acts in its own workspace ${caller.namespace} only.`;
  throw new GatewayError('workspace_not_allowed', message, { param: 'workspace_id' });
}

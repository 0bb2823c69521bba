/** What a request asks the cache for. */
import { GatewayError } from '../errors.ts';
import type { PlanNode, Target } from '../plan/plan.ts';
import type { Json } from '../providers/provider.ts';
import type { RequestContext } from '../request-context.ts';
import { requestFacts } from '../request-facts.ts';
import { type Addressed, targetUpstream } from '../resolve/target-upstream.ts';
import { onlyChild } from '../route/availability.ts';
import type { CacheRequest } from './cache-key.ts';
import { CacheScope } from './cache-scope.ts';
import { treatmentOf } from './treatment.ts';

/** Operations whose answers are JSON, and equal enough for equal requests. */
const KEPT: ReadonlySet<string> = new Set(['chat', 'complete', 'embed', 'rerank']);

/** What this target would be asked. undefined: nothing of it is kept, or it will refuse the request. */
export function askedOfTarget(context: RequestContext, target: Target): CacheRequest | undefined {
  const { endpoint } = context;
  const addressed = KEPT.has(endpoint.operation) ? addressedBy(context, target) : undefined;
  if (addressed === undefined) return undefined;
  const { upstream, sentModel } = addressed;
  return {
    scope: scopeOf(context),
    provider: upstream.provider.name,
    upstream: `${upstream.origin}${upstream.pathPrefix}`,
    endpoint,
    treatment: treatmentOf(context, target),
    body: sentBody(context, target, sentModel),
  };
}

/** Before a target is chosen. Where the choice is free, whichever answers counts for all. */
export function askedOfPlan(context: RequestContext): CacheRequest | undefined {
  const { plan, endpoint, control, body } = context;
  const node = withoutChoice(plan.root, context);
  if (node === undefined) return undefined;
  if (node.kind === 'target') return askedOfTarget(context, node);
  if (!KEPT.has(endpoint.operation)) return undefined;
  const { provider = '', virtualKey = '', customHost = '' } = control;
  return {
    scope: scopeOf(context),
    provider: `${plan.cache.fingerprint} ${node.path}`,
    upstream: JSON.stringify([provider, virtualKey, customHost]),
    endpoint,
    treatment: treatmentOf(context, undefined),
    body,
  };
}

function withoutChoice(root: PlanNode, context: RequestContext): PlanNode | undefined {
  let node: PlanNode | undefined = root;
  if (node.kind === 'target') return node;
  const facts = requestFacts(context);
  while (node?.kind === 'branch' && (node.choose !== undefined || node.mode === 'single'))
    node = onlyChild(node, facts);
  return node;
}

/** Whoever asks this target is told why it cannot be asked. */
function addressedBy(context: RequestContext, target: Target): Addressed | undefined {
  let addressed: Addressed;
  try {
    addressed = targetUpstream(context, target);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
  const { upstream, sentModel } = addressed;
  if (upstream.provider.operations[context.endpoint.operation] === undefined) return undefined;
  return sentModel !== undefined && upstream.allowsModel?.(sentModel) === false ? undefined : addressed;
}

function scopeOf({ caller, control, exchange, snapshot }: RequestContext): CacheScope {
  return CacheScope.of({
    workspace: caller.namespace,
    epoch: snapshot.cacheEpoch(caller.namespace),
    cacheNamespace: control.cacheNamespace,
    metadata: exchange.metadata,
  });
}

function sentBody({ body }: RequestContext, { settings }: Target, model: string | undefined): Json {
  const { overrideParams } = settings;
  if (overrideParams === undefined && (model === undefined || model === body['model'])) return body;
  return { ...body, ...overrideParams, ...(model === undefined ? {} : { model }) };
}

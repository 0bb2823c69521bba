/** The upstream of one target for one request: the config's, unless the request must or may choose. */
import { GatewayError } from '../errors.ts';
import { integrationUpstream } from '../plan/integration-upstream.ts';
import type { Target, Upstream } from '../plan/plan.ts';
import { makeUpstream } from '../plan/upstream.ts';
import { PROVIDERS } from '../providers/registry.ts';
import type { RequestContext } from '../request-context.ts';

export interface Addressed {
  readonly target: Target;
  readonly upstream: Upstream;
  /** Model in place of the body's; undefined: as the body says. */
  readonly model: string | undefined;
  /** Model as sent. */
  readonly sentModel: string | undefined;
}

/** Throws the GatewayError that says why this target cannot be used. Found once for a request and a target that it tries. */
export function targetUpstream(context: RequestContext, target: Target): Addressed {
  const known = context.addressed;
  if (known?.target === target) return known;
  const model = modelOf(context, target);
  const { upstream, model: replaced } = addressOf(context, target, model);
  const addressed = { target, upstream, model: replaced, sentModel: replaced ?? model };
  context.addressed = addressed;
  return addressed;
}

interface Address {
  readonly upstream: Upstream;
  readonly model: string | undefined;
}

function addressOf(context: RequestContext, target: Target, model: string | undefined): Address {
  const host = context.control.customHost;
  if (target.upstream instanceof GatewayError) throw target.upstream;
  if (host !== undefined) return hostedByRequest(context, target, host, model);
  const upstream = target.upstream === 'request' ? requestUpstream(context, model, undefined) : target.upstream;
  if (target.upstream !== 'request' && upstream.listed !== undefined)
    assertHost(context, upstream.origin, target.settings.customHost ?? '');
  const sent = stripSlug(model, target.upstream === 'request' || namesSlug(upstream, model));
  return { upstream: ownHost(upstream, sent ?? model), model: sent };
}

function modelOf(context: RequestContext, target: Target): string | undefined {
  const override = target.settings.overrideParams?.['model'];
  if (typeof override === 'string') return override;
  const model = context.body['model'];
  return typeof model === 'string' ? model : undefined;
}

/** `@slug/model` -> `model`; undefined when nothing is to be stripped. */
function stripSlug(model: string | undefined, addressed: boolean): string | undefined {
  if (!addressed || model === undefined || !model.startsWith('@')) return undefined;
  const slash = model.indexOf('/');
  return slash === -1 ? undefined : model.slice(slash + 1);
}

function namesSlug(upstream: Upstream, model: string | undefined): boolean {
  const name = upstream.integration?.slice(upstream.integration.indexOf('/') + 1);
  return name !== undefined && model?.startsWith(`@${name}/`) === true;
}

function ownHost(upstream: Upstream, model: string | undefined): Upstream {
  return (model === undefined ? undefined : upstream.modelHosts?.get(model)) ?? upstream;
}

/** Header, virtual key, then model (`semantics.md` 2). */
function requestUpstream(context: RequestContext, model: string | undefined, customHost: string | undefined): Upstream {
  const { control, snapshot } = context;
  const host = { customHost, byRequest: customHost !== undefined };
  const namespace = context.caller.namespace;
  if (control.provider?.startsWith('@'))
    return integrationUpstream(snapshot, namespace, control.provider.slice(1), host);
  if (control.provider !== undefined) return directUpstream(context, control.provider, customHost);
  if (control.virtualKey !== undefined) return integrationUpstream(snapshot, namespace, control.virtualKey, host);
  const slug = model?.startsWith('@') ? model.slice(1, slugEnd(model)) : undefined;
  if (slug !== undefined) return integrationUpstream(snapshot, namespace, slug, host);
  throw new GatewayError(
    'no_provider',
    'No provider is named: send x-gateway-config, x-gateway-provider, x-gateway-virtual-key or a model "@slug/model".',
  );
}

function slugEnd(model: string): number {
  const slash = model.indexOf('/');
  return slash === -1 ? model.length : slash;
}

function directUpstream(context: RequestContext, name: string, customHost: string | undefined): Upstream {
  const provider = PROVIDERS.get(name.toLowerCase());
  if (provider === undefined) {
    throw new GatewayError(
      'unknown_provider',
      `x-gateway-provider names "${name.slice(0, 64)}", which is not in the catalogue.`,
      { param: 'x-gateway-provider' },
    );
  }
  const credentials = context.bearer === undefined ? {} : { api_key: context.bearer };
  const listed = customHost === undefined ? undefined : context.snapshot.requestHosts;
  return makeUpstream(context.snapshot, {
    provider,
    customHost,
    credentials,
    integration: undefined,
    allowsModel: undefined,
    listed,
    ownsCredential: false,
  });
}

/** A host in the header is an outsider's word, and no stored credential goes there. */
function hostedByRequest(context: RequestContext, target: Target, host: string, model: string | undefined): Address {
  const origin = assertHost(context, originOf(host), host);
  if (target.upstream === 'request') {
    return { upstream: requestUpstream(context, model, host), model: stripSlug(model, true) };
  }
  const fixed = target.upstream as Upstream;
  const credentials = context.bearer === undefined ? {} : { api_key: context.bearer };
  const listed = context.snapshot.requestHosts;
  const parts = {
    provider: fixed.provider,
    customHost: host,
    credentials,
    integration: fixed.integration,
    allowsModel: fixed.allowsModel,
    listed,
    ownsCredential: false,
    prices: fixed.prices,
  };
  return {
    upstream: { ...makeUpstream(context.snapshot, parts), origin },
    model: stripSlug(model, namesSlug(fixed, model)),
  };
}

function originOf(host: string): string {
  const url = URL.parse(host);
  const plain =
    url !== null &&
    url.username === '' &&
    url.password === '' &&
    !url.hostname.endsWith('.') &&
    url.hash === '' &&
    url.search === '';
  if (!plain || (url.protocol !== 'http:' && url.protocol !== 'https:')) return '';
  return url.origin;
}

/** Throws `override_not_allowed` or `host_not_allowed`; returns the origin. */
function assertHost(context: RequestContext, origin: string, host: string): string {
  const listed = context.snapshot.requestHosts;
  if (listed.size === 0)
    throw new GatewayError('override_not_allowed', 'This installation lets no request choose its host.', {
      param: 'x-gateway-custom-host',
    });
  if (origin === '' || !listed.has(origin) || originOf(host) !== origin) {
    throw new GatewayError('host_not_allowed', 'This installation does not list the origin of the custom host.', {
      param: 'x-gateway-custom-host',
    });
  }
  return origin;
}

/** Makes upstreams: provider + host + credential, all that can be known before a request comes. */
import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import { listPrices, type ModelPrices } from '../money/price-book.ts';
import type { Credentials, Provider } from '../providers/provider.ts';
import { SIMULATOR } from '../providers/simulator/provider.ts';
import type { ActiveSnapshot } from '../snapshot/active-snapshot.ts';
import type { Upstream } from './plan.ts';

export interface UpstreamParts {
  readonly provider: Provider;
  /** The administrator's or a request's host; undefined: the provider's own. */
  readonly customHost: string | undefined;
  readonly credentials: Credentials;
  readonly integration: string | undefined;
  readonly allowsModel: ((model: string) => boolean) | undefined;
  readonly listed: ReadonlySet<string> | undefined;
  readonly ownsCredential: boolean;
  /** Default: those of the provider's price page. */
  readonly prices?: ModelPrices;
}

/** Throws GatewayError `invalid_config` when there is no usable host. */
export function makeUpstream(snapshot: ActiveSnapshot, parts: UpstreamParts): Upstream {
  const { provider, credentials } = parts;
  const url = hostUrl(parts.customHost ?? baseUrlOf(snapshot, provider), provider);
  const headers = provider.authorize(credentials);
  return {
    provider,
    origin: url.origin,
    host: url.host,
    pathPrefix: url.pathname.replace(/\/+$/, ''),
    headers,
    listed: parts.listed,
    ownsCredential: parts.ownsCredential,
    budgetKey: `${provider.name} ${url.origin} ${fingerprint(headers)}`,
    integration: parts.integration,
    allowsModel: parts.allowsModel,
    prices: parts.prices ?? listPrices(provider),
    modelHosts: undefined,
  };
}

function baseUrlOf(snapshot: ActiveSnapshot, provider: Provider): string | undefined {
  return provider.name === SIMULATOR ? `${snapshot.simulatorOrigin}/v1` : provider.baseUrl;
}

function hostUrl(host: string | undefined, provider: Provider): URL {
  if (host === undefined)
    throw new GatewayError('invalid_config', `The provider ${provider.name} has no host of its own: set custom_host.`, {
      param: 'custom_host',
    });
  const url = URL.parse(host);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new GatewayError('invalid_config', `custom_host must be an http or https URL, got "${host.slice(0, 200)}".`, {
      param: 'custom_host',
    });
  }
  return url;
}

/** Tells credentials apart without keeping them. */
function fingerprint(headers: readonly string[]): string {
  return createHash('sha256').update(headers.join('\n')).digest('base64').slice(0, 16);
}

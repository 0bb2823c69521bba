/** An Integration as upstream: its provider, host, credential and list of models. */
import type { IntegrationRecord } from '#crds/snapshot/contract.ts';
import { GatewayError } from '../errors.ts';
import { integrationPrices } from '../money/price-book.ts';
import { PROVIDERS } from '../providers/registry.ts';
import type { ActiveSnapshot } from '../snapshot/active-snapshot.ts';
import type { Upstream } from './plan.ts';
import { makeUpstream, type UpstreamParts } from './upstream.ts';

export interface HostChoice {
  readonly customHost: string | undefined;
  /** A request named it: no stored credential goes there. */
  readonly byRequest: boolean;
}

/** Throws `unknown_slug`, `config_refused`, `credential_unavailable` or `unknown_provider`. */
export function integrationUpstream(
  snapshot: ActiveSnapshot,
  namespace: string,
  slug: string,
  host: HostChoice,
): Upstream {
  const record = snapshot.integration(namespace, slug);
  if (record === undefined) throw unknownSlug(snapshot, namespace, slug);
  const provider = PROVIDERS.get(record.provider);
  if (provider === undefined)
    throw new GatewayError(
      'unknown_provider',
      `The Integration ${slug} names the provider "${record.provider}", which this gateway does not know.`,
    );
  const stored = snapshot.credential('Integration', record.namespace, record.name, '') ?? {};
  if (!host.byRequest) assertCredential(record, stored);
  const parts: UpstreamParts = {
    provider,
    customHost: host.customHost ?? asText(record.configurations['custom_host']),
    credentials: host.byRequest ? {} : { ...record.configurations, ...stored },
    integration: `${record.namespace}/${record.name}`,
    allowsModel: modelRule(record),
    listed: host.byRequest ? snapshot.requestHosts : undefined,
    ownsCredential: !host.byRequest,
    prices: integrationPrices(provider, record),
  };
  return {
    ...makeUpstream(snapshot, parts),
    modelHosts: host.customHost === undefined ? modelHosts(snapshot, record, parts) : undefined,
  };
}

function modelHosts(
  snapshot: ActiveSnapshot,
  record: IntegrationRecord,
  parts: UpstreamParts,
): ReadonlyMap<string, Upstream> | undefined {
  const own = record.models.filter((model) => model.custom_host !== undefined);
  if (own.length === 0) return undefined;
  return new Map(own.map((model) => [model.slug, makeUpstream(snapshot, { ...parts, customHost: model.custom_host })]));
}

function unknownSlug(snapshot: ActiveSnapshot, namespace: string, slug: string): GatewayError {
  const refusal = snapshot.refusal('Integration', namespace, slug);
  if (refusal !== undefined)
    return new GatewayError('config_refused', `The Integration "${slug}" was refused: ${refusal}`);
  return new GatewayError(
    'unknown_slug',
    `There is no Integration "${slug}" in the workspace ${namespace}, nor one that is shared with it.`,
  );
}

function assertCredential(record: IntegrationRecord, stored: Readonly<Record<string, unknown>>): void {
  const missing = record.credential_fields.filter((field) => stored[field] === undefined);
  if (missing.length > 0)
    throw new GatewayError(
      'credential_unavailable',
      `The Integration ${record.name} has no value for ${missing.join(', ')}: its Secret is missing.`,
    );
}

function modelRule(record: IntegrationRecord): ((model: string) => boolean) | undefined {
  const disabled = new Set(record.models.filter((model) => !model.enabled).map((model) => model.slug));
  if (record.allow_all_models) return disabled.size === 0 ? undefined : (model) => !disabled.has(model);
  const enabled = new Set(record.models.filter((model) => model.enabled).map((model) => model.slug));
  return (model) => enabled.has(model);
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

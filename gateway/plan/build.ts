/** Config object -> plan. Faults of one target stay with that target, so that the others go on serving. */
import { parseQuery } from '#crds/config/query.ts';
import { type Config, CREDENTIAL_FIELDS } from '#crds/config/schema.ts';
import { GatewayError } from '../errors.ts';
import { inheritGuards, NO_NODE_GUARDS, type NodeGuards, sidesOf, withoutInput } from '../guardrails/node-guards.ts';
import type { Credentials } from '../providers/provider.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { compileQuery } from '../route/condition.ts';
import { compileStickyKey } from '../route/sticky.ts';
import type { ActiveSnapshot } from '../snapshot/active-snapshot.ts';
import { integrationUpstream } from './integration-upstream.ts';
import type { Branch, Facts, Plan, PlanNode, Settings, Target, Upstream } from './plan.ts';
import { planCache } from './plan-cache.ts';
import { DEFAULT_SETTINGS, inheritSettings } from './settings.ts';
import { makeUpstream } from './upstream.ts';

export interface PlanOrigin {
  /** `namespace/name`, `inline` or `direct`. */
  readonly name: string;
  /** Whose integrations the config's slugs name. */
  readonly namespace: string;
  /** Stored credential fields of the target at a path; undefined where the config holds its own (inline). */
  readonly credentialsAt: ((path: string) => Credentials | undefined) | undefined;
}

export function buildPlan(snapshot: ActiveSnapshot, config: Config, origin: PlanOrigin): Plan {
  const own = inherit(snapshot, origin, NOTHING, config);
  const root = buildNode(snapshot, config, origin, 'config', { ...own, guards: withoutInput(own.guards) });
  const { input: inputGuards } = sidesOf(own.guards);
  const { prompt_id: reference } = config;
  const prompt = reference === undefined ? undefined : { reference, namespace: origin.namespace };
  const cache = planCache(config, root);
  return {
    name: origin.name,
    root,
    cache,
    isCapped: isCapped(root),
    prompt,
    inputGuards,
    isGuarded: inputGuards.length > 0 || isGuarded(root),
  };
}

function isCapped(node: PlanNode): boolean {
  return node.kind === 'target' ? node.settings.concurrency !== undefined : node.children.some(isCapped);
}

function isGuarded(node: PlanNode): boolean {
  if (node.kind === 'branch') return node.children.some(isGuarded);
  return node.guards.input.length + node.guards.output.length > 0;
}

/** What holds at a node, inherited or its own. */
interface Inherited {
  readonly settings: Settings;
  readonly guards: NodeGuards;
}

const NOTHING: Inherited = { settings: DEFAULT_SETTINGS, guards: NO_NODE_GUARDS };

function inherit(snapshot: ActiveSnapshot, origin: PlanOrigin, parent: Inherited, config: Config): Inherited {
  const { namespace, credentialsAt } = origin;
  const source = { guards: snapshot.guards, namespace, byRequest: credentialsAt === undefined };
  return {
    settings: inheritSettings(parent.settings, config),
    guards: inheritGuards(parent.guards, config, source),
  };
}

function buildNode(
  snapshot: ActiveSnapshot,
  config: Config,
  origin: PlanOrigin,
  path: string,
  own: Inherited,
): PlanNode {
  const targets = config.targets ?? [];
  if (targets.length === 0) return buildTarget(snapshot, config, origin, path, own);
  const children = targets.map((target, index) =>
    buildNode(snapshot, target, origin, `${path}.targets[${index}]`, inherit(snapshot, origin, own, target)),
  );
  return {
    kind: 'branch',
    path,
    name: config.name,
    weight: config.weight ?? 1,
    children,
    ...branchRule(config, children),
  };
}

type BranchRule = Pick<Branch, 'mode' | 'fallbackCodes' | 'choose' | 'stickyKey' | 'stickyTtlMs'>;

function branchRule(config: Config, children: readonly PlanNode[]): BranchRule {
  const { strategy } = config;
  const codes = strategy?.on_status_codes ?? config.on_status_codes;
  const sticky = strategy?.sticky?.enabled === true ? strategy.sticky : undefined;
  return {
    mode: strategy?.mode ?? 'single',
    fallbackCodes: codes === undefined ? undefined : new Set(codes),
    choose: strategy?.mode === 'conditional' ? chooser(strategy, children) : undefined,
    stickyKey: sticky === undefined ? undefined : compileStickyKey(sticky.hash_fields),
    stickyTtlMs: sticky?.ttl === undefined ? undefined : sticky.ttl * 1000,
  };
}

function chooser(strategy: NonNullable<Config['strategy']>, children: readonly PlanNode[]): (facts: Facts) => number {
  const indexOf = (name: string | undefined): number => children.findIndex((child) => child.name === name);
  const rules = (strategy.conditions ?? []).map((condition) => ({
    holds: compileQuery(parseQuery(condition.query)),
    index: indexOf(condition.then),
  }));
  const fallback = indexOf(strategy.default);
  return (facts) => rules.find((rule) => rule.holds(facts))?.index ?? fallback;
}

function buildTarget(
  snapshot: ActiveSnapshot,
  config: Config,
  origin: PlanOrigin,
  path: string,
  { settings, guards }: Inherited,
): Target {
  return {
    kind: 'target',
    path,
    name: config.name,
    weight: config.weight ?? 1,
    settings,
    guards: sidesOf(guards),
    upstream: chosenUpstream(snapshot, config, origin, path, settings),
    config,
    breakerKey: `${origin.name} ${path}`,
  };
}

function chosenUpstream(
  snapshot: ActiveSnapshot,
  config: Config,
  origin: PlanOrigin,
  path: string,
  settings: Settings,
): Target['upstream'] {
  try {
    return configUpstream(snapshot, config, origin, path, settings) ?? 'request';
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** undefined: the config leaves it to the request. */
function configUpstream(
  snapshot: ActiveSnapshot,
  config: Config,
  origin: PlanOrigin,
  path: string,
  settings: Settings,
): Upstream | undefined {
  const slug = config.provider?.startsWith('@') ? config.provider.slice(1) : config.virtual_key;
  if (slug !== undefined) return integrationUpstream(snapshot, origin.namespace, slug, requestHost(origin, settings));
  if (config.provider === undefined) return undefined;
  const provider = PROVIDERS.get(config.provider);
  if (provider === undefined)
    throw new GatewayError('unknown_provider', `The provider "${config.provider}" is not in the catalogue.`, {
      param: 'provider',
    });
  const credentials =
    origin.credentialsAt === undefined ? ownFields(config) : { ...ownFields(config), ...origin.credentialsAt(path) };
  return makeUpstream(snapshot, {
    provider,
    customHost: settings.customHost,
    credentials,
    integration: undefined,
    allowsModel: undefined,
    listed: origin.credentialsAt === undefined && settings.customHost !== undefined ? snapshot.requestHosts : undefined,
    ownsCredential: origin.credentialsAt !== undefined,
  });
}

/** A host of an inline config is the request's word; one of a GatewayConfig is the administrator's. */
function requestHost(origin: PlanOrigin, settings: Settings): { customHost: string | undefined; byRequest: boolean } {
  return {
    customHost: settings.customHost,
    byRequest: origin.credentialsAt === undefined && settings.customHost !== undefined,
  };
}

const ADDRESSING = [
  'vendor_organization',
  'vendor_project',
  'api_version',
  'deployment_id',
  'resource_name',
  'cloud1_region',
  'cloud2_project_id',
  'cloud2_region',
] as const;

function ownFields(config: Config): Credentials {
  const fields: Record<string, unknown> = {};
  for (const field of [...CREDENTIAL_FIELDS, ...ADDRESSING]) {
    const value = (config as Record<string, unknown>)[field];
    if (value !== undefined) fields[field] = value;
  }
  return fields;
}

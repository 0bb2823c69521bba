/** Limits of policies, and of keys, Integrations and workspaces -> their records. */

import { type Condition, listed } from '#crds/limits/conditions.ts';
import type { Reset } from '#crds/limits/period.ts';
import type { RateLimit } from '#crds/limits/rate-limit.ts';
import type { UsageLimit } from '#crds/limits/usage-limit.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import type { RateLimitRecord, Snapshot, UsageLimitRecord, WorkspaceRecord } from '#crds/snapshot/contract.ts';
import type { Manifest } from '../world.ts';
import type {
  ApiKeyObject,
  IntegrationObject,
  RateLimitPolicyObject,
  UsageLimitPolicyObject,
  WorkspaceObject,
} from './check.ts';

export type LimitRecords = Pick<Snapshot, 'rate_limits' | 'usage_limits'>;

/** What all limits of one object have in common. */
interface Scope {
  readonly manifest: Manifest;
  readonly kind: RateLimitRecord['kind'];
  readonly workspace: string;
  readonly conditions: RateLimitRecord['conditions'];
  readonly groupBy: readonly string[];
}

/** Limits of equal objects are equal objects. */
const known = new WeakMap<object, LimitRecords>();

function remembered(object: object, make: () => LimitRecords): LimitRecords {
  const records = known.get(object) ?? make();
  known.set(object, records);
  return records;
}

/** In the organisation namespace a policy is about all workspaces, elsewhere about its own. */
function workspaceOf({ namespace }: Manifest, organisationNamespace: string): string {
  return namespace === organisationNamespace ? '*' : namespace;
}

export function compileRateLimitPolicy(object: RateLimitPolicyObject, organisationNamespace: string): LimitRecords {
  return remembered(object, () => {
    const { spec, manifest } = object;
    if (spec.status === 'archived') return { rate_limits: [], usage_limits: [] };
    const scope = policyScope(manifest, 'RateLimitPolicy', spec.conditions, spec.group_by, organisationNamespace);
    return { rate_limits: [rateLimitRecord(scope, '', spec, spec.name)], usage_limits: [] };
  });
}

export function compileUsageLimitPolicy(object: UsageLimitPolicyObject, organisationNamespace: string): LimitRecords {
  return remembered(object, () => {
    const { spec, manifest } = object;
    if (spec.status === 'archived') return { rate_limits: [], usage_limits: [] };
    const scope = policyScope(manifest, 'UsageLimitPolicy', spec.conditions, spec.group_by, organisationNamespace);
    return { rate_limits: [], usage_limits: [usageLimitRecord(scope, '', spec, spec.name)] };
  });
}

function policyScope(
  manifest: Manifest,
  kind: Scope['kind'],
  conditions: readonly Condition[],
  groupBy: readonly { readonly key: string }[],
  organisationNamespace: string,
): Scope {
  return {
    manifest,
    kind,
    workspace: workspaceOf(manifest, organisationNamespace),
    conditions: conditions.map(({ key, value, excludes }) => ({
      key,
      values: [...listed(value)],
      excludes: [...listed(excludes)],
    })),
    groupBy: groupBy.map(({ key }) => key),
  };
}

/** `rate_limits` and `usage_limits` of a key: about its requests alone, wherever an organisation key makes them. */
export function limitsOfKey(object: ApiKeyObject): LimitRecords {
  const { manifest } = object;
  return ownLimits(object, {
    manifest,
    kind: 'ApiKey',
    workspace: manifest.namespace,
    ...about('api_key', manifest.name),
  });
}

/** About all requests that go to the Integration, whoever makes them. */
export function limitsOfIntegration(object: IntegrationObject): LimitRecords {
  const { manifest } = object;
  const id = `${manifest.namespace}/${manifest.name}`;
  return ownLimits(object, { manifest, kind: 'Integration', workspace: '*', ...about('virtual_key', id) });
}

/** About all requests of the namespace that the Workspace is called after. */
export function compileWorkspace(object: WorkspaceObject): LimitRecords & { readonly record: WorkspaceRecord } {
  const { manifest, spec } = object;
  const { namespace, name } = manifest;
  const scope: Scope = { manifest, kind: 'Workspace', workspace: name, conditions: [], groupBy: [] };
  return { ...ownLimits(object, scope), record: { namespace, name, ...spec.defaults, ...cacheEpoch(manifest) } };
}

/** A workspace that was made anew begins with nothing, and so does one whose cache was purged. */
function cacheEpoch({ uid, raw }: Manifest): Pick<WorkspaceRecord, 'cache_epoch'> {
  const { annotations = {} } = (raw.metadata ?? {}) as { annotations?: Record<string, string> };
  const words = [uid, annotations[ANNOTATIONS.purgeCache]].filter((word) => word !== undefined);
  return words.length === 0 ? {} : { cache_epoch: words.join(' ') };
}

function about(key: string, value: string): Pick<Scope, 'conditions' | 'groupBy'> {
  return { conditions: [{ key, values: [value], excludes: [] }], groupBy: [] };
}

type Owner = ApiKeyObject | IntegrationObject | WorkspaceObject;

function ownLimits(object: Owner, scope: Scope): LimitRecords {
  const { rate_limits: rates, usage_limits: usages } = object.spec;
  if (rates === undefined && usages === undefined) return { rate_limits: [], usage_limits: [] };
  return remembered(object, () => ({
    rate_limits: listed<RateLimit>(rates).map((limit, index) => rateLimitRecord(scope, `rate_limits[${index}]`, limit)),
    usage_limits: listed<UsageLimit>(usages).map((limit, index) =>
      usageLimitRecord(scope, `usage_limits[${index}]`, limit),
    ),
  }));
}

function limitedFields(scope: Scope, path: string, type: string, name: string | undefined) {
  const { manifest, kind, workspace, conditions, groupBy } = scope;
  const { namespace, name: objectName, uid } = manifest;
  const own = `${kind} ${namespace}/${objectName}`;
  return {
    kind,
    namespace,
    name: objectName,
    path,
    // What is counted is part of it: tokens that were counted are no dollars.
    id: [uid ?? own, path, type].filter((part) => part !== '').join(' '),
    label: name ?? `${kind} ${objectName}`,
    workspace,
    conditions,
    group_by: [...groupBy],
  };
}

function rateLimitRecord(scope: Scope, path: string, { type, unit, value }: RateLimit, name?: string): RateLimitRecord {
  return { ...limitedFields(scope, path, type, name), type, unit, value };
}

function usageLimitRecord(scope: Scope, path: string, limit: UsageLimit, name?: string): UsageLimitRecord {
  return {
    ...limitedFields(scope, path, limit.type, name),
    type: limit.type,
    credit_limit: limit.credit_limit,
    ...(limit.alert_threshold === undefined ? {} : { alert_threshold: limit.alert_threshold }),
    reset: resetOf(limit, createdAtOf(scope.manifest)),
    on_unavailable: limit.on_unavailable,
    ...resetTokens(scope.manifest),
  };
}

/** `createdAt` of its object, RFC 3339; undefined: nobody knows. */
export function resetOf(limit: UsageLimit, createdAt: string | undefined): Reset {
  if (limit.periodic_reset !== undefined) return { every: limit.periodic_reset };
  if (limit.periodic_reset_days === undefined) return { every: 'never' };
  return { every: 'days', days: limit.periodic_reset_days, anchor_ms: anchorOf(limit, createdAt) };
}

/** Periods of days begin with the day of the object's creation; in a directory, where no day is known, with the Unix epoch. */
function anchorOf({ next_usage_reset_at: next }: UsageLimit, createdAt: string | undefined): number {
  const anchor = Date.parse(next ?? createdAt ?? '');
  return Number.isNaN(anchor) ? 0 : anchor;
}

function createdAtOf({ raw }: Manifest): string | undefined {
  return ((raw.metadata ?? {}) as { creationTimestamp?: string }).creationTimestamp;
}

/** A reset by hand is a new word in an annotation: whoever compiles it finds the same counts. */
function resetTokens({ raw }: Manifest): Pick<UsageLimitRecord, 'reset_token' | 'group_reset_tokens'> {
  const { annotations = {} } = (raw.metadata ?? {}) as { annotations?: Record<string, string> };
  const groups: Record<string, string> = {};
  const prefix = `${ANNOTATIONS.resetUsage}.`;
  for (const [name, value] of Object.entries(annotations)) {
    if (name.startsWith(prefix)) groups[name.slice(prefix.length)] = value;
  }
  return { reset_token: annotations[ANNOTATIONS.resetUsage] ?? '', group_reset_tokens: groups };
}

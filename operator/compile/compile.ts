/**
 * The whole world -> what gateways are told, what is said of each object, and which Secrets must be made. Pure, and recomputed
 * on any change: nothing depends on what happened in between.
 */
import type { CredentialRecord, RefusedRecord, Snapshot } from '#crds/snapshot/contract.ts';
import { identityOf, type Manifest, type World } from '../world.ts';
import { compileKey, type LackingSecret } from './api-key.ts';
import type { AcceptedObject } from './check.ts';
import { type Candidate, compareNames, elect, type LastGood } from './elect.ts';
import { compileConfig } from './gateway-config.ts';
import { compileIntegration } from './integration.ts';
import {
  compileRateLimitPolicy,
  compileUsageLimitPolicy,
  compileWorkspace,
  type LimitRecords,
  limitsOfIntegration,
  limitsOfKey,
} from './limits.ts';
import { type Lookup, lookupIn } from './lookup.ts';
import type { Catalog } from './providers.ts';
import { electSecrets } from './secrets.ts';
import { type ObjectStatus, statusOf, type Verdict } from './status.ts';

export interface CompileTools {
  readonly catalog: Catalog;
}

export interface Compiled {
  /** Records in order of namespace and name; equal worlds give equal snapshots. */
  readonly snapshot: Snapshot;
  /** One per manifest and per refused Secret, in order of the world. */
  readonly statuses: readonly ObjectStatus[];
  /** Secrets that do not exist and must, each for a new key. An ApiKey has no record before its Secret is there. */
  readonly lacking: readonly LackingSecret[];
  /** For the next call. */
  readonly lastGood: LastGood;
}

/** What one object contributes. */
interface Contribution {
  readonly candidate: Candidate;
  readonly refused: Verdict | undefined;
  readonly unresolved: readonly Verdict[];
  readonly warnings: readonly Verdict[];
}

type Draft = Omit<Snapshot, 'settings' | 'refused'> & {
  readonly generate: Map<string, LackingSecret>;
  /** Who has a key, by its digest. */
  readonly keyOwners: Map<string, Owner>;
};

interface Owner {
  readonly namespace: string;
  readonly name: string;
}

/** A bad object is refused alone: its last good version stays in the snapshot, and every other record is as it was. */
export function compile(world: World, previous: LastGood, tools: CompileTools): Compiled {
  const { organisationNamespace } = world.settings;
  const { catalog } = tools;
  const { candidates, duplicates } = elect(world.manifests, previous, { catalog, organisationNamespace });
  const { secrets, statuses: secretStatuses } = electSecrets(world.secrets);
  const lookup = lookupIn(candidates, secrets, organisationNamespace);
  const draft: Draft = {
    configs: [],
    integrations: [],
    credentials: [],
    keys: [],
    rate_limits: [],
    usage_limits: [],
    workspaces: [],
    generate: new Map(),
    keyOwners: new Map(),
  };
  const inOrder = [...candidates].sort((a, b) => compareNames(a.manifest, b.manifest));
  const contributions = inOrder.map((candidate) =>
    contribute(candidate, draft, { lookup, catalog, organisationNamespace }),
  );
  const statuses = new Map(
    contributions.map((contribution) => [contribution.candidate.manifest, contributionStatus(contribution)]),
  );
  for (const { manifest, refused } of duplicates) statuses.set(manifest, duplicateStatus(manifest, refused));
  return {
    snapshot: snapshotOf(world, draft, contributions),
    statuses: [...world.manifests.flatMap((manifest) => statuses.get(manifest) ?? []), ...secretStatuses],
    lacking: [...draft.generate.values()],
    lastGood: lastGoodOf(contributions, previous),
  };
}

/** What the others say of an object's surroundings. */
interface Surroundings {
  readonly lookup: Lookup;
  readonly catalog: Catalog;
  readonly organisationNamespace: string;
}

function contribute(candidate: Candidate, draft: Draft, around: Surroundings): Contribution {
  const { object, refused } = candidate;
  const nothing: Contribution = { candidate, refused, unresolved: [], warnings: [] };
  if (object === undefined) return nothing;
  const added = ADD[object.kind](object as never, draft, around);
  return {
    candidate: added.isServed === false ? { ...candidate, served: 'none' } : candidate,
    refused: refused ?? added.refused,
    unresolved: added.unresolved,
    warnings: added.warnings === undefined ? object.warnings : [...object.warnings, ...added.warnings],
  };
}

interface Added {
  /** false: it added no record. */
  readonly isServed?: boolean;
  readonly unresolved: readonly Verdict[];
  readonly warnings?: readonly Verdict[];
  readonly refused?: Verdict | undefined;
}

type Add<K extends AcceptedObject['kind']> = (
  object: Extract<AcceptedObject, { kind: K }>,
  draft: Draft,
  around: Surroundings,
) => Added;

/** A kind is one row. */
const ADD: { readonly [K in AcceptedObject['kind']]: Add<K> } = {
  GatewayConfig: (object, draft, { lookup }) => {
    const compiled = compileConfig(object, lookup);
    draft.configs.push(compiled.record);
    draft.credentials.push(...compiled.credentials);
    return compiled;
  },
  Integration: (object, draft, { lookup, catalog }) => {
    const { record, credential, unresolved } = compileIntegration(object, lookup, catalog);
    draft.integrations.push(record);
    if (credential !== undefined) draft.credentials.push(credential);
    addLimits(draft, limitsOfIntegration(object));
    return { unresolved };
  },
  ApiKey: (object, draft, { lookup }) => {
    const { record, refused, unresolved, generate } = compileKey(object, lookup);
    if (generate !== undefined) draft.generate.set(`${generate.namespace}/${generate.name}`, generate);
    if (record === undefined) return { unresolved, refused, isServed: false };
    const owner = draft.keyOwners.get(record.digest);
    if (owner !== undefined) return { unresolved, refused: sameKey(object.manifest, owner), isServed: false };
    draft.keyOwners.set(record.digest, record);
    draft.keys.push(record);
    addLimits(draft, limitsOfKey(object));
    return { unresolved };
  },
  RateLimitPolicy: (object, draft, { organisationNamespace }) => {
    addLimits(draft, compileRateLimitPolicy(object, organisationNamespace));
    return { unresolved: [] };
  },
  UsageLimitPolicy: (object, draft, { organisationNamespace }) => {
    addLimits(draft, compileUsageLimitPolicy(object, organisationNamespace));
    return { unresolved: [] };
  },
  Workspace: (object, draft) => {
    const compiled = compileWorkspace(object);
    draft.workspaces.push(compiled.record);
    addLimits(draft, compiled);
    return { unresolved: [] };
  },
};

function addLimits(draft: Draft, limits: LimitRecords): void {
  draft.rate_limits.push(...limits.rate_limits);
  draft.usage_limits.push(...limits.usage_limits);
}

/** Of an object in another namespace, not even the name is told. */
function sameKey(manifest: Manifest, owner: Owner): Verdict {
  const other =
    owner.namespace === manifest.namespace
      ? `ApiKey ${owner.namespace}/${owner.name}`
      : 'an ApiKey of another namespace';
  return {
    reason: 'DuplicateKey',
    message: `spec.secret_name: its Secret holds the key of ${other}: every ApiKey needs its own`,
  };
}

function contributionStatus({ candidate, refused, unresolved, warnings }: Contribution): ObjectStatus {
  return statusOf(candidate.manifest, { refused, unresolved, warnings, served: candidate.served, isDuplicate: false });
}

function duplicateStatus(manifest: Manifest, refused: Verdict): ObjectStatus {
  return statusOf(manifest, { refused, unresolved: [], warnings: [], served: 'none', isDuplicate: true });
}

function snapshotOf(world: World, draft: Draft, contributions: readonly Contribution[]): Snapshot {
  const { generate: _generate, keyOwners: _keyOwners, credentials, ...records } = draft;
  return {
    ...records,
    settings: {
      organisation_namespace: world.settings.organisationNamespace,
      request_hosts: [...world.settings.requestHosts],
    },
    credentials: credentials.sort(compareCredentials),
    refused: contributions.filter(({ refused: reason }) => reason !== undefined).flatMap(refusedRecord),
  };
}

function refusedRecord({ candidate, refused }: Contribution): RefusedRecord[] {
  const wasAccepted = candidate.refused !== undefined && candidate.object !== undefined;
  if (refused === undefined || candidate.served !== 'none' || wasAccepted) return [];
  const { kind, namespace, name } = candidate.manifest;
  return [{ kind, namespace, name, reason: refused.reason, message: refused.message }];
}

function compareCredentials(a: CredentialRecord, b: CredentialRecord): number {
  return a.kind === b.kind ? compareNames(a, b) : a.kind < b.kind ? -1 : 1;
}

/** What is gone is forgotten, so that an object made anew starts anew. */
function lastGoodOf(contributions: readonly Contribution[], previous: LastGood): LastGood {
  const next = new Map<string, Manifest>();
  for (const { candidate, refused } of contributions) {
    const identity = identityOf(candidate.manifest);
    const good = refused === undefined ? candidate.manifest : previous.get(identity);
    if (good !== undefined && good.uid === candidate.manifest.uid) next.set(identity, good);
  }
  return next;
}

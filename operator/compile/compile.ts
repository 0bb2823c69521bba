/**
 * The whole world -> what gateways are told, what is said of each object, and which Secrets must be made. Pure, and recomputed
 * on any change: nothing depends on what happened in between.
 */
import { DEFAULT_KEY_PREFIX } from '#crds/keys/key-form.ts';
import type { CredentialRecord, RefusedRecord, Snapshot } from '#crds/snapshot/contract.ts';
import type { IssuedKey } from '../keys/rotation-step.ts';
import type { GeneratedObject } from '../source/source.ts';
import { identityOf, type Manifest, type World } from '../world.ts';
import { compileKey, type LackingSecret } from './api-key.ts';
import type { AcceptedObject, ApiKeyObject } from './check.ts';
import { type Candidate, compareNames, elect, type LastGood } from './elect.ts';
import { compileConfig, type EmbeddingWord } from './gateway-config.ts';
import { compileGuardrail, missingDefaults } from './guardrail.ts';
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
import { PromptDesk, type UnmarkedVersion } from './prompt-desk.ts';
import type { VersionedObject } from './prompt-history.ts';
import { compilePrompt, orphanWarning } from './prompts.ts';
import type { Catalog } from './providers.ts';
import { electSecrets } from './secrets.ts';
import { type ObjectStatus, type StatusFields, statusOf, type Verdict } from './status.ts';
import { enforceOnKeys, type RulesOf, userKeyRules } from './user-keys.ts';

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
  /** Keys that this program made, and that are served. */
  readonly issued: readonly IssuedKey[];
  /** Versions of prompts that do not exist and must, and those that must say what an edit makes of them. */
  readonly versions: { readonly lacking: readonly GeneratedObject[]; readonly unmarked: readonly UnmarkedVersion[] };
  /** For the next call. */
  readonly lastGood: LastGood;
}

/** What one object contributes. */
interface Contribution {
  readonly candidate: Candidate;
  readonly refused: Verdict | undefined;
  readonly unresolved: readonly Verdict[];
  readonly warnings: readonly Verdict[];
  readonly fields: StatusFields | undefined;
}

type Draft = Omit<Snapshot, 'settings' | 'refused'> & {
  readonly generate: Map<string, LackingSecret>;
  readonly issued: IssuedKey[];
  readonly versions: { readonly lacking: GeneratedObject[]; readonly unmarked: UnmarkedVersion[] };
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
  const context = { catalog, organisationNamespace };
  const { candidates: elected, duplicates } = elect(world.manifests, previous, context);
  const rulesOf = userKeyRules(elected, world.settings.userKeys ?? {});
  const candidates = enforceOnKeys(elected, rulesOf, previous, context);
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
    guardrails: [],
    prompts: [],
    prompt_versions: [],
    generate: new Map(),
    issued: [],
    versions: { lacking: [], unmarked: [] },
    keyOwners: new Map(),
  };
  const inOrder = [...candidates].sort((a, b) => compareNames(a.manifest, b.manifest));
  const { keyPrefix = DEFAULT_KEY_PREFIX } = world.settings;
  const prompts = new PromptDesk(candidates, organisationNamespace);
  const embedding = { model: world.settings.embeddingModel, organisationNamespace };
  const around: Surroundings = { embedding, lookup, catalog, organisationNamespace, rulesOf, keyPrefix, prompts };
  const contributions = inOrder.map((candidate) => contribute(candidate, draft, around));
  const statuses = new Map(
    contributions.map((contribution) => [contribution.candidate.manifest, contributionStatus(contribution)]),
  );
  for (const { manifest, refused } of duplicates) statuses.set(manifest, duplicateStatus(manifest, refused));
  return {
    snapshot: snapshotOf(world, draft, contributions),
    statuses: [...world.manifests.flatMap((manifest) => statuses.get(manifest) ?? []), ...secretStatuses],
    lacking: [...draft.generate.values()],
    issued: draft.issued,
    versions: draft.versions,
    lastGood: lastGoodOf(contributions, previous),
  };
}

/** What the others say of an object's surroundings. */
interface Surroundings {
  readonly lookup: Lookup;
  readonly catalog: Catalog;
  readonly organisationNamespace: string;
  readonly rulesOf: RulesOf;
  readonly keyPrefix: string;
  readonly prompts: PromptDesk;
  readonly embedding: EmbeddingWord;
}

function contribute(candidate: Candidate, draft: Draft, around: Surroundings): Contribution {
  const { object, refused } = candidate;
  const nothing: Contribution = { candidate, refused, unresolved: [], warnings: [], fields: undefined };
  if (object === undefined) return nothing;
  const added = ADD[object.kind](object as never, draft, around);
  return {
    candidate: added.served === undefined ? candidate : { ...candidate, served: added.served },
    refused: refused ?? added.refused,
    unresolved: added.unresolved,
    warnings: added.warnings === undefined ? object.warnings : [...object.warnings, ...added.warnings],
    fields: added.fields,
  };
}

interface Added {
  /** 'none': it added no record; 'last-good': those of an earlier version. Default: what was elected. */
  readonly served?: 'none' | 'last-good' | undefined;
  readonly unresolved: readonly Verdict[];
  readonly warnings?: readonly Verdict[];
  readonly refused?: Verdict | undefined;
  readonly fields?: StatusFields | undefined;
}

type Add<K extends AcceptedObject['kind']> = (
  object: Extract<AcceptedObject, { kind: K }>,
  draft: Draft,
  around: Surroundings,
) => Added;

/** A kind is one row. */
const ADD: { readonly [K in AcceptedObject['kind']]: Add<K> } = {
  GatewayConfig: (object, draft, { lookup, embedding }) => {
    const compiled = compileConfig(object, lookup, embedding);
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
  ApiKey: addKey,
  RateLimitPolicy: (object, draft, { organisationNamespace }) => {
    addLimits(draft, compileRateLimitPolicy(object, organisationNamespace));
    return { unresolved: [] };
  },
  UsageLimitPolicy: (object, draft, { organisationNamespace }) => {
    addLimits(draft, compileUsageLimitPolicy(object, organisationNamespace));
    return { unresolved: [] };
  },
  Guardrail: (object, draft) => {
    draft.guardrails.push(compileGuardrail(object));
    return { unresolved: [] };
  },
  Workspace: (object, draft, { lookup }) => {
    const compiled = compileWorkspace(object);
    draft.workspaces.push(compiled.record);
    addLimits(draft, compiled);
    return { unresolved: missingDefaults(object, lookup) };
  },
  Prompt: addPrompt,
  PromptPartial: addPrompt,
  PromptVersion: (object, _draft, { prompts }) =>
    prompts.has(object) ? { unresolved: [] } : { unresolved: [], warnings: [orphanWarning(object)], served: 'none' },
  // For the control plane alone.
  PromptGroup: () => ({ unresolved: [] }),
};

function addPrompt(object: VersionedObject, draft: Draft, { prompts, lookup }: Surroundings): Added {
  const { record, versions, lacking, unmarked, ...said } = compilePrompt(object, prompts, lookup);
  if (lacking !== undefined) draft.versions.lacking.push(lacking);
  if (unmarked !== undefined) draft.versions.unmarked.push(unmarked);
  if (record === undefined) return { ...said, served: 'none' };
  draft.prompts.push(record);
  draft.prompt_versions.push(...versions);
  return { ...said, served: lacking === undefined && said.refused === undefined ? undefined : 'last-good' };
}

function addKey(object: ApiKeyObject, draft: Draft, { lookup, rulesOf, keyPrefix }: Surroundings): Added {
  const { manifest } = object;
  const compiled = compileKey(object, { lookup, keyPrefix, rules: rulesOf(manifest.namespace) });
  const { records, refused, unresolved, warnings, generate, issued, fields } = compiled;
  if (generate !== undefined) draft.generate.set(`${generate.namespace}/${generate.name}`, generate);
  const [present] = records;
  if (present === undefined) return { unresolved, refused, served: 'none' };
  const owner = draft.keyOwners.get(present.digest);
  if (owner !== undefined) return { unresolved, refused: sameKey(manifest, owner), served: 'none' };
  // A key that another one has by now is not this one's any more.
  const own = records.filter(({ digest }) => !draft.keyOwners.has(digest));
  for (const record of own) draft.keyOwners.set(record.digest, record);
  draft.keys.push(...own);
  addLimits(draft, limitsOfKey(object));
  if (issued !== undefined && own.length === records.length) draft.issued.push(issued);
  return { unresolved, warnings, fields };
}

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

function contributionStatus({ candidate, ...said }: Contribution): ObjectStatus {
  return statusOf(candidate.manifest, { ...said, served: candidate.served, isDuplicate: false });
}

function duplicateStatus(manifest: Manifest, refused: Verdict): ObjectStatus {
  return statusOf(manifest, { refused, unresolved: [], warnings: [], served: 'none', isDuplicate: true });
}

function snapshotOf(world: World, draft: Draft, contributions: readonly Contribution[]): Snapshot {
  const {
    generate: _generate,
    issued: _issued,
    versions: _versions,
    keyOwners: _keyOwners,
    credentials,
    ...records
  } = draft;
  return {
    ...records,
    settings: {
      organisation_namespace: world.settings.organisationNamespace,
      request_hosts: [...world.settings.requestHosts],
      ...(world.settings.keyPrefix === undefined ? {} : { key_prefix: world.settings.keyPrefix }),
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
    // It never changes: there is no other version to fall back to.
    if (candidate.manifest.kind === 'PromptVersion') continue;
    const identity = identityOf(candidate.manifest);
    const good = refused === undefined ? candidate.manifest : previous.get(identity);
    if (good !== undefined && good.uid === candidate.manifest.uid) next.set(identity, good);
  }
  return next;
}

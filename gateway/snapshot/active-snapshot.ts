/** A snapshot made ready for requests. Immutable to its readers; plans are built when first asked for. */

import type { Config } from '#crds/config/schema.ts';
import { DEFAULT_KEY_PREFIX } from '#crds/keys/key-form.ts';
import { DEFAULT_SCOPE } from '#crds/kinds/scopes.ts';
import type {
  ConfigRecord,
  CredentialRecord,
  IntegrationRecord,
  KeyRecord,
  Snapshot,
} from '#crds/snapshot/contract.ts';
import type { Caller } from '../exchange.ts';
import { GuardBook, type MeansOf } from '../guardrails/guard-book.ts';
import { LimitBook } from '../limits/limit-book.ts';
import { buildPlan } from '../plan/build.ts';
import type { Plan } from '../plan/plan.ts';
import { PromptBook } from '../prompts/prompt-book.ts';
import type { ReadyPrompt } from '../prompts/ready-prompt.ts';
import { PROVIDERS } from '../providers/registry.ts';

export interface KnownKey {
  readonly digest: Buffer;
  readonly caller: Caller;
  readonly record: KeyRecord;
  readonly scopes: ReadonlySet<string>;
  readonly use: KeyUse;
}

/** When an ApiKey was used last, by whichever of its keys. Outlives snapshots. */
export interface KeyUse {
  readonly namespace: string;
  readonly name: string;
  /** Unix milliseconds; 0: not since this gateway began. */
  last_used_at_ms: number;
}

const DEFAULT_SCOPES: ReadonlySet<string> = new Set([DEFAULT_SCOPE]);

interface Shareable {
  readonly namespace: string;
  readonly name: string;
  readonly shared_with: '*' | string[];
}

export class ActiveSnapshot {
  readonly generation: number;
  readonly hash: string;
  readonly loadedAt = new Date();
  readonly source: Snapshot;
  /** Where the built-in provider listens. */
  readonly simulatorOrigin: string;
  /** Origins that a request may name as custom host. */
  readonly requestHosts: ReadonlySet<string>;
  readonly limits: LimitBook;
  readonly guards: GuardBook;
  readonly prompts: PromptBook;
  /** What issued keys begin with. */
  readonly keyPrefix: string;
  private readonly keys = new Map<string, KnownKey>();
  /** By `namespace/name`. */
  private readonly uses = new Map<string, KeyUse>();
  private readonly workspaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  private readonly cacheEpochs: ReadonlyMap<string, string>;
  private readonly configs: ReadonlyMap<string, ConfigRecord>;
  private readonly integrations: ReadonlyMap<string, IntegrationRecord>;
  private readonly credentials: ReadonlyMap<string, CredentialRecord>;
  private readonly refused: ReadonlyMap<string, string>;
  private readonly defaults: ReadonlyMap<string, ConfigRecord>;
  private readonly plans = new Map<ConfigRecord | ReadyPrompt, Plan>();

  /**
   * `former`: what was served before, whose keys' uses go on. Throws an Error naming the object when the snapshot refers to a
   * provider or a check that this version does not know.
   */
  constructor(
    source: Snapshot,
    generation: number,
    hash: string,
    simulatorOrigin: string,
    meansOf: MeansOf,
    former?: ActiveSnapshot,
  ) {
    this.simulatorOrigin = simulatorOrigin;
    this.source = source;
    this.generation = generation;
    this.hash = hash;
    this.requestHosts = new Set(source.settings.request_hosts);
    this.keyPrefix = source.settings.key_prefix ?? DEFAULT_KEY_PREFIX;
    for (const record of source.keys) this.keys.set(record.digest, knownKey(record, this.useOf(record, former)));
    this.limits = new LimitBook(source);
    this.guards = new GuardBook(source, meansOf);
    this.prompts = new PromptBook(source, (...asked) => this.refusal(...asked));
    this.workspaces = new Map(source.workspaces.map(({ name, metadata }) => [name, metadata]));
    this.cacheEpochs = new Map(source.workspaces.map(({ name, cache_epoch: epoch = '' }) => [name, epoch]));
    this.configs = byOwner(source.configs);
    this.integrations = byOwner(source.integrations);
    this.credentials = new Map(
      source.credentials.map((record) => [
        credentialKey(record.kind, record.namespace, record.name, record.path),
        record,
      ]),
    );
    this.refused = new Map(
      source.refused.map((record) => [`${record.kind} ${record.namespace}/${record.name}`, record.message]),
    );
    this.defaults = new Map(
      source.configs.filter((record) => record.is_default).map((record) => [record.namespace, record]),
    );
    assertProvidersKnown(source);
  }

  /** `digest` as lower-case hex. */
  key(digest: string): KnownKey | undefined {
    return this.keys.get(digest);
  }

  /** Of the keys that were used since this gateway began. */
  *lastUsed(): Generator<Readonly<KeyUse>> {
    for (const use of this.uses.values()) if (use.last_used_at_ms > 0) yield use;
  }

  /** What tells answers that may still be given to a namespace from those that may not; '' while nobody has said a word. */
  cacheEpoch(namespace: string): string {
    return this.cacheEpochs.get(namespace) ?? '';
  }

  /** Namespaces whose answers of before may not be given any more. */
  *purgedSince(former: ActiveSnapshot): Generator<string> {
    for (const [namespace, epoch] of this.cacheEpochs) if (epoch !== former.cacheEpoch(namespace)) yield namespace;
  }

  /** What holds for every request of a namespace. */
  workspaceMetadata(namespace: string): Readonly<Record<string, string>> | undefined {
    return this.workspaces.get(namespace);
  }

  config(namespace: string, name: string): ConfigRecord | undefined {
    return this.visible(this.configs, namespace, name);
  }

  defaultConfig(namespace: string): ConfigRecord | undefined {
    return this.defaults.get(namespace);
  }

  integration(namespace: string, name: string): IntegrationRecord | undefined {
    return this.visible(this.integrations, namespace, name);
  }

  /** Integrations that callers of `namespace` may use, their own first. */
  integrationsOf(namespace: string): IntegrationRecord[] {
    const own = this.source.integrations.filter((record) => record.namespace === namespace);
    const names = new Set(own.map((record) => record.name));
    const shared = this.source.integrations.filter(
      (record) =>
        !names.has(record.name) &&
        record.namespace === this.source.settings.organisation_namespace &&
        isShared(record, namespace),
    );
    return [...own, ...shared];
  }

  credential(
    kind: CredentialRecord['kind'],
    namespace: string,
    name: string,
    path: string,
  ): Readonly<Record<string, unknown>> | undefined {
    return this.credentials.get(credentialKey(kind, namespace, name, path))?.fields;
  }

  /** Why an object that was never accepted was refused. */
  refusal(kind: string, namespace: string, name: string): string | undefined {
    return this.refused.get(`${kind} ${namespace}/${name}`);
  }

  plan(record: ConfigRecord): Plan {
    let plan = this.plans.get(record);
    if (plan === undefined) {
      const credentialsAt = (path: string) => this.credential('GatewayConfig', record.namespace, record.name, path);
      plan = buildPlan(this, record.config, {
        name: `${record.namespace}/${record.name}`,
        namespace: record.namespace,
        credentialsAt,
      });
      this.plans.set(record, plan);
    }
    return plan;
  }

  /** Where a prompt goes that names an Integration: one that those of its own namespace may use. */
  promptPlan(prompt: ReadyPrompt): Plan {
    let plan = this.plans.get(prompt);
    if (plan === undefined) {
      const { namespace, name } = prompt.use;
      const origin = { name: `prompt ${namespace}/${name}`, namespace, credentialsAt: () => undefined };
      plan = buildPlan(this, { virtual_key: prompt.slug }, origin);
      this.plans.set(prompt, plan);
    }
    return plan;
  }

  /** Whether a breaker of the former snapshot still guards something: `namespace/name path`, or of an inline config. */
  knowsBreaker(key: string): boolean {
    const owner = key.slice(0, key.indexOf(' '));
    return owner === 'inline' || this.configs.has(owner);
  }

  /** A line per object in use, for the admin port. */
  *objects(): Generator<string> {
    for (const record of this.source.configs) yield `GatewayConfig ${record.namespace}/${record.name}`;
    for (const record of this.source.guardrails) yield `Guardrail ${record.namespace}/${record.name}`;
    for (const record of this.source.integrations) yield `Integration ${record.namespace}/${record.name}`;
    for (const { kind, namespace, name } of this.source.prompts) yield `${kind} ${namespace}/${name}`;
    for (const record of this.uses.values()) yield `ApiKey ${record.namespace}/${record.name}`;
  }

  private useOf({ namespace, name }: KeyRecord, former: ActiveSnapshot | undefined): KeyUse {
    const id = `${namespace}/${name}`;
    const use = this.uses.get(id) ?? former?.uses.get(id) ?? { namespace, name, last_used_at_ms: 0 };
    this.uses.set(id, use);
    return use;
  }

  private visible<T extends Shareable>(
    records: ReadonlyMap<string, T>,
    namespace: string,
    name: string,
  ): T | undefined {
    const own = records.get(`${namespace}/${name}`);
    if (own !== undefined) return own;
    const shared = records.get(`${this.source.settings.organisation_namespace}/${name}`);
    return shared !== undefined && isShared(shared, namespace) ? shared : undefined;
  }
}

function isShared(record: Shareable, namespace: string): boolean {
  return record.shared_with === '*' || record.shared_with.includes(namespace);
}

function byOwner<T extends Shareable>(records: readonly T[]): ReadonlyMap<string, T> {
  return new Map(records.map((record) => [`${record.namespace}/${record.name}`, record]));
}

function credentialKey(kind: string, namespace: string, name: string, path: string): string {
  return `${kind} ${namespace}/${name} ${path}`;
}

function knownKey(record: KeyRecord, use: KeyUse): KnownKey {
  return {
    digest: Buffer.from(record.digest, 'hex'),
    caller: { name: record.name, namespace: record.namespace, key: record },
    record,
    scopes: record.scopes === undefined ? DEFAULT_SCOPES : new Set(record.scopes),
    use,
  };
}

/** The operator refuses what its catalogue lacks: a name that is unknown here was accepted by a newer version. */
function assertProvidersKnown({ integrations, configs }: Snapshot): void {
  for (const record of integrations) assertKnown(record.provider, 'Integration', record);
  for (const record of configs) assertTargetsKnown(record.config, record);
}

function assertTargetsKnown(config: Config, record: ConfigRecord): void {
  const { provider, targets = [] } = config;
  if (provider?.startsWith('@') === false) assertKnown(provider, 'GatewayConfig', record);
  for (const target of targets) assertTargetsKnown(target, record);
}

function assertKnown(provider: string, kind: string, { namespace, name }: { namespace: string; name: string }): void {
  if (PROVIDERS.has(provider)) return;
  throw new Error(`${kind} ${namespace}/${name} names the provider "${provider}", which this gateway does not know`);
}

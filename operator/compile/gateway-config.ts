/** A GatewayConfig -> its record, its credentials apart, and what is missing. */
import type { EmbeddingModel } from '#crds/command/embedding-model.ts';
import { type Config, CREDENTIAL_FIELDS } from '#crds/config/schema.ts';
import { parseReference } from '#crds/prompts/reference.ts';
import type { ConfigRecord, CredentialRecord } from '#crds/snapshot/contract.ts';
import type { GatewayConfigObject } from './check.ts';
import { missingGuardrails } from './guardrail.ts';
import type { Lookup } from './lookup.ts';
import { type ConfigNode, nodesOf, specPath } from './providers.ts';
import type { Verdict } from './status.ts';

export interface CompiledConfig {
  readonly record: ConfigRecord;
  readonly credentials: readonly CredentialRecord[];
  readonly unresolved: readonly Verdict[];
  readonly warnings: readonly Verdict[];
}

/** What depends on the object alone. */
interface OwnPart extends Omit<CompiledConfig, 'unresolved'> {
  readonly nodes: readonly ConfigNode[];
}

const knownParts = new WeakMap<GatewayConfigObject, OwnPart>();

export function compileConfig(object: GatewayConfigObject, lookup: Lookup, embedding: EmbeddingWord): CompiledConfig {
  const own = knownParts.get(object) ?? ownPartOf(object);
  knownParts.set(object, own);
  const { namespace } = object.manifest;
  const unresolved = own.nodes.flatMap((node) => [
    ...missingIntegrations(node, namespace, lookup),
    ...missingGuardrails(node, namespace, lookup),
  ]);
  const warnings = [...own.warnings, ...semanticWarnings(own.nodes, embedding, lookup)];
  return { ...own, warnings, unresolved: [...unresolved, ...missingPrompt(object, lookup)] };
}

function ownPartOf(object: GatewayConfigObject): OwnPart {
  const { namespace, name } = object.manifest;
  const nodes = nodesOf(object.spec);
  const withCredentials = nodes.filter(({ config }) => plainFields(config).length > 0);
  return {
    nodes,
    record: {
      namespace,
      name,
      shared_with: object.sharedWith,
      is_default: object.isDefault,
      config: withoutCredentials(object.spec),
    },
    credentials: withCredentials.map(({ path, config }) => ({
      kind: 'GatewayConfig',
      namespace,
      name,
      path,
      fields: Object.fromEntries(plainFields(config).map((field) => [field, config[field]])),
    })),
    warnings: [...plainWarnings(withCredentials), ...streamWarnings(nodes), ...promptWarnings(nodes)],
  };
}

/** The installation's; undefined: it has none. */
export interface EmbeddingWord {
  readonly model: EmbeddingModel | undefined;
  readonly organisationNamespace: string;
}

/** Without somebody who says what texts mean, only equal requests are answered from the cache. */
function semanticWarnings(nodes: readonly ConfigNode[], embedding: EmbeddingWord, lookup: Lookup): readonly Verdict[] {
  const paths = nodes
    .filter(({ config }) => config.cache?.mode === 'semantic')
    .map((node) => specPath(node, 'cache.mode'));
  const why = paths.length === 0 ? undefined : notEmbedding(embedding, lookup);
  return why === undefined
    ? []
    : [{ reason: 'NoEffect', message: `${paths.join(', ')}: semantic is as simple here: ${why}` }];
}

function notEmbedding({ model, organisationNamespace }: EmbeddingWord, lookup: Lookup): string | undefined {
  if (model === undefined) return 'the installation names no --embedding-model';
  const missing = lookup.missing('Integration', organisationNamespace, model.slug);
  return missing && `--embedding-model: ${missing}`;
}

function plainFields(config: Config): (keyof Config)[] {
  return CREDENTIAL_FIELDS.filter((field) => config[field] !== undefined);
}

function withoutCredentials(config: Config): Config {
  const bare: Config = { ...config };
  for (const field of CREDENTIAL_FIELDS) delete bare[field];
  if (config.targets !== undefined) bare.targets = config.targets.map(withoutCredentials);
  return bare;
}

function missingIntegrations(node: ConfigNode, namespace: string, lookup: Lookup): readonly Verdict[] {
  const { provider, virtual_key: virtualKey } = node.config;
  const named: [string, string | undefined][] = [
    ['provider', provider?.startsWith('@') ? provider.slice(1) : undefined],
    ['virtual_key', virtualKey],
  ];
  return named.flatMap(([field, slug]) => {
    const missing = slug === undefined ? undefined : lookup.missing('Integration', namespace, slug);
    return missing === undefined ? [] : [{ reason: 'RefNotFound', message: `${specPath(node, field)}: ${missing}` }];
  });
}

/** A prompt that is named by its UID is looked for when it is asked for. */
const UID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

function missingPrompt({ manifest, spec }: GatewayConfigObject, lookup: Lookup): readonly Verdict[] {
  if (spec.prompt_id === undefined) return [];
  const { name } = parseReference(spec.prompt_id);
  const missing = UID.test(name) ? undefined : lookup.missing('Prompt', manifest.namespace, name);
  return missing === undefined ? [] : [{ reason: 'RefNotFound', message: `spec.prompt_id: ${missing}` }];
}

/** The request is filled in before a target is chosen. */
function promptWarnings([, ...targets]: readonly ConfigNode[]): readonly Verdict[] {
  const paths = targets
    .filter(({ config }) => config.prompt_id !== undefined)
    .map((node) => specPath(node, 'prompt_id'));
  const message = `${paths.join(', ')}: has no effect on a target; write it at the top of the config`;
  return paths.length === 0 ? [] : [{ reason: 'NoEffect', message }];
}

function plainWarnings(nodes: readonly ConfigNode[]): readonly Verdict[] {
  const paths = nodes.flatMap((node) => plainFields(node.config).map((field) => specPath(node, field)));
  const message = `${paths.join(', ')}: plain text that every reader of the object sees; an Integration takes it from a Secret`;
  return paths.length === 0 ? [] : [{ reason: 'PlainCredential', message }];
}

function streamWarnings(nodes: readonly ConfigNode[]): readonly Verdict[] {
  const paths = nodes
    .filter(({ config }) => config.override_params !== undefined && 'stream' in config.override_params)
    .map((node) => specPath(node, 'override_params.stream'));
  const message = `${paths.join(', ')}: has no effect; whether an answer is streamed is the caller's to say`;
  return paths.length === 0 ? [] : [{ reason: 'NoEffect', message }];
}

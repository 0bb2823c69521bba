/**
 * What the operator tells every gateway, and nothing else. Wire names are snake_case, as in the manifests. Credentials and
 * key digests are records of their own, so that they can travel in Secrets while the rest travels in ConfigMaps.
 */
import { feedbackSchema } from '../config/guardrails.ts';
import { configShape } from '../config/schema.ts';
import { z } from '../config/words.ts';
import { concurrency } from '../limits/concurrency.ts';
import { pricingAdjustments, pricingConfig } from '../limits/pricing.ts';
import { RATE_UNITS } from '../limits/rate-limit.ts';

/** The only format that this version writes and reads; a gateway refuses any other and keeps what it has. */
export const SNAPSHOT_FORMAT = 2;

const owner = { namespace: z.string(), name: z.string() };
/** Other workspaces that may use the object: all, or those named. An empty list: its own workspace alone. */
const sharedWith = z.union([z.literal('*'), z.array(z.string())]);

export const configRecord = z.strictObject({
  ...owner,
  shared_with: sharedWith,
  /** The default config of its workspace. */
  is_default: z.boolean(),
  /** The config object of the manifest without its credential fields (see `credentialRecord`). */
  config: configShape,
});

export const integrationRecord = z.strictObject({
  ...owner,
  shared_with: sharedWith,
  provider: z.string(),
  /** Config-object fields that are no secret. */
  configurations: z.record(z.string(), z.unknown()),
  /** Names of the credential fields that it needs; while one is absent, calls end in `credential_unavailable`. */
  credential_fields: z.array(z.string()),
  allow_all_models: z.boolean(),
  models: z.array(
    z.strictObject({
      slug: z.string(),
      enabled: z.boolean(),
      custom_host: z.string().optional(),
      pricing_config: pricingConfig.optional(),
    }),
  ),
  pricing_adjustments: pricingAdjustments.optional(),
  concurrency: concurrency.optional(),
});

/** Values of credential fields. `path` is '' for an Integration, else the place in the config, e.g. `config.targets[0]`. */
export const credentialRecord = z.strictObject({
  kind: z.enum(['Integration', 'GatewayConfig']),
  ...owner,
  path: z.string(),
  fields: z.record(z.string(), z.unknown()),
});

/** A key that is being replaced has several, alike but for slot, digest and end. */
export const keyRecord = z.strictObject({
  ...owner,
  /** Absent: the present key. */
  slot: z.enum(['next', 'previous']).optional(),
  /** SHA-256 of the key, lower-case hex. The plaintext is never here. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  type: z.enum(['organisation-service', 'workspace-service', 'workspace-user']),
  /** Absent: all inference. */
  scopes: z.array(z.string()).optional(),
  config_id: z.string().optional(),
  allow_config_override: z.boolean(),
  metadata: z.record(z.string(), z.string()),
  /** Unix milliseconds after which the key is refused. */
  expires_at_ms: z.number().int().optional(),
  disabled: z.boolean(),
  concurrency: concurrency.optional(),
});

/** Which requests a limit is about. */
const limited = {
  kind: z.enum(['RateLimitPolicy', 'UsageLimitPolicy', 'ApiKey', 'Integration', 'Workspace']),
  ...owner,
  /** '' for a policy, else the place in the object, e.g. `rate_limits[0]`. */
  path: z.string(),
  /** Names its counts: another one for another object, however it is called. */
  id: z.string(),
  /** What answers call it by. */
  label: z.string(),
  /** Whose requests it is about: a namespace, or `*` for all. */
  workspace: z.string(),
  conditions: z.array(z.strictObject({ key: z.string(), values: z.array(z.string()), excludes: z.array(z.string()) })),
  group_by: z.array(z.string()),
};

export const rateLimitRecord = z.strictObject({
  ...limited,
  type: z.enum(['requests', 'tokens']),
  unit: z.enum(RATE_UNITS),
  value: z.number(),
});

export const usageLimitRecord = z.strictObject({
  ...limited,
  type: z.enum(['cost', 'tokens']),
  /** US dollars or tokens. */
  credit_limit: z.number(),
  alert_threshold: z.number().optional(),
  reset: z.discriminatedUnion('every', [
    z.strictObject({ every: z.literal('never') }),
    z.strictObject({ every: z.literal('weekly') }),
    z.strictObject({ every: z.literal('monthly') }),
    z.strictObject({ every: z.literal('days'), days: z.number().int(), anchor_ms: z.number().int() }),
  ]),
  on_unavailable: z.enum(['allow', 'deny']),
  /** Changes with each reset by hand; part of what names its counts. */
  reset_token: z.string(),
  /** The same for single groups, by their ids: see `groupIdOf`. */
  group_reset_tokens: z.record(z.string(), z.string()),
});

/** What holds for a namespace as a whole. `name` is the namespace that it is about. */
export const workspaceRecord = z.strictObject({
  ...owner,
  metadata: z.record(z.string(), z.string()),
  /** Another word: nothing is given any more of what was kept before. Absent: there was no word yet. */
  cache_epoch: z.string().optional(),
  /** Names of guardrails, as the workspace itself sees them. Absent: none. */
  input_guardrails: z.array(z.string()).optional(),
  output_guardrails: z.array(z.string()).optional(),
});

/** Checks, and what their verdict leads to. `parameters` were judged with the catalogue of the operator. */
export const guardrailRecord = z.strictObject({
  ...owner,
  shared_with: sharedWith,
  /** Of every request of its workspace; in the organisation namespace, of all. */
  default_for: z.array(z.enum(['input', 'output'])),
  checks: z.array(z.strictObject({ id: z.string(), parameters: z.record(z.string(), z.unknown()) })),
  deny: z.boolean(),
  async: z.boolean(),
  sequential: z.boolean(),
  on_error: z.enum(['deny', 'allow']),
  /** Absent: `buffer` where `deny` is set, else `watch`. */
  stream: z.enum(['buffer', 'watch']).optional(),
  on_fail: feedbackSchema.optional(),
  on_success: feedbackSchema.optional(),
});

/** A prompt or partial: which of its versions its references mean. */
export const promptRecord = z.strictObject({
  kind: z.enum(['Prompt', 'PromptPartial']),
  ...owner,
  /** Absent: it has none, in a directory of manifests. */
  uid: z.string().optional(),
  shared_with: sharedWith,
  /** Absent: nothing is published. */
  live: z.number().int().optional(),
  latest: z.number().int(),
  labels: z.record(z.string(), z.number().int()),
});

/** `name` is that of the PromptVersion. */
export const promptVersionRecord = z.strictObject({
  ...owner,
  of: z.enum(['Prompt', 'PromptPartial']),
  prompt: z.string(),
  version: z.number().int(),
  /** JSON of `PromptContent`; of a partial `{string}`. */
  content: z.string(),
});

/** An object that was never accepted, so that a caller who names it learns why. */
export const refusedRecord = z.strictObject({ kind: z.string(), ...owner, reason: z.string(), message: z.string() });

export const snapshotSettings = z.strictObject({
  organisation_namespace: z.string(),
  /** Origins that a request may name as its custom host. */
  request_hosts: z.array(z.string()),
  /** What issued keys begin with. Absent: `mgw_`. */
  key_prefix: z.string().optional(),
});

export const snapshotSchema = z.strictObject({
  settings: snapshotSettings,
  configs: z.array(configRecord),
  integrations: z.array(integrationRecord),
  credentials: z.array(credentialRecord),
  keys: z.array(keyRecord),
  rate_limits: z.array(rateLimitRecord),
  usage_limits: z.array(usageLimitRecord),
  workspaces: z.array(workspaceRecord),
  guardrails: z.array(guardrailRecord),
  prompts: z.array(promptRecord),
  prompt_versions: z.array(promptVersionRecord),
  refused: z.array(refusedRecord),
});

export type ConfigRecord = z.infer<typeof configRecord>;
export type IntegrationRecord = z.infer<typeof integrationRecord>;
export type CredentialRecord = z.infer<typeof credentialRecord>;
export type KeyRecord = z.infer<typeof keyRecord>;
export type RateLimitRecord = z.infer<typeof rateLimitRecord>;
export type UsageLimitRecord = z.infer<typeof usageLimitRecord>;
export type WorkspaceRecord = z.infer<typeof workspaceRecord>;
export type GuardrailRecord = z.infer<typeof guardrailRecord>;
export type PromptRecord = z.infer<typeof promptRecord>;
export type PromptVersionRecord = z.infer<typeof promptVersionRecord>;
export type RefusedRecord = z.infer<typeof refusedRecord>;
export type Snapshot = z.infer<typeof snapshotSchema>;

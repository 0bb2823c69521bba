/**
 * What the operator tells every gateway, and nothing else. Wire names are snake_case, as in the manifests. Credentials and
 * key digests are records of their own, so that they can travel in Secrets while the rest travels in ConfigMaps.
 */
import { configShape } from '../config/schema.ts';
import { z } from '../config/words.ts';

/** The only format that this version writes and reads; a gateway refuses any other and keeps what it has. */
export const SNAPSHOT_FORMAT = 1;

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
  models: z.array(z.strictObject({ slug: z.string(), enabled: z.boolean(), custom_host: z.string().optional() })),
});

/** Values of credential fields. `path` is '' for an Integration, else the place in the config, e.g. `config.targets[0]`. */
export const credentialRecord = z.strictObject({
  kind: z.enum(['Integration', 'GatewayConfig']),
  ...owner,
  path: z.string(),
  fields: z.record(z.string(), z.unknown()),
});

export const keyRecord = z.strictObject({
  ...owner,
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
});

/** An object that was never accepted, so that a caller who names it learns why. */
export const refusedRecord = z.strictObject({ kind: z.string(), ...owner, reason: z.string(), message: z.string() });

export const snapshotSettings = z.strictObject({
  organisation_namespace: z.string(),
  /** Origins that a request may name as its custom host. */
  request_hosts: z.array(z.string()),
});

export const snapshotSchema = z.strictObject({
  settings: snapshotSettings,
  configs: z.array(configRecord),
  integrations: z.array(integrationRecord),
  credentials: z.array(credentialRecord),
  keys: z.array(keyRecord),
  refused: z.array(refusedRecord),
});

export type ConfigRecord = z.infer<typeof configRecord>;
export type IntegrationRecord = z.infer<typeof integrationRecord>;
export type CredentialRecord = z.infer<typeof credentialRecord>;
export type KeyRecord = z.infer<typeof keyRecord>;
export type RefusedRecord = z.infer<typeof refusedRecord>;
export type Snapshot = z.infer<typeof snapshotSchema>;

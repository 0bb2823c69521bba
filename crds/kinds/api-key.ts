import { pattern, text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { API_GROUP, API_VERSION, objectName } from '../object.ts';
import type { Kind } from './kind.ts';

const MAX_METADATA_KEYS = 64;

const metadata = z
  .record(z.string().min(1).max(128), z.string().max(128))
  .refine((value) => Object.keys(value).length <= MAX_METADATA_KEYS, {
    error: `must have at most ${MAX_METADATA_KEYS} keys`,
  })
  .meta({ description: 'Added to the metadata of every request; the request wins.', maxProperties: MAX_METADATA_KEYS });

const defaults = z
  .strictObject({
    config_id: objectName.describe('GatewayConfig for requests that name none.').optional(),
    metadata: metadata.default({}),
    allow_config_override: z.boolean().describe('false: a request may not name another config.').default(true),
  })
  .describe('What holds where a request says nothing.');

const scope = pattern(
  128,
  /^[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*$/,
  '<resource>.<action>, such as "completions.write"',
  'A scope, <resource>.<action>.',
);

/** Spec of an ApiKey: who calls, and what they may do. The plaintext lives in a Secret, never here. */
export const apiKeySpec = z.strictObject({
  type: z
    .enum(['organisation-service', 'workspace-service', 'workspace-user'])
    .describe('Whom the key belongs to: the organisation, a service or a user of the workspace.'),
  name: text(255, 'Name for people.').optional(),
  description: text(1024, 'What the key is for.').optional(),
  user: text(253, 'Whose key it is.').optional(),
  scopes: z.array(scope).max(64).describe('What the key may do. Absent: all inference.').optional(),
  secret_name: objectName
    .describe('Secret of the same namespace that holds the key under `api_key`. Absent: <name>-api-key.')
    .optional(),
  defaults: defaults.default({ metadata: {}, allow_config_override: true }),
  expires_at: z.iso
    .datetime({ offset: true })
    .max(64)
    .describe('When the key stops working. Absent: never.')
    .optional(),
  disabled: z.boolean().describe('true: the key does not work.').default(false),
});

export type ApiKeySpec = z.infer<typeof apiKeySpec>;

export const apiKeyKind: Kind = {
  kind: 'ApiKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortName: 'gak',
  group: API_GROUP,
  version: API_VERSION,
  description: 'A caller of the gateway: its key, scopes and defaults.',
  specSchema: apiKeySpec,
  specShape: apiKeySpec,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expires_at', priority: 1 },
  ],
  celRules: [],
};

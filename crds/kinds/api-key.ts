import { metadataDefaults } from '../config/metadata.ts';
import { pattern, text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { concurrency } from '../limits/concurrency.ts';
import { rateLimits } from '../limits/rate-limit.ts';
import { usageLimits } from '../limits/usage-limit.ts';
import { usageStatusFields } from '../limits/usage-status.ts';
import { API_GROUP, API_VERSION, objectName } from '../object.ts';
import type { Kind } from './kind.ts';

const MIN_TRANSITION_MS = 30 * 60_000;
const MAX_TRANSITION_MS = 30 * 24 * 60 * 60_000;

const rotationPolicy = z
  .strictObject({
    rotation_period: z
      .enum(['weekly', 'monthly'])
      .describe('How often the key is replaced. Absent: only at will.')
      .optional(),
    next_rotation_at: z.iso
      .datetime({ offset: true })
      .max(64)
      .describe('When it is replaced next; later times follow from it.')
      .optional(),
    key_transition_period_ms: z
      .int()
      .min(MIN_TRANSITION_MS)
      .max(MAX_TRANSITION_MS)
      .describe('Milliseconds for which the former key works besides the new one.')
      .default(MIN_TRANSITION_MS),
  })
  .describe('How the key is replaced by a new one, without a gap.');

const defaults = z
  .strictObject({
    config_id: objectName.describe('GatewayConfig for requests that name none.').optional(),
    metadata: metadataDefaults('Added to the metadata of every request; wins over what the request says.').default({}),
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
  rotation_policy: rotationPolicy.optional(),
  rate_limits: rateLimits.optional(),
  usage_limits: usageLimits.optional(),
  concurrency: concurrency.optional(),
  alert_emails: z
    .array(z.email().max(254))
    .max(32)
    .describe('Told to the alert webhook, which may write to them.')
    .optional(),
  disabled: z.boolean().describe('true: the key does not work.').default(false),
});

const moment = (description: string) => z.iso.datetime({ offset: true }).max(64).describe(description).optional();

/** What the status of an ApiKey says besides its conditions. Times are RFC 3339, in UTC. */
export const apiKeyStatus = z.strictObject({
  expires_at: moment('When the key stops working: as the spec says, or sooner by the rules for keys of users.'),
  last_used_at: moment('When the key was used last, to ten minutes.'),
  last_rotated_at: moment('When the key was replaced last.'),
  next_rotation_at: moment('When the key is replaced next.'),
  key_transition_expires_at: moment('Until when the former key works besides the present one.'),
});

/** The times of `apiKeyStatus`. */
export type ApiKeyStatus = z.infer<typeof apiKeyStatus>;

export type ApiKeySpec = z.infer<typeof apiKeySpec>;

export const apiKeyKind: Kind = {
  kind: 'ApiKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortName: 'gak',
  group: API_GROUP,
  version: API_VERSION,
  description: 'A caller of the gateway: its key, scopes, defaults, limits and rotation.',
  specSchema: apiKeySpec,
  specShape: apiKeySpec,
  statusShape: z.strictObject({ ...apiKeyStatus.shape, ...usageStatusFields }),
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Expires', type: 'string', jsonPath: '.status.expires_at', priority: 1 },
    { name: 'Rotates', type: 'string', jsonPath: '.status.next_rotation_at', priority: 1 },
    { name: 'Last used', type: 'date', jsonPath: '.status.last_used_at', priority: 1 },
  ],
  celRules: [],
};

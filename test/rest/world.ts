/** Who calls in the tests of the control plane, and what is there before they do. */
import { SCOPES } from '#crds/kinds/scopes.ts';
import { apiKey, defaultConfig, object, secret } from '../fakes/objects.ts';

export const ORGANISATION = 'model-gateway';
export const TEAM = 'team-a';
export const OTHER = 'team-b';

const all = [...SCOPES.keys()];
const ofWorkspaces = all.filter((scope) => !scope.startsWith('organisation_'));

/** Plaintext of each key, by who has it. */
export const KEYS = {
  /** Of the organisation, with every scope. */
  organisation: 'organisation-key-0123456789',
  /** Of team-a and of team-b, with every scope that a workspace can use. */
  team: 'team-a-admin-key-0123456789',
  other: 'team-b-admin-key-0123456789',
  /** Of team-a: a user, who has every scope too. */
  user: 'team-a-user-key-0123456789',
  /** Of team-a: may look, and may do inference. */
  reader: 'team-a-reader-key-0123456789',
  inference: 'team-a-inference-key-0123456789',
  expired: 'team-a-expired-key-0123456789',
  /** Of a workspace that has the name of the organisation namespace. */
  house: 'house-admin-key-0123456789',
} as const;
export type Who = keyof typeof KEYS;

const looking = [
  'policies.list',
  'policies.read',
  'workspace_service_api_keys.list',
  'workspace_service_api_keys.read',
];

function config(namespace: string): string {
  return defaultConfig('chat', { provider: 'simulator', override_params: { model: 'echo' } }, namespace);
}

/** Somebody else's, in team-a. */
export const BY_HAND = {
  'rate-limits': object(
    'RateLimitPolicy',
    'by-hand',
    {
      type: 'requests',
      unit: 'rpd',
      value: 1_000_000,
      conditions: [{ key: 'metadata.by', value: 'hand' }],
      group_by: [{ key: 'api_key' }],
    },
    { namespace: TEAM },
  ),
  'usage-limits': object(
    'UsageLimitPolicy',
    'by-hand',
    {
      type: 'tokens',
      credit_limit: 1_000_000,
      conditions: [{ key: 'metadata.by', value: 'hand' }],
      group_by: [{ key: 'api_key' }],
    },
    { namespace: TEAM },
  ),
} as const;

/** YAML: keys, a config for each workspace, and objects that somebody else keeps. */
export const MANIFESTS = [
  config(TEAM),
  config(OTHER),
  apiKey('organisation', KEYS.organisation, { type: 'organisation-service', scopes: all }, ORGANISATION),
  apiKey('team', KEYS.team, { scopes: ofWorkspaces }, TEAM),
  apiKey('other', KEYS.other, { scopes: ofWorkspaces }, OTHER),
  apiKey('user', KEYS.user, { type: 'workspace-user', scopes: ofWorkspaces }, TEAM),
  apiKey('reader', KEYS.reader, { scopes: looking }, TEAM),
  apiKey('inference', KEYS.inference, {}, TEAM),
  apiKey('expired', KEYS.expired, { scopes: all, expires_at: '2020-01-01T00:00:00Z' }, TEAM),
  apiKey('house', KEYS.house, { scopes: ofWorkspaces }, ORGANISATION),
  // A credential that a key of the right name would have shown.
  secret('provider-api-key', { api_key: 'credential-of-the-provider' }, TEAM),
  ...Object.values(BY_HAND),
].join('');

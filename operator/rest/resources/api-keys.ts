/** `/api-keys`. A key itself is told when it is made and when it is replaced, and never again. */
import { z } from '#crds/config/words.ts';
import type { ApiKeySpec } from '#crds/kinds/api-key.ts';
import { DEFAULT_SCOPE } from '#crds/kinds/scopes.ts';
import { listed } from '#crds/limits/conditions.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import { assertMayGive } from '../authorize.ts';
import { changedSpec } from '../body.ts';
import type { ControlCaller } from '../caller.ts';
import { ControlError } from '../control-error.ts';
import { issuedKey } from '../issued-key.ts';
import { randomWord, slugOf } from '../new-name.ts';
import type { Action, ResourceRow } from '../resource-row.ts';
import type { Spec, StoredObject } from '../stored-object.ts';
import { rotateKey } from './rotate-key.ts';
import { isExhausted, resetAnnotation, usageOf } from './usage.ts';
import { PLACE, placeFields, wholeSpec } from './wire.ts';

type KeyType = ApiKeySpec['type'];

/** By type and sub-type of the path. */
const TYPES: ReadonlyMap<string, KeyType> = new Map([
  ['organisation/service', 'organisation-service'],
  ['workspace/service', 'workspace-service'],
  ['workspace/user', 'workspace-user'],
]);
const MASKED = '********';
const SECRET_CHARACTERS = 10;
const CHANGEABLE = [
  'name',
  'description',
  'rate_limits',
  'usage_limits',
  'scopes',
  'defaults',
  'alert_emails',
  'expires_at',
  'rotation_policy',
];
const RENAMED = { user_id: 'user' };

function given({ type = '', subType = '' }: Readonly<Record<string, string>>): Spec {
  const word = TYPES.get(`${type}/${subType}`);
  if (word !== undefined) return { type: word };
  const message = `A key is made at ${[...TYPES.keys()].map((path) => `/api-keys/${path}`).join(', ')}.`;
  throw new ControlError('invalid_value', message, { param: 'type' });
}

function scopesFor(action: Action, spec?: Spec): readonly string[] {
  const types = spec === undefined ? [...TYPES.values()] : [String(spec['type'])];
  return types.map((type) => `${type.replace('-', '_')}_api_keys.${action}`);
}

/**
 * Limits are kept as lists. The Secret of a new key has a name that nobody could have foreseen: one that exists already would
 * be taken for the key's, whatever it holds.
 */
function merged(fields: Spec, before?: Spec): Spec {
  const lists = ['rate_limits', 'usage_limits'].filter((name) => fields[name] !== undefined && fields[name] !== null);
  const kept = Object.fromEntries(lists.map((name) => [name, [...listed(fields[name])]]));
  const slug = slugOf(String(fields['name'] ?? ''), 'api-key');
  const secret = before === undefined ? { secret_name: `${slug}-${randomWord(SECRET_CHARACTERS)}` } : {};
  return changedSpec(before ?? secret, { ...fields, ...kept });
}

/** Nobody gives what they do not have; what the key had before was given by somebody else. */
function assertMay(caller: ControlCaller, spec: Spec, before: Spec | undefined): void {
  const had = listed(before === undefined ? undefined : (before['scopes'] ?? [DEFAULT_SCOPE]));
  const scopes = listed(spec['scopes'] ?? [DEFAULT_SCOPE]).filter((scope) => !had.includes(scope));
  assertMayGive(
    caller,
    spec['type'] as KeyType,
    scopes.filter((scope) => typeof scope === 'string'),
  );
}

function stateOf(object: StoredObject): string {
  return usageOf(object).some(isExhausted) ? 'exhausted' : 'active';
}

export const API_KEYS: ResourceRow = {
  path: '/api-keys',
  kind: 'ApiKey',
  title: 'api key',
  words: { created: 'api-key', whole: 'api-key' },
  createPath: '/:type/:subType',
  given,
  create: { fields: [...CHANGEABLE, 'user_id'], besides: PLACE, required: ['name', 'scopes'], renamed: RENAMED },
  update: { fields: CHANGEABLE, besides: { reset_usage: z.boolean() } },
  filters: {},
  scopes: scopesFor,
  isAboutAll: false,
  isOfOrganisation: ({ type }) => type === 'organisation-service',
  merged,
  assertMay,
  annotations: ({ reset_usage: reset }) => (reset === true ? resetAnnotation() : {}),
  created: async (object, { world }) => ({ key: await issuedKey(object, world) }),
  wire(object, { world }) {
    const {
      user = null,
      name = object.name,
      description = null,
      secret_name: _,
      disabled,
      ...spec
    } = wholeSpec(object);
    const { last_used_at = null, expires_at: endsAt = null } = object.status;
    const {
      expires_at = endsAt,
      type,
      scopes = [DEFAULT_SCOPE],
      defaults,
      alert_emails = [],
      rotation_policy = null,
    } = spec;
    return {
      ...{ id: object.id, key: MASKED, name, description, type, user_id: user, status: stateOf(object), disabled },
      creation_mode: object.isOurs ? 'api' : 'auto',
      rate_limits: listed(spec['rate_limits']),
      usage_limits: listed(spec['usage_limits']),
      reset_usage: object.annotations[ANNOTATIONS.resetUsage] === undefined ? 0 : 1,
      ...{ scopes, defaults, alert_emails, expires_at, last_used_at, rotation_policy },
      ...placeFields(object, world),
      object: 'api-key',
    };
  },
  removal: 'delete',
  actions: [rotateKey],
};

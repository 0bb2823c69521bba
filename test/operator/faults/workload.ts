/** Two workspaces with something of everything, and what their owners do to it one after the other. */
import { type ApiObject, SECRETS } from '#crds/api/api-object.ts';
import type { ApiServer } from '../../fakes/api-server/api-server.ts';
import { resourceOf } from './outcome.ts';

interface Meta {
  readonly annotations?: Readonly<Record<string, string>>;
}

/** `path`: `namespace/name`. */
export function custom(kind: string, path: string, spec: unknown, meta: Meta = {}): ApiObject {
  const [namespace = '', name = ''] = path.split('/');
  return { apiVersion: resourceOf(kind).apiVersion, kind, metadata: { namespace, name, ...meta }, spec };
}

export function secret(path: string, values: Readonly<Record<string, string>>): ApiObject {
  const [namespace = '', name = ''] = path.split('/');
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  return { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { namespace, name }, data };
}

export function mapping(secretName: string): Readonly<Record<string, string>> {
  return { target_field: 'api_key', secret_name: secretName, secret_key: 'api_key' };
}

export function integration(path: string, secretName: string, more: object = {}): ApiObject {
  return custom('Integration', path, { provider: 'openai', secret_mappings: [mapping(secretName)], ...more });
}

export function config(path: string, spec: object, meta: Meta = {}): ApiObject {
  return custom('GatewayConfig', path, spec, meta);
}

export function apiKey(path: string, more: object = {}): ApiObject {
  return custom('ApiKey', path, { type: 'workspace-service', ...more });
}

/** So much per minute, or in all, of every key's requests. */
export function policy(
  kind: 'RateLimitPolicy' | 'UsageLimitPolicy',
  path: string,
  more: object,
  meta: Meta = {},
): ApiObject {
  const groups = [{ key: 'api_key' }];
  return custom(kind, path, { conditions: [{ key: 'api_key', value: '*' }], group_by: groups, ...more }, meta);
}

/** Targets that make up for one another. */
export function fallback(...providers: readonly string[]): object {
  return { strategy: { mode: 'fallback' }, targets: providers.map((provider) => ({ provider })) };
}

export const BEGINNING: readonly ApiObject[] = [
  secret('team-a/vendor', { api_key: 'sk-of-team-a' }),
  secret('team-a/own-key', { api_key: 'a-key-that-the-user-brought' }),
  integration('team-a/openai', 'vendor'),
  config('team-a/chat', { provider: '@openai' }),
  config('team-a/spare', fallback('@openai', 'simulator'), {
    annotations: { 'modelgateway.dev/default': 'true' },
  }),
  apiKey('team-a/app', { defaults: { config_id: 'chat' } }),
  apiKey('team-a/own', { secret_name: 'own-key' }),
  secret('model-gateway/vendor', { api_key: 'sk-of-all' }),
  integration('model-gateway/shared', 'vendor', { allow_all_workspaces: true }),
  config('team-b/chat', { provider: '@shared', override_params: { model: 'one' } }),
  config('team-b/dangling', { provider: '@nobody' }),
  apiKey('team-b/app', { defaults: { config_id: 'chat' } }),
  policy('RateLimitPolicy', 'team-a/minute', { type: 'requests', unit: 'rpm', value: 100 }),
  policy('UsageLimitPolicy', 'model-gateway/money', { type: 'cost', credit_limit: 50, alert_threshold: 40 }),
  custom('Workspace', 'model-gateway/team-a', {
    defaults: { metadata: { cost_centre: '12' } },
    rate_limits: { type: 'tokens', unit: 'rpd', value: 1_000_000 },
  }),
];

type Act = (server: ApiServer) => unknown;

export interface Step {
  readonly title: string;
  /** At once, in order. */
  readonly acts: readonly Act[];
}

function apply(...objects: readonly ApiObject[]): readonly Act[] {
  return objects.map((object) => (server) => server.apply(object));
}

function remove(kind: string, path: string): Act {
  const [namespace, name = ''] = path.split('/');
  return (server) => server.delete(kind === 'Secret' ? SECRETS : resourceOf(kind), namespace, name);
}

export const STEPS: readonly Step[] = [
  { title: 'everything is made', acts: apply(...BEGINNING) },
  {
    title: 'a config is edited',
    acts: apply(config('team-a/chat', { provider: '@openai', override_params: { model: 'two' } })),
  },
  { title: 'a credential is rotated', acts: apply(secret('team-a/vendor', { api_key: 'sk-new' })) },
  { title: 'a config is spoilt, for good', acts: apply(config('team-a/spare', { provider: 'nobody' })) },
  {
    title: 'a key is disabled, another deleted',
    acts: [
      ...apply(apiKey('team-b/app', { defaults: { config_id: 'chat' }, disabled: true })),
      remove('ApiKey', 'team-a/own'),
    ],
  },
  {
    title: 'a config is deleted and made anew, a key is made',
    acts: [
      remove('GatewayConfig', 'team-b/chat'),
      ...apply(config('team-b/chat', { provider: 'simulator' }), apiKey('team-b/late')),
    ],
  },
  {
    title: 'limits are edited, reset, spoilt, archived and lifted',
    acts: [
      ...apply(
        policy('RateLimitPolicy', 'team-a/minute', { type: 'requests', unit: 'rps', value: 100 }),
        policy(
          'UsageLimitPolicy',
          'model-gateway/money',
          { type: 'cost', credit_limit: 75, periodic_reset: 'monthly' },
          { annotations: { 'modelgateway.dev/reset-usage': 'again' } },
        ),
        policy('UsageLimitPolicy', 'team-b/tokens', { type: 'tokens', credit_limit: 5, status: 'archived' }),
        apiKey('team-b/app', { usage_limits: { type: 'tokens', credit_limit: 1000 } }),
      ),
      remove('Workspace', 'model-gateway/team-a'),
    ],
  },
  {
    title: 'a Secret and an Integration are deleted',
    acts: [remove('Secret', 'team-a/vendor'), remove('Integration', 'model-gateway/shared')],
  },
];

/** All of a step at once. */
export function take({ acts }: Step, server: ApiServer): void {
  for (const act of acts) act(server);
}

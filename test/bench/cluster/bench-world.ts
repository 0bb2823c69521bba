/** The objects that the cluster path is measured with. Plain values; what is edited later is made here too. */
import type { ApiObject, Resource } from '#crds/api/api-object.ts';
import { SECRETS } from '#crds/api/api-object.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import { API_GROUP, API_VERSION } from '#crds/object.ts';

export interface WorldSize {
  readonly configs: number;
  readonly integrations: number;
  /** The callers of each namespace among them. */
  readonly keys: number;
}

export interface WorldObject {
  readonly resource: Resource;
  readonly object: ApiObject;
}

type KindName = 'GatewayConfig' | 'Integration' | 'ApiKey';

const NAMESPACES: Resource = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' };
const TEAMS = 50;
const GROUP_VERSION = `${API_GROUP}/${API_VERSION}`;
/** Of the integrations, in each namespace. */
const CREDENTIAL = 'credential';

export const RESOURCES: Readonly<Record<KindName, Resource>> = {
  GatewayConfig: resourceOf('GatewayConfig'),
  Integration: resourceOf('Integration'),
  ApiKey: resourceOf('ApiKey'),
};

/** A config whose every answer says which version of it was in force, by the name of the model. */
export function configObject(index: number, version: string): ApiObject {
  const targets = [
    { provider: 'simulator', override_params: { model: modelOf(version) } },
    { provider: `@${integrationName(index)}`, override_params: { model: 'gpt-4o-mini' } },
  ];
  const strategy = { mode: 'fallback', on_status_codes: [429, 503] };
  return objectOf('GatewayConfig', teamOf(index), configName(index), { strategy, retry: { attempts: 2 }, targets });
}

export function integrationObject(index: number, version: string): ApiObject {
  const mapping = { target_field: 'api_key', secret_name: CREDENTIAL, secret_key: 'api_key' };
  return objectOf('Integration', teamOf(index), integrationName(index), {
    provider: 'openai',
    allow_all_models: true,
    secret_mappings: [mapping],
    configurations: { vendor_organization: version },
  });
}

/** Its key is one that the operator makes. */
export function keyObject(index: number, version: string): ApiObject {
  return objectOf('ApiKey', teamOf(index), `key-${index}`, {
    type: 'workspace-service',
    scopes: ['completions.write'],
    defaults: { config_id: configName(index % TEAMS), metadata: { team: teamOf(index), version } },
  });
}

/** Its key is known: see `callerKey`. */
export function callerObject(team: number, { disabled }: { readonly disabled: boolean }): ApiObject {
  return objectOf('ApiKey', teamOf(team), 'caller', { type: 'workspace-service', secret_name: 'caller', disabled });
}

/** The key of a caller of the namespace that the object of this number is in. */
export function callerKey(index: number): string {
  return `bench-caller-${index % TEAMS}-0000000000`;
}

export function configName(index: number): string {
  return `config-${index}`;
}

/** The model that a config of this version asks the simulator for. */
export function modelOf(version: string): string {
  return `version-${version}`;
}

/** In groups, each of which may be created in any order. */
export function worldObjects({ configs, integrations, keys }: WorldSize): readonly (readonly WorldObject[])[] {
  const teams = indices(TEAMS);
  return [
    [...teams.map(teamOf), 'model-gateway'].map((name) => ({ resource: NAMESPACES, object: namespaceObject(name) })),
    teams.flatMap((team) => [
      { resource: SECRETS, object: secretObject(team, 'caller', callerKey(team)) },
      { resource: SECRETS, object: secretObject(team, CREDENTIAL, `sk-${team}`) },
    ]),
    [
      ...indices(integrations).map((index) => row('Integration', integrationObject(index, 'first'))),
      ...indices(configs).map((index) => row('GatewayConfig', configObject(index, 'first'))),
      ...teams.map((team) => row('ApiKey', callerObject(team, { disabled: false }))),
      ...indices(keys - TEAMS).map((index) => row('ApiKey', keyObject(index, 'first'))),
    ],
  ];
}

function row(kind: KindName, object: ApiObject): WorldObject {
  return { resource: RESOURCES[kind], object };
}

function resourceOf(kind: KindName): Resource {
  const plural = KINDS.find((one) => one.kind === kind)?.plural;
  if (plural === undefined) throw new Error(`there is no kind ${kind}`);
  return { apiVersion: GROUP_VERSION, kind, plural };
}

function objectOf(kind: KindName, namespace: string, name: string, spec: object): ApiObject {
  return { apiVersion: GROUP_VERSION, kind, metadata: { namespace, name }, spec };
}

function namespaceObject(name: string): ApiObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function secretObject(team: number, name: string, key: string): ApiObject {
  const metadata = { namespace: teamOf(team), name };
  return { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { api_key: key } };
}

function teamOf(index: number): string {
  return `team-${index % TEAMS}`;
}

/** In the namespace of the object of this number. */
function integrationName(index: number): string {
  return `integration-${index % 200}`;
}

function indices(count: number): number[] {
  return Array.from({ length: Math.max(0, count) }, (_, index) => index);
}

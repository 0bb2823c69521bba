/** A Secret of the API server -> one of the world, and one of the world's wishes -> a Secret. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { API_GROUP } from '#crds/object.ts';
import type { Manifest, SecretObject } from '../../world.ts';
import type { GeneratedSecret } from '../source.ts';

/** On Secrets that the operator writes for an ApiKey: those are followed with their content. */
export const API_KEY_LABEL = `${API_GROUP}/api-key`;
/** A label's value at most. */
const MAX_LABEL_CHARACTERS = 63;

export function secretObjectOf(object: ApiObject): SecretObject {
  const { name, namespace = '', labels } = object.metadata;
  const data = Object.entries(Object(object['data']) as Record<string, string>);
  return {
    namespace,
    name,
    values: new Map(data.map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')])),
    place: undefined,
    refused: undefined,
    generated: labels?.[API_KEY_LABEL] !== undefined,
  };
}

/** An ApiKey: `namespace/name`, and which of that name. */
export interface Owner {
  readonly key: string;
  readonly uid: unknown;
}

/** For which ApiKey it was made; undefined: for none. */
export function ownerOf({ metadata }: ApiObject): Owner | undefined {
  const owner = metadata.ownerReferences?.find(({ kind, controller }) => kind === 'ApiKey' && controller === true);
  return owner && { key: `${metadata.namespace}/${owner['name']}`, uid: owner['uid'] };
}

/** It exists, but what is in it cannot be had. */
export function unreadableSecret(namespace: string, name: string, message: string): SecretObject {
  const refused = { reason: 'SecretRefused', message };
  return { namespace, name, values: new Map(), place: undefined, refused, generated: false };
}

/** Goes with its owner when that is deleted. */
export function secretFor({ namespace, name, values }: GeneratedSecret, owner: Manifest): ApiObject {
  const { apiVersion } = owner.raw as { apiVersion: string };
  // Every object of an API server has one.
  const { uid = '' } = owner;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name,
      namespace,
      labels: { [API_KEY_LABEL]: owner.name.slice(0, MAX_LABEL_CHARACTERS).replace(/[^a-z0-9]+$/, '') },
      ownerReferences: [{ apiVersion, kind: owner.kind, name: owner.name, uid, controller: true }],
    },
    data: Object.fromEntries(Object.entries(values).map(([field, value]) => [field, base64Of(value)])),
  };
}

/** A merge patch that changes fields of exactly this version of the Secret: another one answers 409. */
export function secretPatch(
  { metadata }: ApiObject,
  changes: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, unknown>> {
  const { uid, resourceVersion } = metadata;
  const data = Object.entries(changes).map(([field, value]) => [field, value === undefined ? null : base64Of(value)]);
  return { metadata: { uid, resourceVersion }, data: Object.fromEntries(data) };
}

function base64Of(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/** What an operator has made of a tenant's objects: equal for equal worlds, whatever happened on the way there. */
import { createHash } from 'node:crypto';
import type { ApiClient } from '#crds/api/api-client.ts';
import { type ApiObject, CONFIG_MAPS, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { decodeSnapshot } from '#crds/snapshot/decode.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { indexSchema } from '#crds/snapshot/index-document.ts';
import { at } from '../helm/manifest.ts';
import type { Condition, Stage } from './stage.ts';

export interface Outcome {
  /** Of the whole snapshot, with the digests of keys and the names of namespaces left out; undefined: there is none. */
  readonly hash: string | undefined;
  /** `Kind name: ...` of each object's conditions, without times. */
  readonly statuses: readonly string[];
  /** Names of what is published. */
  readonly published: readonly string[];
  /** Secrets of the tenant, each with its owner. */
  readonly secrets: readonly string[];
  /** Whether the digests that are published are those of the keys that the tenant's Secrets hold. */
  readonly areKeysRight: boolean;
}

export const RESOURCES: readonly Resource[] = [...KIND_RESOURCES.values()];

/** Anything but a digest of a real key. */
const NO_DIGEST = '0'.repeat(64);

export async function outcomeOf(stage: Stage, client: ApiClient): Promise<Outcome> {
  const { namespace } = stage.release;
  const list = async (resource: Resource, where: string) =>
    (await client.listAll(resource, { namespace: where })).items;
  const [configMaps, ownSecrets, secrets, ...objects] = await Promise.all([
    list(CONFIG_MAPS, namespace),
    list(SECRETS, namespace),
    list(SECRETS, stage.tenant),
    ...RESOURCES.map((resource) => list(resource, stage.tenant)),
  ]);
  const stored = [...(configMaps ?? []), ...(ownSecrets ?? [])];
  const snapshot = snapshotIn(stored);
  return {
    hash: snapshot === undefined ? undefined : hashOf(snapshot, stage.tenant),
    statuses: objects.flat().map(told).sort(),
    published: stored.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(),
    secrets: (secrets ?? []).map(owned).sort(),
    areKeysRight: snapshot !== undefined && digestsOf(snapshot) === digestsIn(secrets ?? []),
  };
}

/** undefined: index and shards do not fit together. */
function snapshotIn(stored: readonly ApiObject[]): Snapshot | undefined {
  const named = (end: string) => stored.find(({ metadata }) => metadata.name.endsWith(`-${end}`));
  const index = at<string>(named('snapshot-index'), 'data.index');
  if (index === undefined) return undefined;
  const shards = new Map<string, Uint8Array>();
  for (const { name } of indexSchema.parse(JSON.parse(index)).shards) {
    const object = named(name);
    const text = at<string>(object, 'binaryData.shard') ?? at<string>(object, 'data.shard');
    if (text !== undefined) shards.set(name, Buffer.from(text, 'base64'));
  }
  try {
    return decodeSnapshot({ index, shards }).snapshot;
  } catch {
    return undefined;
  }
}

function hashOf(snapshot: Snapshot, tenant: string): string {
  const keys = snapshot.keys.map((key) => ({ ...key, digest: NO_DIGEST }));
  const comparable = JSON.parse(JSON.stringify({ ...snapshot, keys }).replaceAll(tenant, 'tenant'));
  return JSON.parse(encodeSnapshot(comparable, 1).index).hash;
}

function told({ kind, metadata, ...object }: ApiObject): string {
  const conditions = at<Condition[]>(object, 'status.conditions') ?? [];
  const texts = conditions.map(({ type, status, reason, message, observedGeneration }) =>
    [`${type}=${status}`, reason, JSON.stringify(message), `of ${observedGeneration}`].join(' '),
  );
  return `${kind} ${metadata.name}: ${texts.sort().join(', ')}`;
}

function owned({ metadata }: ApiObject): string {
  const owners = (metadata.ownerReferences ?? []).map((owner) => `${owner['kind']} ${owner['name']}`);
  return `${metadata.name} of ${owners.join(', ') || 'nobody'}`;
}

function digestsOf({ keys }: Snapshot): string {
  return keys
    .map(({ name, digest }) => `${name} ${digest}`)
    .sort()
    .join(', ');
}

function digestsIn(secrets: readonly ApiObject[]): string {
  return secrets
    .flatMap(({ metadata, ...secret }) => {
      const text = at<string>(secret, 'data.api_key');
      const owner = metadata.ownerReferences?.[0]?.['name'];
      if (text === undefined || owner === undefined) return [];
      return [`${owner} ${createHash('sha256').update(Buffer.from(text, 'base64')).digest('hex')}`];
    })
    .sort()
    .join(', ');
}

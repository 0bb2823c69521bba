/** What the operator has made of a cluster: the published snapshot, and what is said of each object. */
import { createHash } from 'node:crypto';
import { type ApiObject, CONFIG_MAPS, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import { type DecodedSnapshot, decodeSnapshot, type ShardMemory } from '#crds/snapshot/decode.ts';
import { indexSchema } from '#crds/snapshot/index-document.ts';
import { indexObject, SHARD_KEY, shardObject, sharesObject } from '#crds/snapshot/object-names.ts';
import { canonicalJson } from '#crds/snapshot/records.ts';
import { decodeShares, SHARES_KEY, type Shares } from '#crds/snapshot/shares.ts';
import type { ApiServer } from '../../fakes/api-server/api-server.ts';

/** Where the operator, its gateways and the snapshot are. */
export const NAMESPACE = 'gateways';
export const RELEASE = 'mgw';

export const RESOURCES: readonly Resource[] = [...KIND_RESOURCES.values()];

export function resourceOf(kind: string): Resource {
  const found = KIND_RESOURCES.get(kind);
  if (found === undefined) throw new Error(`there is no kind ${kind}`);
  return found;
}

/** Read before, by the hashes of their shards: most readers of a publication are not the first. */
const memory: ShardMemory = new Map();

/** What a gateway reads; undefined: there is no index. Throws SnapshotRefused where the parts do not fit together. */
export function publishedIn(server: ApiServer): DecodedSnapshot | undefined {
  const { name } = indexObject(RELEASE);
  const index = dataOf(server.get(CONFIG_MAPS, NAMESPACE, name))['index'];
  if (index === undefined) return undefined;
  const shards = new Map<string, Uint8Array>();
  for (const shard of shardsIn(index)) {
    const object = shardObject(RELEASE, shard);
    const stored = server.get(object.kind === 'Secret' ? SECRETS : CONFIG_MAPS, NAMESPACE, object.name);
    const bytes = dataOf(stored, object.kind === 'Secret' ? 'data' : 'binaryData')[SHARD_KEY];
    if (bytes !== undefined) shards.set(shard, Buffer.from(bytes, 'base64'));
  }
  return decodeSnapshot({ index, shards }, memory);
}

/** What replicas are told of one another; undefined: nothing. Throws where it cannot be read. */
export function sharesIn(server: ApiServer): Shares | undefined {
  const stored = server.get(CONFIG_MAPS, NAMESPACE, sharesObject(RELEASE).name);
  const text = dataOf(stored)[SHARES_KEY];
  if (text !== undefined) return decodeShares(Buffer.from(text));
  const packed = dataOf(stored, 'binaryData')[SHARES_KEY];
  return packed === undefined ? undefined : decodeShares(Buffer.from(packed, 'base64'));
}

function shardsIn(index: string): readonly string[] {
  try {
    return indexSchema.parse(JSON.parse(index)).shards.map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Throws where nothing is published. */
export function published(server: ApiServer): DecodedSnapshot {
  const snapshot = publishedIn(server);
  if (snapshot === undefined) throw new Error('nothing is published');
  return snapshot;
}

/** Equal for two clusters in which the same was written, whatever happened on the way. */
export interface Outcome {
  /** Canonical JSON of the snapshot; keys that the operator made are named, for their digests are random. */
  readonly content: string;
  /** By `Kind namespace/name`. */
  readonly statuses: Readonly<Record<string, string>>;
}

export function outcomeOf(server: ApiServer): Outcome {
  const { snapshot } = published(server);
  const made = new Map(server.list(SECRETS).flatMap((secret) => madeKey(secret)));
  const keys = snapshot.keys.map((key) => ({ ...key, digest: made.get(key.digest) ?? key.digest }));
  const { rate_limits, usage_limits } = snapshot;
  const limits = { rate_limits: rate_limits.map(named), usage_limits: usage_limits.map(named) };
  return { content: canonicalJson({ ...snapshot, ...limits, keys }), statuses: statusesIn(server) };
}

/** An object's UID is another one in each cluster. */
function named<T extends { readonly id: string; readonly path: string }>(limit: T): T {
  return { ...limit, id: `of the object ${limit.path}` };
}

/** `Accepted=True Accepted, ...` of each object, with its messages and the generation that it is about. */
export function statusesIn(server: ApiServer): Readonly<Record<string, string>> {
  const objects = RESOURCES.flatMap((resource) => server.list(resource));
  return Object.fromEntries(objects.map((object) => [identityOf(object), statusText(object)]));
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

export function conditionsOf(object: ApiObject): readonly Condition[] {
  return (object['status'] as Status | undefined)?.conditions ?? [];
}

/** `True Accepted: message`; 'absent': there is none. */
export function condition(server: ApiServer, object: string, type: string): string {
  const found = conditionsOf(objectIn(server, object)).find((one) => one.type === type);
  if (found === undefined) return 'absent';
  return `${found.status} ${found.reason}${found.message === '' ? '' : `: ${found.message}`}`;
}

/** `object`: `Kind namespace/name`. Throws where there is none. */
export function objectIn(server: ApiServer, object: string): ApiObject {
  const [kind = '', path = ''] = object.split(' ');
  const [namespace, name = ''] = path.split('/');
  return server.find(resourceOf(kind), namespace, name);
}

function statusText(object: ApiObject): string {
  const observed = (object['status'] as Status | undefined)?.observedGeneration;
  const lines = conditionsOf(object).map(
    ({ type, status, reason, message, observedGeneration: of }) => `${type}=${status} ${reason} of ${of}: ${message}`,
  );
  return [`generation ${object.metadata.generation}, observed ${observed}`, ...lines.sort()].join('\n');
}

function identityOf({ kind, metadata: { namespace, name } }: ApiObject): string {
  return `${kind} ${namespace}/${name}`;
}

function madeKey(secret: ApiObject): readonly (readonly [string, string])[] {
  const { namespace, name, labels } = secret.metadata;
  const key = dataOf(secret)['api_key'];
  if (labels?.['modelgateway.dev/api-key'] === undefined || key === undefined) return [];
  return [[digestOf(Buffer.from(key, 'base64').toString()), `of Secret ${namespace}/${name}`]];
}

export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

export function dataOf(object: ApiObject | undefined, field = 'data'): Readonly<Record<string, string>> {
  return Object(object?.[field]);
}

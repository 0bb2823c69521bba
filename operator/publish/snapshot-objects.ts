/** How the bytes of a snapshot lie in ConfigMaps and Secrets. */
import { type ApiObject, CONFIG_MAPS, type OwnerReference, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { INDEX_KEY, SNAPSHOT_LABEL } from '#crds/snapshot/object-names.ts';

/** One object as it shall be. */
export interface Part {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Place {
  readonly namespace: string;
  readonly release: string;
}

/** With which the objects go; undefined: it is not known, and what is stored stands. */
export type Owner = OwnerReference | undefined;

const RESOURCES: Readonly<Record<Part['kind'], Resource>> = { ConfigMap: CONFIG_MAPS, Secret: SECRETS };

export function resourceOf({ kind }: Pick<Part, 'kind'>): Resource {
  return RESOURCES[kind];
}

/** `stored`: the object that it replaces. */
export function objectOf(part: Part, { namespace, release }: Place, owner: Owner, stored?: ApiObject): ApiObject {
  const { kind, name, annotations } = part;
  const { resourceVersion, ownerReferences: owners } = stored?.metadata ?? {};
  const ownerReferences = owner === undefined ? owners : [owner];
  return {
    apiVersion: resourceOf(part).apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      labels: { [SNAPSHOT_LABEL]: release },
      ...(annotations === undefined ? {} : { annotations }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    ...contentOf(part),
  };
}

function contentOf({ kind, key, bytes }: Part): Readonly<Record<string, unknown>> {
  const base64 = () => Buffer.from(bytes).toString('base64');
  if (kind === 'Secret') return { type: 'Opaque', data: { [key]: base64() } };
  return key === INDEX_KEY ? { data: { [key]: Buffer.from(bytes).toString() } } : { binaryData: { [key]: base64() } };
}

/** The bytes under `key`; undefined where the object has none. */
export function bytesIn(object: ApiObject, key: string): Buffer | undefined {
  const { data, binaryData } = object as { data?: Record<string, unknown>; binaryData?: Record<string, unknown> };
  const text = data?.[key];
  if (object.kind === 'ConfigMap' && typeof text === 'string') return Buffer.from(text);
  const encoded = object.kind === 'Secret' ? text : binaryData?.[key];
  return typeof encoded === 'string' ? Buffer.from(encoded, 'base64') : undefined;
}

/** Whether the stored object says what the part says, byte for byte; annotations are written along, never for themselves. */
export function isCurrent(part: Part, stored: ApiObject, { release }: Place, owner: Owner): boolean {
  const { labels, ownerReferences = [] } = stored.metadata;
  const isOwned = owner === undefined || ownerReferences.some(({ uid }) => uid === owner.uid);
  const isEqual = bytesIn(stored, part.key)?.equals(part.bytes) === true;
  return isEqual && isOwned && labels?.[SNAPSHOT_LABEL] === release;
}

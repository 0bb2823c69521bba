/** Objects of an API server as raw JSON, and how a kind of them is addressed. */

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
};

export interface ApiMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly unknown[];
  readonly [field: string]: unknown;
}

/** Never passed through a typed serializer, which would lose what it does not know. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ApiMetadata;
  readonly [field: string]: unknown;
}

export interface Resource {
  /** `v1`, `apps/v1`, `modelgateway.dev/v1alpha1`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

export const CONFIG_MAPS: Resource = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' };
export const SECRETS: Resource = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' };
export const LEASES: Resource = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' };
export const EVENTS: Resource = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' };
export const ENDPOINT_SLICES: Resource = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
};

export interface Address {
  /** undefined: all namespaces. */
  readonly namespace?: string | undefined;
  /** undefined: the collection. */
  readonly name?: string | undefined;
  readonly subresource?: 'status' | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
}

/** Path of a resource, with its query. */
export function pathOf(
  { apiVersion, plural }: Resource,
  { namespace, name, subresource, query = {} }: Address,
): string {
  const parts = [
    apiVersion.includes('/') ? 'apis' : 'api',
    apiVersion,
    ...(namespace === undefined ? [] : ['namespaces', encodeURIComponent(namespace)]),
    plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  const given = Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]));
  const text = new URLSearchParams(given).toString();
  return `/${parts.join('/')}${text === '' ? '' : `?${text}`}`;
}

/** `namespace/name`, or the name of what has no namespace. */
export function keyOf({ metadata: { namespace, name } }: ApiObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** EndpointSlices -> where gateways are. */
import type { ApiObject, OwnerReference } from '#crds/api/api-object.ts';
import { z } from '#crds/config/words.ts';

export interface Endpoint {
  /** Name of the pod, else where it is. */
  readonly name: string;
  readonly address: string;
  /** Of its port `admin`, where the slice names one. */
  readonly port?: number;
}

/** Slices of one Service may differ in the numbers of their ports, and go by their names. */
const ADMIN_PORT = 'admin';

const conditions = z.object({ ready: z.boolean().nullish(), terminating: z.boolean().nullish() });
const endpoint = z.object({
  addresses: z.array(z.string()).min(1),
  conditions: conditions.nullish(),
  targetRef: z.object({ name: z.string() }).nullish(),
});
const slice = z.object({
  addressType: z.enum(['IPv4', 'IPv6']),
  endpoints: z.array(endpoint).nullish(),
  ports: z.array(z.object({ name: z.string().nullish(), port: z.number().nullish() })).nullish(),
});

/**
 * Ready endpoints, in order of their names; those that leave are none. What is in several slices, by address and port, counts
 * once, and so does a pod that has an address of each family. What is no EndpointSlice of addresses is left out.
 */
export function endpointsOf(slices: Iterable<ApiObject>): readonly Endpoint[] {
  return inOrder([...slices].flatMap((one) => endpointsIn(one, isReady)));
}

function inOrder(endpoints: Found[]): readonly Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const { isIPv6: _, ...one } of endpoints.sort(byFamily)) {
    if (!found.has(one.name)) found.set(one.name, one);
  }
  const byPlace = new Map([...found.values()].map((one) => [placeOf(one), one]));
  return [...byPlace.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** As `endpointsOf`, but for those that are not ready, or about to leave, as well: what they did counts. */
export function allEndpointsOf(slices: Iterable<ApiObject>): readonly Endpoint[] {
  return inOrder([...slices].flatMap((one) => endpointsIn(one, () => true)));
}

/** Unequal for endpoints that are asked at different places. */
export function placeOf({ address, port }: Omit<Endpoint, 'name'>): string {
  return port === undefined ? address : `${address} ${port}`;
}

/** The Service that the slices were made for; undefined: somebody made them by hand, or there are none. */
export function serviceOf(slices: Iterable<ApiObject>): OwnerReference | undefined {
  for (const { metadata } of slices) {
    const owner = metadata.ownerReferences?.find(({ kind, apiVersion }) => kind === 'Service' && apiVersion === 'v1');
    if (owner !== undefined)
      return { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid };
  }
  return undefined;
}

interface Found extends Endpoint {
  readonly isIPv6: boolean;
}

type State = z.infer<typeof endpoint>['conditions'];

function isReady(state: State): boolean {
  return state?.ready !== false && state?.terminating !== true;
}

function endpointsIn(object: ApiObject, isWanted: (state: State) => boolean): Found[] {
  const parsed = slice.safeParse(object);
  if (!parsed.success) return [];
  const { addressType, endpoints, ports } = parsed.data;
  const port = ports?.find(({ name }) => name === ADMIN_PORT)?.port ?? undefined;
  return (endpoints ?? []).flatMap(({ addresses: [address = ''], conditions: state, targetRef }) => {
    if (!isWanted(state)) return [];
    const place = port === undefined ? { address } : { address, port };
    return [{ name: targetRef?.name ?? placeOf(place), ...place, isIPv6: addressType === 'IPv6' }];
  });
}

/** The same address of a pod each time, whatever the order of slices. */
function byFamily(a: Found, b: Found): number {
  if (a.isIPv6 !== b.isIPv6) return a.isIPv6 ? 1 : -1;
  const [one = '', other = ''] = [a, b].map((endpoint) => `${placeOf(endpoint)} ${endpoint.name}`);
  return one < other ? -1 : 1;
}

/** EndpointSlices -> where gateways are. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { z } from '#crds/config/words.ts';

export interface Endpoint {
  /** Name of the pod, else the address. */
  readonly name: string;
  readonly address: string;
}

const conditions = z.object({ ready: z.boolean().nullish(), terminating: z.boolean().nullish() });
const endpoint = z.object({
  addresses: z.array(z.string()).min(1),
  conditions: conditions.nullish(),
  targetRef: z.object({ name: z.string() }).nullish(),
});
const slice = z.object({
  addressType: z.enum(['IPv4', 'IPv6']),
  endpoints: z.array(endpoint).nullish(),
});

/**
 * Ready endpoints, in order of their names; those that leave are none. An address that is in several slices counts once, and so
 * does a pod that has an address of each family. What is no EndpointSlice of addresses is left out.
 */
export function endpointsOf(slices: Iterable<ApiObject>): readonly Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const { name, address } of [...slices].flatMap(readyIn).sort(byFamily)) {
    if (!found.has(name)) found.set(name, { name, address });
  }
  const byAddress = new Map([...found.values()].map((one) => [one.address, one]));
  return [...byAddress.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface Ready extends Endpoint {
  readonly isIPv6: boolean;
}

function readyIn(object: ApiObject): Ready[] {
  const parsed = slice.safeParse(object);
  if (!parsed.success) return [];
  const { addressType, endpoints } = parsed.data;
  return (endpoints ?? []).flatMap(({ addresses: [address = ''], conditions: state, targetRef }) => {
    if (state?.ready === false || state?.terminating === true) return [];
    return [{ name: targetRef?.name ?? address, address, isIPv6: addressType === 'IPv6' }];
  });
}

/** The same address of a pod each time, whatever the order of slices. */
function byFamily(a: Ready, b: Ready): number {
  if (a.isIPv6 !== b.isIPv6) return a.isIPv6 ? 1 : -1;
  const [one, other] = [a, b].map(({ address, name }) => `${address} ${name}`);
  return (one ?? '') < (other ?? '') ? -1 : 1;
}

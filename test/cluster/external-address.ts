/** Where this machine can be reached from outside: what an EndpointSlice may hold, which refuses loopback. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

export const NO_ADDRESS = 'this machine has none but loopback, which EndpointSlices refuse';

export interface ExternalAddress {
  readonly address: string;
  readonly addressType: 'IPv4' | 'IPv6';
}

/** EndpointSlices refuse them too. */
const LINK_LOCAL = /^(?:169\.254\.|fe[89ab])/i;

/** The first of IPv4, else of IPv6. */
export function externalAddress(
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(),
): ExternalAddress | undefined {
  const outer = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !LINK_LOCAL.test(address));
  const found = outer.find(({ family }) => family === 'IPv4') ?? outer[0];
  return found === undefined ? undefined : { address: found.address, addressType: found.family };
}

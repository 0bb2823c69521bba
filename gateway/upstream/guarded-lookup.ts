/** Name resolution for hosts that an outsider named. */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { GatewayError } from '../errors.ts';
import { isPublicAddress } from './addresses.ts';

/**
 * Resolves a name and refuses it if any of its addresses is private and not an origin in `listed`: the check and the
 * connection see the same addresses.
 */
export function guardedLookup(url: URL, listed: ReadonlySet<string>): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const hidden = addresses.find(({ address }) => !isReachable(url, address, listed));
      if (hidden !== undefined) return callback(hostRefusal(), '', 0);
      if (options.all) return callback(null, addresses);
      const first = addresses[0];
      return first === undefined ? callback(hostRefusal(), '', 0) : callback(null, first.address, first.family);
    });
  };
}

function isReachable(url: URL, address: string, listed: ReadonlySet<string>): boolean {
  if (isPublicAddress(address)) return true;
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return listed.has(new URL(`${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`).origin);
}

function hostRefusal(): GatewayError {
  return new GatewayError(
    'host_not_allowed',
    'The custom host leads to a private address that this installation does not list.',
  );
}

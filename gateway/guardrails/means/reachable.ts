/** Whether an outsider's URL may be followed: public addresses, and origins that the installation lists. */
import { isIP } from 'node:net';
import { isPublicAddress } from '../../upstream/addresses.ts';
import { guardedLookup } from '../../upstream/guarded-lookup.ts';

/** Addresses as they stand are seen here; names are seen when they are resolved. */
export function isReachable(url: URL, listed: ReadonlySet<string>): boolean {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false;
  if (listed.has(url.origin)) return true;
  if (url.username !== '' || url.password !== '' || url.port !== '' || url.hostname.endsWith('.')) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isPublicAddress(host);
}

/** Whether its host has addresses, all of which may be gone to. Rejected where nobody can say. */
export function resolves(url: URL, listed: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!isReachable(url, listed)) return Promise.resolve(false);
  if (isIP(host) !== 0) return Promise.resolve(true);
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    guardedLookup(url, listed)(host, { all: true }, (error) => {
      if (error === null) resolve(true);
      else if (isNoHost(error)) resolve(false);
      else reject(error);
    });
  });
}

const NO_HOST: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'ENODATA', 'host_not_allowed']);

function isNoHost(error: NodeJS.ErrnoException): boolean {
  return NO_HOST.has(error.code);
}

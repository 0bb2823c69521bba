/** Where a shared store is, as an administrator writes it. */
import type { FlagOutcome } from './flag-kinds.ts';

export interface StoreNode {
  readonly host: string;
  readonly port: number;
}

export interface StoreAddress {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly isTls: boolean;
  /** At least one: the server, the sentinels, or nodes of the cluster. */
  readonly nodes: readonly StoreNode[];
  /** What sentinels call the master; '' where there are none. */
  readonly master: string;
  /** Number of the database; 0 in a cluster. */
  readonly database: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const FORM = /^(redis|rediss)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?#]+)(\/[^?#]*)?$/;
const NODE = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/;
const FORMS =
  'redis://host:6379/0, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379 (rediss for TLS)';
const DEFAULT_PORTS = { single: 6379, sentinel: 26379, cluster: 6379 } as const;
const MAX_PORT = 65_535;

/** As a flag's value; a problem never tells the text, which may hold a password. */
export function storeAddress(text: string): FlagOutcome<StoreAddress> {
  const [, scheme, form, userinfo, hosts, path = ''] = FORM.exec(text) ?? [];
  if (scheme === undefined || hosts === undefined) return { problem: `must be ${FORMS}` };
  const kind = form === 'sentinel' || form === 'cluster' ? form : 'single';
  const nodes = hosts.split(',').map((host) => nodeOf(host, DEFAULT_PORTS[kind]));
  if (!nodes.every((node) => node !== undefined)) return { problem: 'must name hosts as host:port, divided by commas' };
  if (kind === 'single' && nodes.length > 1)
    return { problem: 'names several hosts: must begin with redis+sentinel:// or redis+cluster://' };
  const where = placeOf(kind, path.slice(1));
  if ('problem' in where) return where;
  const credential = credentialOf(userinfo);
  if (credential === undefined) return { problem: 'must have special characters of user and password as %XX' };
  return { value: { kind, isTls: scheme === 'rediss', nodes, ...where, ...credential } };
}

function nodeOf(text: string, defaultPort: number): StoreNode | undefined {
  const [, host, digits] = NODE.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port < 1 || port > MAX_PORT) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

type Place = Pick<StoreAddress, 'master' | 'database'>;

function placeOf(kind: StoreAddress['kind'], path: string): Place | { readonly problem: string } {
  const [master = '', database = ''] = kind === 'sentinel' ? path.split('/') : ['', path];
  if (kind === 'sentinel' && master === '') return { problem: "must end with /<the master's name>" };
  if (!/^\d{0,4}$/.test(database)) return { problem: 'must name the database by a number' };
  if (kind === 'cluster' && Number(database) !== 0) return { problem: 'must name no database: a cluster has one' };
  return { master, database: Number(database) };
}

type Credential = Pick<StoreAddress, 'username' | 'password'>;

/** `user:password@`, `:password@`; one word alone is a password too, as many write it. */
function credentialOf(userinfo: string | undefined): Credential | undefined {
  if (userinfo === undefined || userinfo === '') return { username: undefined, password: undefined };
  const colon = userinfo.indexOf(':');
  try {
    const username = colon > 0 ? decodeURIComponent(userinfo.slice(0, colon)) : undefined;
    const password = decodeURIComponent(userinfo.slice(colon + 1));
    return { username, password: password === '' ? undefined : password };
  } catch {
    return undefined;
  }
}

/** For people: where it is, without user and password. */
export function shownAddress({ kind, isTls, nodes, master }: StoreAddress): string {
  const scheme = `${isTls ? 'rediss' : 'redis'}${kind === 'single' ? '' : `+${kind}`}`;
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  return `${scheme}://${hosts.join(',')}${master === '' ? '' : `/${master}`}`;
}

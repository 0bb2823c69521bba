/** What may happen to requests. */
import type { Resource } from '#crds/api/api-object.ts';
import type { ApiRequest } from '#crds/api/transport.ts';
import type { Injected } from './event-faults.ts';
import { Failure } from './failure.ts';

export interface RequestMatch {
  /** Identity of the client. */
  readonly who?: string;
  readonly method?: ApiRequest['method'];
  /** Of the path with its query. */
  readonly path?: RegExp;
  readonly resource?: Resource;
  /** true: watches alone; false: all but watches. */
  readonly isWatch?: boolean;
  /** The first matching request that it happens to, from 1. */
  readonly nth?: number;
  /** To how many of them from then on. Default: all. */
  readonly times?: number;
}

export interface StatusFault {
  /** Answered without doing anything. */
  readonly status: number;
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
}

export type RequestFault =
  | StatusFault
  /** No connection. */
  | 'refuse'
  /** A black hole: nothing is done or answered until `release()`. */
  | 'hang'
  /** It is done, and answered so late. */
  | { readonly delayMs: number }
  /** It is done, and the connection breaks after so many bytes of the body; 0: before the status. */
  | { readonly cutAfterBytes: number };

export interface InjectedRequests extends Injected {
  /** Those that hang go on. */
  release(): void;
}

export interface Asked {
  readonly who: string;
  readonly request: ApiRequest;
}

/** What is to happen to one request. */
export interface Fate {
  readonly delayMs?: number;
  readonly cutAfterBytes?: number;
}

interface Rule extends InjectedRequests {
  seen: number;
  hits: number;
  readonly match: RequestMatch;
  readonly fault: RequestFault;
  readonly released: Promise<void>;
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export class RequestFaults {
  readonly #rules = new Set<Rule>();

  add(match: RequestMatch, fault: RequestFault): InjectedRequests {
    const { promise, resolve } = Promise.withResolvers<void>();
    const remove = () => {
      this.#rules.delete(rule);
      resolve();
    };
    const rule: Rule = { match, fault, seen: 0, hits: 0, released: promise, remove, release: remove };
    this.#rules.add(rule);
    return rule;
  }

  /** Waits as long as it shall hang. Throws what shall be thrown. */
  async meet(asked: Asked): Promise<Fate> {
    const rule = [...this.#rules].find((candidate) => hits(candidate, asked));
    if (rule === undefined) return {};
    const { fault, released } = rule;
    if (fault === 'refuse') throw refused();
    if (fault === 'hang') {
      await released;
      return {};
    }
    if ('status' in fault) throw failureOf(fault);
    return fault;
  }
}

function failureOf({ status, reason = REASONS[status], retryAfterSeconds }: StatusFault): Failure {
  return new Failure(`injected: ${status}`, { status, reason, retryAfterSeconds });
}

/** As Node says it. */
export function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6443'), { code: 'ECONNREFUSED' });
}

export function reset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}

export function isWatchPath(path: string): boolean {
  return /[?&]watch=(?:true|1)\b/.test(path);
}

function hits(rule: Rule, { who, request: { method, path } }: Asked): boolean {
  const { match } = rule;
  const { nth = 1, times = Number.POSITIVE_INFINITY } = match;
  const isMeant =
    (match.who === undefined || match.who === who) &&
    (match.method === undefined || match.method === method) &&
    (match.path === undefined || match.path.test(path)) &&
    (match.resource === undefined || isOfResource(match.resource, path)) &&
    (match.isWatch === undefined || match.isWatch === isWatchPath(path));
  if (!isMeant) return false;
  rule.seen += 1;
  const isHit = rule.seen >= nth && rule.seen < nth + times;
  if (isHit) rule.hits += 1;
  return isHit;
}

function isOfResource({ apiVersion, plural }: Resource, path: string): boolean {
  const { pathname } = new URL(path, 'http://server');
  const [, version, rest = ''] = /^\/apis?\/(v1(?=\/)|[^/]+\/[^/]+)\/(.*)$/.exec(pathname) ?? [];
  return version === apiVersion && rest.replace(/^namespaces\/[^/]+\/(?=.)/, '').split('/')[0] === plural;
}

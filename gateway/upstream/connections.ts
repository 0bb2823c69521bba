/**
 * The only file that opens upstream sockets. Keeps one stack of idle connections per origin: the one used last is used
 * first, so that finding one costs the same with 5 as with 5,000 open streams.
 */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { isPublicAddress } from './addresses.ts';

const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE_MAX_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** Idle connections kept per origin; more are closed when they come back. */
const MAX_IDLE = 256;
const SWEEP_MS = 30_000;

export interface Lane {
  readonly origin: string;
  readonly idle: Client[];
  open: number;
}

export class Connections {
  private readonly lanes = new Map<string, Lane>();
  private readonly sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref();

  /**
   * The lane of an origin. Guarded lanes connect only to public addresses or to origins in `listed`.
   * Connections of a lane are never shared with another.
   */
  lane(origin: string, listed?: ReadonlySet<string>): Lane {
    const key = listed === undefined ? origin : `guarded ${origin} ${[...listed].join(' ')}`;
    let lane = this.lanes.get(key);
    if (lane === undefined) {
      lane = new GuardableLane(origin, listed);
      this.lanes.set(key, lane);
    }
    return lane;
  }

  take(lane: Lane): Client {
    for (;;) {
      const client = lane.idle.pop();
      if (client === undefined) break;
      if (!client.closed && !client.destroyed) return client;
    }
    lane.open += 1;
    return (lane as GuardableLane).connect();
  }

  give(lane: Lane, client: Client): void {
    if (!client.destroyed && !client.closed && lane.idle.length < MAX_IDLE) lane.idle.push(client);
    else this.discard(lane, client);
  }

  discard(lane: Lane, client: Client): void {
    lane.open -= 1;
    if (!client.destroyed) client.destroy().catch(() => undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.sweeper);
    const clients = [...this.lanes.values()].flatMap((lane) => lane.idle);
    this.lanes.clear();
    await Promise.all(clients.map((client) => client.destroy()));
  }

  /** Drops idle clients whose socket is gone, and lanes that nobody uses any more. */
  private sweep(): void {
    for (const [key, lane] of this.lanes) {
      const kept = lane.idle.filter((client) => client.stats.connected);
      for (const client of lane.idle) if (!kept.includes(client)) this.discard(lane, client);
      lane.idle.splice(0, lane.idle.length, ...kept);
      if (lane.open === 0) this.lanes.delete(key);
    }
  }
}

class GuardableLane implements Lane {
  readonly origin: string;
  readonly idle: Client[] = [];
  open = 0;
  private readonly options: Client.Options;

  constructor(origin: string, listed: ReadonlySet<string> | undefined) {
    this.origin = origin;
    this.options = {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      allowH2: false,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        ...(listed === undefined ? {} : { lookup: guardedLookup(origin, listed) }),
      },
    };
  }

  connect(): Client {
    return new Client(this.origin, this.options);
  }
}

/** Resolves a name and refuses it if any of its addresses is private: the check and the connection see the same addresses. */
function guardedLookup(origin: string, listed: ReadonlySet<string>): LookupFunction {
  const url = new URL(origin);
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

export type UpstreamHandler = Dispatcher.DispatchHandler;

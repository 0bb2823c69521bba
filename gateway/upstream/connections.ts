/**
 * The connections to upstreams. Keeps one stack of idle ones per origin: the one used last is used first, so that finding
 * one costs the same with 5 as with 5,000 open streams.
 */
import { guardedLookup } from './guarded-lookup.ts';
import { type Address, Connection } from './http1/connection.ts';

/** How long an idle connection is kept, unless the upstream's `keep-alive` says less. */
const KEEP_ALIVE_MS = 15_000;
/** What is taken from the upstream's own limit, so that a request does not cross its goodbye. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
/** Idle connections kept per origin; more are closed when they come back. As many as there may be streams at a time. */
const MAX_IDLE = 1024;
const SWEEP_MS = 5_000;

export interface Lane {
  /** Name and port, as the `host` header has it. */
  readonly host: string;
  readonly address: Address;
  readonly idle: Connection[];
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
      lane = newLane(origin, listed);
      this.lanes.set(key, lane);
    }
    return lane;
  }

  take(lane: Lane): Connection {
    const now = performance.now();
    for (let connection = lane.idle.pop(); connection !== undefined; connection = lane.idle.pop()) {
      if (connection.isQuiet && now < connection.goodUntil) {
        connection.restedMs = now - connection.idleSince;
        return connection;
      }
      this.discard(lane, connection);
    }
    return this.open(lane);
  }

  /** A new one, whatever is idle. */
  open(lane: Lane): Connection {
    lane.open += 1;
    return new Connection(lane.address);
  }

  /** `keepAlive` is the upstream's header of that name, '' without one. */
  give(lane: Lane, connection: Connection, keepAlive: string): void {
    const keptMs = keepAlive === '' ? KEEP_ALIVE_MS : keptFor(keepAlive);
    if (keptMs <= 0 || !connection.isQuiet || lane.idle.length >= MAX_IDLE) return this.discard(lane, connection);
    // A slow caller may have held it back to the last: nobody would hear the next answer, nor a goodbye.
    connection.resume();
    connection.idleSince = performance.now();
    connection.goodUntil = connection.idleSince + keptMs;
    lane.idle.push(connection);
  }

  discard(lane: Lane, connection: Connection): void {
    lane.open -= 1;
    connection.destroy();
  }

  close(): void {
    clearInterval(this.sweeper);
    for (const lane of this.lanes.values()) for (const connection of lane.idle) connection.destroy();
    this.lanes.clear();
  }

  /** Drops idle connections that are of no use, and lanes that nobody uses any more. */
  private sweep(): void {
    const now = performance.now();
    for (const [key, lane] of this.lanes) {
      const connections = lane.idle.splice(0);
      for (const connection of connections) {
        if (connection.isQuiet && now < connection.goodUntil) lane.idle.push(connection);
        else this.discard(lane, connection);
      }
      if (lane.open === 0) this.lanes.delete(key);
    }
  }
}

function keptFor(keepAlive: string): number {
  const seconds = /timeout=(\d{1,6})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? KEEP_ALIVE_MS : Math.min(KEEP_ALIVE_MS, Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS);
}

function newLane(origin: string, listed: ReadonlySet<string> | undefined): Lane {
  const url = new URL(origin);
  const secure = url.protocol === 'https:';
  const address: Address = {
    secure,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    lookup: listed === undefined ? undefined : guardedLookup(url, listed),
    session: undefined,
  };
  return { host: url.host, address, idle: [], open: 0 };
}

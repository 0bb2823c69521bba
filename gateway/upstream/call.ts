/** One HTTP call to an upstream: takes a connection, gives it back, and survives a pooled connection that died unnoticed. */
import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '../errors.ts';
import type { Connections, Lane } from './connections.ts';
import { networkFailure } from './failure.ts';
import type { Connection, ConnectionUser } from './http1/connection.ts';
import { requestHead } from './http1/request-head.ts';

/** What becomes of the answer. After `onEnd` or `onFailure` nothing more is called. */
export interface CallEvents {
  onHead(status: number, headers: IncomingHttpHeaders): void;
  onBytes(chunk: Buffer): void;
  onEnd(): void;
  onFailure(error: GatewayError): void;
}

export interface CallRequest {
  /** Default: POST. */
  readonly method?: string;
  readonly path: string;
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  readonly body: Buffer | string;
}

/** No upstream closes a connection that was idle for a shorter time. */
const STALE_FROM_MS = 1_000;

export class UpstreamCall implements ConnectionUser {
  private readonly connections: Connections;
  private readonly lane: Lane;
  private readonly request: CallRequest;
  private readonly provider: string;
  private readonly events: CallEvents;
  private connection: Connection | undefined;
  private headers: IncomingHttpHeaders | undefined;
  private over = false;

  constructor(connections: Connections, lane: Lane, request: CallRequest, provider: string, events: CallEvents) {
    this.connections = connections;
    this.lane = lane;
    this.request = request;
    this.provider = provider;
    this.events = events;
  }

  start(): void {
    this.ask((lane) => this.connections.take(lane));
  }

  private ask(connect: (lane: Lane) => Connection): void {
    const { method = 'POST', path, headers, body } = this.request;
    const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    try {
      const head = requestHead(this.lane.host, method, path, headers, bodyBytes);
      this.connection = connect(this.lane);
      this.connection.send(head, body, bodyBytes, this);
    } catch (error) {
      this.onLost(error as Error);
    }
  }

  pause(): void {
    this.connection?.pause();
  }

  resume(): void {
    this.connection?.resume();
  }

  /** Ends the call without a word to `events`; the upstream sees the connection close. */
  abort(): void {
    this.over = true;
    this.release(false);
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.headers = headers;
    this.events.onHead(status, headers);
  }

  onBytes(chunk: Buffer): void {
    if (!this.over) this.events.onBytes(chunk);
  }

  onEnd(reusable: boolean): void {
    if (this.over) return;
    this.over = true;
    this.release(reusable);
    this.events.onEnd();
  }

  onLost(error: Error): void {
    if (this.over) return;
    const isStale = this.isStale();
    const hasAnswered = this.connection?.hasAnswered ?? false;
    this.release(false);
    if (isStale) return this.ask((lane) => this.connections.open(lane));
    this.over = true;
    this.events.onFailure(networkFailure(error, this.provider, hasAnswered));
  }

  /**
   * A kept-alive connection that the upstream had closed before it saw this request: asked once more, on a new one. One that
   * was in use a moment ago was broken because of this request, which is then not asked twice.
   */
  private isStale(): boolean {
    const { connection } = this;
    return connection !== undefined && connection.restedMs >= STALE_FROM_MS && !connection.hasAnswered;
  }

  private release(reusable: boolean): void {
    const { connection } = this;
    if (connection === undefined) return;
    this.connection = undefined;
    if (reusable) this.connections.give(this.lane, connection, String(this.headers?.['keep-alive'] ?? ''));
    else this.connections.discard(this.lane, connection);
  }
}

/** One HTTP call to an upstream: takes a connection, gives it back, and survives a pooled connection that died unnoticed. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Client, Dispatcher } from 'undici';
import type { GatewayError } from '../errors.ts';
import type { Connections, Lane } from './connections.ts';
import { networkFailure } from './failure.ts';

/** What becomes of the answer. After `onEnd` or `onFailure` nothing more is called. */
export interface CallEvents {
  onHead(status: number, headers: IncomingHttpHeaders): void;
  onBytes(chunk: Buffer): void;
  onEnd(): void;
  onFailure(error: GatewayError): void;
}

export interface CallRequest {
  readonly path: string;
  /** Flat list of names and values. */
  readonly headers: string[];
  readonly body: Buffer | string;
}

const STALE_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

export class UpstreamCall implements Dispatcher.DispatchHandler {
  private readonly connections: Connections;
  private readonly lane: Lane;
  private readonly request: CallRequest;
  private readonly provider: string;
  private readonly events: CallEvents;
  private client: Client | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private reused = false;
  private headersSeen = false;
  private over = false;

  constructor(connections: Connections, lane: Lane, request: CallRequest, provider: string, events: CallEvents) {
    this.connections = connections;
    this.lane = lane;
    this.request = request;
    this.provider = provider;
    this.events = events;
  }

  start(): void {
    const client = this.connections.take(this.lane);
    this.client = client;
    this.reused = client.stats.connected;
    const { path, headers, body } = this.request;
    client.dispatch({ path, method: 'POST', headers, body }, this);
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  /** Ends the call without a word to `events`; the upstream sees the connection close. */
  abort(): void {
    if (this.over) return;
    this.over = true;
    this.controller?.abort(new Error('The call was given up.'));
    this.release(false);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.over) controller.abort(new Error('The call was given up.'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.over || status < 200) return;
    this.headersSeen = true;
    this.events.onHead(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.over) this.events.onBytes(chunk);
  }

  onResponseEnd(): void {
    if (this.over) return;
    this.over = true;
    this.release(true);
    this.events.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.over) return;
    if (this.isStale(error)) {
      this.release(false);
      this.controller = undefined;
      this.start();
      return;
    }
    this.over = true;
    this.release(false);
    this.events.onFailure(networkFailure(error, this.provider, this.headersSeen));
  }

  /** A kept-alive connection that the upstream had closed before it saw this request: asked once more on another. */
  private isStale(error: Error): boolean {
    return this.reused && !this.headersSeen && STALE_CODES.has((error as { code?: string }).code ?? '');
  }

  private release(reusable: boolean): void {
    const client = this.client;
    if (client === undefined) return;
    this.client = undefined;
    if (reusable) this.connections.give(this.lane, client);
    else this.connections.discard(this.lane, client);
  }
}

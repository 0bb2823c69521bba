/** Stands between an operator and the API server, counts its writes, and strikes at one of them. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ClusterAccess } from '../cluster/cluster-access.ts';

export interface Strike {
  /** From 1: which of the writes. */
  readonly at: number;
  /** `before`: the API server never sees it. `after`: the operator never sees the answer. */
  readonly moment: 'before' | 'after';
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
/** Leases are renewed all the time, whatever there is to do; Events tell of writes that were counted, and are no state. */
const NO_WORK = /\/(?:leases|events)(?:[/?]|$)/;

export class WriteProxy {
  readonly origin: string;
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #target: URL;
  #writes: string[] = [];
  #strike: { readonly strike: Strike; readonly kill: () => void } | undefined;
  /** Whom it let die sends nothing any more. */
  #isCut = false;

  constructor(server: Server, { origin, caFile }: ClusterAccess) {
    this.#server = server;
    this.#agent = new Agent({ ca: readFileSync(caFile), keepAlive: true });
    this.#target = new URL(origin);
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (asked: IncomingMessage, answer: ServerResponse) => this.#pass(asked, answer));
  }

  /** `METHOD path` of each write since the last `arm`. */
  get writes(): readonly string[] {
    return this.#writes;
  }

  /** Whether it struck since the last `arm`. */
  get hasStruck(): boolean {
    return this.#isCut;
  }

  /** Counts from now on, and calls `kill` at the write that is meant; undefined: at none. */
  arm(strike: Strike | undefined, kill: () => void): void {
    this.#writes = [];
    this.#isCut = false;
    this.#strike = strike === undefined ? undefined : { strike, kill };
  }

  /** Passes everything again, and strikes no more. */
  mend(): void {
    this.#strike = undefined;
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    const moment = this.#isCut ? 'before' : this.#count(asked);
    if (moment === 'before') this.#cut();
    if (this.#isCut) {
      answer.destroy();
      return;
    }
    const { method, url: path, headers } = asked;
    const { hostname, port } = this.#target;
    const onward = request({ agent: this.#agent, hostname, port, method, path, headers });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    onward.on('response', (answered) => {
      if (moment === 'after') {
        answered.resume().on('end', () => {
          this.#cut();
          answer.destroy();
        });
        return;
      }
      answer.writeHead(answered.statusCode ?? 500, answered.headers).flushHeaders();
      answered.on('error', () => answer.destroy()).pipe(answer);
    });
    asked.pipe(onward);
  }

  /** The moment at which to strike, if this is the write that is meant. */
  #count({ method = '', url = '' }: IncomingMessage): Strike['moment'] | undefined {
    if (!WRITES.has(method) || NO_WORK.test(url)) return undefined;
    this.#writes.push(`${method} ${url.split('?')[0]}`);
    const strike = this.#strike?.strike;
    return strike?.at === this.#writes.length ? strike.moment : undefined;
  }

  #cut(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#strike?.kill();
  }
}

export async function startWriteProxy(access: ClusterAccess): Promise<WriteProxy> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new WriteProxy(server, access);
}

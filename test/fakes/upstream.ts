/** A real HTTP server on loopback that answers as a test scripts it, and remembers what it was asked. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Reply } from './replies.ts';
import { waitFor } from './wait-for.ts';

/** One request as it arrived. Times are `performance.now()` milliseconds. */
export interface Call {
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** [name, value, name, value, ...] as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly receivedAt: number;
  /** When the caller broke the connection before the answer was complete. */
  abortedAt: number | undefined;
  /** When the answer was handed over whole. */
  finishedAt: number | undefined;
}

/** One reply for all requests, one for each in turn (the last repeats), or a function. */
export type Script = Reply | readonly Reply[] | ((call: Call, index: number) => Reply);

export interface Upstream {
  /** E.g. `http://127.0.0.1:43123`. */
  readonly origin: string;
  readonly port: number;
  /** In the order in which they had arrived whole. */
  readonly calls: readonly Call[];
  /** Connections accepted so far, and those that are open now. */
  readonly connections: { readonly accepted: number; readonly open: number };
  /** Replaces the script; the turn of a list starts anew. */
  answer(script: Script): void;
  /** The JSON body of call `index` (negative: from the end). */
  json(index?: number): Record<string, unknown>;
  /** Waits until `count` calls have arrived. */
  called(count: number): Promise<void>;
  close(): Promise<void>;
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body: Buffer.concat(chunks).toString(),
    receivedAt: performance.now(),
    abortedAt: undefined,
    finishedAt: undefined,
  };
}

function observe(response: ServerResponse, call: Call): void {
  response.once('close', () => {
    if (response.writableFinished) call.finishedAt = performance.now();
    else call.abortedAt = performance.now();
  });
}

/** The reply for the `turn`-th call of a script. */
function pick(script: Script, call: Call, turn: number): Reply {
  if (typeof script === 'function') return script(call, turn);
  if (!('length' in script)) return script;
  const reply = script[Math.min(turn, script.length - 1)];
  if (reply === undefined) throw new Error('A script needs one reply at least.');
  return reply;
}

class ScriptedUpstream implements Upstream {
  readonly calls: Call[] = [];
  readonly connections = { accepted: 0, open: 0 };
  readonly #server = createServer({ requestTimeout: 0, keepAliveTimeout: 600_000 }, (request, response) => {
    this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  #script: Script;
  #turn = 0;

  constructor(script: Script) {
    this.#script = script;
    this.#server.on('connection', (socket) => {
      this.connections.accepted++;
      this.connections.open++;
      socket.on('error', () => undefined);
      socket.once('close', () => this.connections.open--);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await readCall(request);
    observe(response, call);
    this.calls.push(call);
    await pick(this.#script, call, this.#turn++).send(response, call);
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  answer(script: Script): void {
    this.#script = script;
    this.#turn = 0;
  }

  json(index = -1): Record<string, unknown> {
    const call = this.calls.at(index);
    if (call === undefined) throw new Error(`There was no call ${index}: ${this.calls.length} arrived.`);
    return JSON.parse(call.body);
  }

  called(count: number): Promise<void> {
    return waitFor(() => this.calls.length >= count, `${count} calls at the upstream`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

/** Starts one on a free port of 127.0.0.1. */
export function startUpstream(script: Script): Promise<Upstream> {
  return new ScriptedUpstream(script).listen();
}

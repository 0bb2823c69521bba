/** A whole gateway on free ports of loopback, fed with manifests, as tests want it. */

import type { LineSink } from '#crds/command/line-writer.ts';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { type Gateway, type GatewayOptions, startGateway } from '#gateway/server.ts';
import type { ObjectStatus } from '#operator/compile/status.ts';
import { complaintsOf, MemoryWorld } from './memory-world.ts';

/** The key of the ApiKey `default/test` that every test gateway has. */
export const TEST_KEY = 'test-key-0123456789abcdef';

const TEST_KEY_MANIFESTS = `
apiVersion: v1
kind: Secret
metadata: {name: test-gateway-key}
stringData: {api_key: ${TEST_KEY}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: test}
spec: {type: workspace-service, secret_name: test-gateway-key}
`;

export interface TestGatewayOptions extends Partial<Omit<GatewayOptions, 'host' | 'port' | 'adminHost' | 'adminPort'>> {
  /** YAML documents. The ApiKey `default/test` with TEST_KEY is added to them. Default: nothing else. */
  readonly manifests?: string;
  /** Instead of manifests. */
  readonly snapshot?: Snapshot;
  /** Origins that a request may name as its custom host. */
  readonly requestHosts?: readonly string[];
  /** Load nothing: as a replica that waits for its first snapshot. */
  readonly empty?: boolean;
}

export interface ApplyOptions {
  /** Objects may be refused or unresolved; without it that is the test's mistake, and `apply` throws. */
  readonly allowComplaints?: boolean;
}

export interface TestGateway {
  readonly origin: string;
  readonly adminOrigin: string;
  /** TEST_KEY. */
  readonly key: string;
  /** Replaces all manifests (the test key stays), live. */
  apply(manifests: string, options?: ApplyOptions): readonly ObjectStatus[];
  /** Replaces the snapshot, live. Throws where the gateway refuses it. */
  load(snapshot: Snapshot): void;
  /** Key of another ApiKey, by the name of its Secret (`<name>-api-key` unless the manifest says otherwise). */
  keyIn(namespace: string, secret: string): string;
  /** POST of JSON with the test key; `headers` are added, or replace (`x-gateway-api-key: ''` leaves it out). */
  post(
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Response>;
  /** POST /v1/chat/completions. */
  chat(body: unknown, headers?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Response>;
  /** Log lines so far, parsed. */
  logs(): Promise<readonly Record<string, unknown>[]>;
  /** Text of `/metrics`. */
  metrics(): Promise<string>;
  /** Sum of a metric over all series whose labels include those given. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** The gateway itself, e.g. to drain it. `close` drains it where that was not done. */
  readonly gateway: Gateway;
  close(): Promise<void>;
}

/** Gathers what the gateway logs. */
class LogLines implements LineSink {
  #text = '';

  write(bytes: Uint8Array, done: (error: null, writtenBytes: number) => void): void {
    done(null, this.writeSync(bytes));
  }

  writeSync(bytes: Uint8Array): number {
    this.#text += Buffer.from(bytes).toString();
    return bytes.length;
  }

  get lines(): Record<string, unknown>[] {
    return this.#text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }
}

/** Longer than a line waits in the log before it is written. */
const LOG_DELAY_MS = 150;

function sumOf(text: string, name: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

class RunningGateway implements TestGateway {
  readonly key = TEST_KEY;
  readonly gateway: Gateway;
  readonly #world: MemoryWorld;
  readonly #log: LogLines;
  #generation = 0;
  #drained: Promise<void> | undefined;

  constructor(gateway: Gateway, world: MemoryWorld, log: LogLines) {
    this.gateway = { ...gateway, drain: () => this.close() };
    this.#drain = () => gateway.drain();
    this.#world = world;
    this.#log = log;
  }

  readonly #drain: () => Promise<void>;

  get origin(): string {
    return this.gateway.origin;
  }

  get adminOrigin(): string {
    return this.gateway.adminOrigin;
  }

  apply(manifests: string, { allowComplaints = false }: ApplyOptions = {}): readonly ObjectStatus[] {
    const { snapshot, statuses } = this.#world.compile(`${TEST_KEY_MANIFESTS}\n---\n${manifests}`);
    const complaints = complaintsOf(statuses);
    if (complaints.length > 0 && !allowComplaints) throw new Error(complaints.join('\n'));
    this.load(snapshot);
    return statuses;
  }

  load(snapshot: Snapshot): void {
    this.#generation += 1;
    const { refused } = this.gateway.load(encodeSnapshot(snapshot, this.#generation));
    if (refused !== undefined) throw new Error(`The gateway refused the snapshot: ${refused}`);
  }

  keyIn(namespace: string, secret: string): string {
    return this.#world.keyIn(namespace, secret);
  }

  post(
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    const all = { 'content-type': 'application/json', 'x-gateway-api-key': this.key, ...headers };
    const sent = Object.entries(all).filter(([, value]) => value !== '');
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(this.origin + path, { method: 'POST', headers: Object.fromEntries(sent), body: text, signal });
  }

  chat(body: unknown, headers?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Response> {
    return this.post('/v1/chat/completions', body, headers, signal);
  }

  async logs(): Promise<readonly Record<string, unknown>[]> {
    await new Promise((resolve) => setTimeout(resolve, LOG_DELAY_MS));
    return this.#log.lines;
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.adminOrigin}/metrics`)).text();
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return sumOf(await this.metrics(), name, labels);
  }

  close(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }
}

/** Starts one with its own log, metrics and simulator. Without `manifests` or `snapshot` it has the test key alone. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { manifests = '', snapshot, requestHosts = [], empty = false, ...rest } = options;
  const log = new LogLines();
  const started = {
    host: '127.0.0.1',
    port: 0,
    adminHost: '127.0.0.1',
    adminPort: 0,
    open: false,
    logLevel: 'info',
    graceMs: 0,
    drainMs: 1_000,
    ...rest,
    logSink: log,
  } as const;
  const running = new RunningGateway(await startGateway(started), new MemoryWorld({ requestHosts }), log);
  try {
    if (snapshot !== undefined) running.load(snapshot);
    else if (!empty) running.apply(manifests);
    return running;
  } catch (error) {
    await running.close();
    throw error;
  }
}

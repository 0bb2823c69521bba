/** The control plane as callers of a gateway reach it: once in embedded mode, once before an API server in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '#crds/api/api-client.ts';
import { ENDPOINT_SLICES } from '#crds/api/api-object.ts';
import { DEFAULT_KEY_PREFIX } from '#crds/keys/key-form.ts';
import { startFeed } from '#gateway/feed/start-feed.ts';
import { type Gateway, startGateway } from '#gateway/server.ts';
import { startOperator } from '#operator/operator.ts';
import { ControlWorld } from '#operator/rest/control-world.ts';
import { KubeObjects } from '#operator/rest/kube-objects.ts';
import { type ControlEntry, type ControlServer, startControlServer } from '#operator/rest/server.ts';
import { type ApiServer, startApiServer } from '../fakes/api-server/api-server.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { collectingSink } from '../gateway/telemetry/collecting-sink.ts';
import { endAll, start } from '../operator/embedded-process.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { KEYS, MANIFESTS, ORGANISATION, OTHER, TEAM, type Who } from './world.ts';

export interface Asked {
  /** Default: the admin of team-a. '' sends none. */
  readonly as?: Who | '';
  /** Instead: the key itself. */
  readonly key?: string;
  /** JSON, or text as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  /** Of a failure. */
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}

export interface RestStage {
  readonly origin: string;
  /** The words by which a 409 names who keeps what is in the manifests. */
  readonly keeper: RegExp;
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** Status of a chat completion. */
  chat(key: string): Promise<number>;
  close(): Promise<void>;
}

class Callers {
  readonly origin: string;

  constructor(origin: string) {
    this.origin = origin;
  }

  async ask(method: string, path: string, { as = 'team', key, body, headers = {} }: Asked = {}): Promise<Answer> {
    const presented = key ?? (as === '' ? undefined : KEYS[as]);
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(this.origin + path, {
      method,
      headers: {
        ...(presented === undefined ? {} : { 'x-gateway-api-key': presented }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: text ?? null,
    });
    const answer = (await response.json()) as Json;
    const error = (answer['error'] ?? {}) as Answer['error'];
    return { status: response.status, headers: response.headers, body: answer, error };
  }

  async chat(key: string): Promise<number> {
    const { status } = await this.ask('POST', '/v1/chat/completions', {
      key,
      body: { model: 'any', messages: [{ role: 'user', content: 'Hi' }] },
    });
    return status;
  }
}

export interface EmbeddedStage extends RestStage {
  readonly folder: Folder;
  /** At once, and starts another process on the same folder. */
  restart(): Promise<EmbeddedStage>;
}

/** `npm start` in a process of its own. */
export async function startEmbedded(
  flags: readonly string[] = [],
  folder = makeFolder({ 'm/all.yaml': MANIFESTS }),
): Promise<EmbeddedStage> {
  const running = await start(folder, ['--manifests', 'm', ...flags]);
  const callers = new Callers(running.origin);
  return {
    folder,
    origin: running.origin,
    keeper: /the file m\/all\.yaml:\d+/,
    ask: (...asked) => callers.ask(...asked),
    chat: (key) => callers.chat(key),
    async restart() {
      running.child.kill('SIGKILL');
      await running.ended;
      return startEmbedded(flags, folder);
    },
    async close() {
      await endAll();
      if (running.errors() !== '') throw new Error(running.errors());
    },
  };
}

const RELEASE = 'edge';
const NAMESPACE = 'gw';
const ADMIN_PORT = 8_788;

export interface ClusterStage extends RestStage {
  readonly server: ApiServer;
  readonly gateway: Gateway;
  /** What the operators answered. */
  readonly entries: readonly ControlEntry[];
  /** Ends the listener of the control plane; the operator goes on. */
  closeControl(): Promise<void>;
}

export interface ClusterOptions {
  /** Default 1. The control plane is that of the last one; with two, one that does not lead. */
  readonly operators?: number;
  readonly watchNamespaces?: readonly string[];
}

/** Operators and a gateway of this process, before an API server in memory, in real time. */
export async function startCluster({
  operators = 1,
  watchNamespaces = [],
}: ClusterOptions = {}): Promise<ClusterStage> {
  const server = startApiServer({ namespaces: [NAMESPACE, ORGANISATION, TEAM, OTHER] });
  server.apply(MANIFESTS);
  const entries: ControlEntry[] = [];
  const ends: (() => Promise<unknown>)[] = [];
  let control: ControlServer | undefined;
  const gatewayOrigin = { admin: '' };
  for (let number = 0; number < operators; number += 1) {
    const started = await startOne(server, { number, watchNamespaces, entries, gatewayOrigin });
    ends.unshift(started.close);
    control = started.control;
  }
  const gateway = await startFedGateway(server, control?.origin);
  ends.unshift(gateway.close);
  gatewayOrigin.admin = gateway.gateway.adminOrigin;
  tellEndpoints(server);
  const callers = new Callers(gateway.gateway.origin);
  await waitFor(async () => (await callers.chat(KEYS.team)) === 200, 'the first snapshot', 20_000);
  return {
    server,
    entries,
    gateway: gateway.gateway,
    origin: gateway.gateway.origin,
    keeper: /kept by test:/,
    ask: (...asked) => callers.ask(...asked),
    chat: (key) => callers.chat(key),
    closeControl: async () => control?.close(),
    async close() {
      for (const end of ends) await end();
      server.close();
      const defects = entries.filter(({ error }) => error === 'internal');
      if (defects.length > 0) throw new Error(`defects: ${defects.map(({ cause }) => (cause as Error).stack)}`);
    },
  };
}

interface OneOptions {
  readonly number: number;
  readonly watchNamespaces: readonly string[];
  readonly entries: ControlEntry[];
  readonly gatewayOrigin: { admin: string };
}

async function startOne(server: ApiServer, { number, watchNamespaces, entries, gatewayOrigin }: OneOptions) {
  const identity = `operator-${number}`;
  const transport = server.transport(identity);
  const operator = await startOperator({
    transport,
    ...{ namespace: NAMESPACE, release: RELEASE, watchNamespaces, maxShards: 2, identity },
    settings: { organisationNamespace: ORGANISATION, requestHosts: [], keyPrefix: DEFAULT_KEY_PREFIX },
    ...{ gatewayService: `${RELEASE}-gateway`, gatewayAdminPort: ADMIN_PORT, lease: `${RELEASE}-operator` },
    watcher: {
      onPass: () => {},
      onFault: () => {},
      onDefect: (error) => {
        throw error;
      },
      onLeading: () => {},
      onPublished: () => {},
    },
    fetchConfig: async () => (await fetch(`${gatewayOrigin.admin}/config`)).json(),
    fetchUsage: async () => (await fetch(`${gatewayOrigin.admin}/usage`)).json(),
  });
  if (number === 0) await waitFor(() => operator.isLeader(), 'a leader', 20_000);
  const world = new ControlWorld({
    objects: new KubeObjects({ client: new ApiClient(transport), namespaces: watchNamespaces }),
    organisationNamespace: ORGANISATION,
    open: false,
    pass: () => operator.pass(),
    observe: () => operator.observe(),
    rotateNow: (...asked) => operator.rotateNow(...asked),
  });
  const control = await startControlServer({
    host: '127.0.0.1',
    port: 0,
    world: () => world,
    onAnswered: (entry) => entries.push(entry),
  });
  const close = async () => {
    await control.close();
    await operator.close();
  };
  return { control, close };
}

async function startFedGateway(server: ApiServer, operatorUrl: string | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'rest-'));
  const gateway = await startGateway({
    ...{ host: '127.0.0.1', port: 0, adminHost: '127.0.0.1', adminPort: 0, open: false },
    ...{ logLevel: 'info', graceMs: 0, drainMs: 1_000, maxShards: 2, operatorUrl, logSink: collectingSink() },
  });
  const feed = await startFeed({ gateway, snapshotDir: folder, stateDir: join(folder, 'state'), maxShards: 2 });
  feed.follow({ client: new ApiClient(server.transport('gateway-0')), namespace: NAMESPACE, release: RELEASE });
  const close = async () => {
    await gateway.drain();
    await feed.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { gateway, close };
}

function tellEndpoints(server: ApiServer): void {
  const { apiVersion, kind } = ENDPOINT_SLICES;
  const service = `${RELEASE}-gateway`;
  const labels = { 'kubernetes.io/service-name': service };
  server.apply({
    apiVersion,
    kind,
    metadata: { name: `${service}-1`, namespace: NAMESPACE, labels },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: ['10.0.0.1'],
        conditions: { ready: true },
        targetRef: { kind: 'Pod', name: 'gateway-0', namespace: NAMESPACE },
      },
    ],
    ports: [{ name: 'admin', port: ADMIN_PORT, protocol: 'TCP' }],
  });
}

/** What each suite over both is told. */
export const STAGES: readonly (readonly [name: string, start: () => Promise<RestStage>])[] = [
  ['embedded', () => startEmbedded()],
  ['the cluster', () => startCluster()],
];

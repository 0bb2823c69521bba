/** A gateway of a cluster: serves what the operator publishes. */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ApiClient } from '#crds/api/api-client.ts';
import { readCommandLine } from '#crds/command/command-line.ts';
import { endOnSignals, projectVersion, refuseToStart } from '#crds/command/entry.ts';
import { type ListenError, listenProblem } from '#crds/command/listen-problem.ts';
import type { FlagValues } from '#crds/command/parse-flags.ts';
import type { CacheSettings } from './cache/open-cache.ts';
import type { FeedSources, RunningFeed } from './feed/start-feed.ts';
import { GATEWAY_FLAGS } from './flags.ts';
import type { OpenStore } from './limits/open-store.ts';
import type { Gateway } from './server.ts';

type Flags = FlagValues<typeof GATEWAY_FLAGS>;

interface Started {
  readonly gateway: Gateway;
  readonly feed: RunningFeed;
}

const USAGE = 'Usage: node gateway/main.ts [flags]\n\nServes the snapshots that the operator of a cluster publishes.\n';
const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** One for the watch, the rest for shards. */
const API_CONNECTIONS = 8;

const { values: flags } = readCommandLine(GATEWAY_FLAGS, USAGE, { environment: process.env });
const { gateway, feed } = await start(flags);
const { origin, adminOrigin, log } = gateway;
endOnSignals(async () => {
  log.event('info', 'draining: running requests are finished; a second signal ends them');
  await gateway.drain();
  await feed.close();
});
log.event('info', 'listening', { api: origin, admin: adminOrigin, version: projectVersion() });

if (!flags['no-api-watch']) await followApi(feed);

async function start({ host, port, 'admin-host': adminHost, 'admin-port': adminPort }: Flags): Promise<Started> {
  // Loaded here, so that --help and a wrong flag are answered at once.
  const { startGateway } = await import('./server.ts');
  const feed = Promise.withResolvers<RunningFeed>();
  try {
    const gateway = await startGateway({
      ...{ host, port, adminHost, adminPort },
      open: false,
      operatorUrl: flags['operator-url'],
      replica: { name: flags['replica-name'] ?? hostname(), replicas: flags.replicas },
      logLevel: flags['log-level'],
      graceMs: flags['grace-ms'],
      drainMs: flags['drain-ms'],
      maxShards: flags['max-shards'],
      ...(await storeOptions()),
      env: process.env,
      async beforeListening(loader) {
        feed.resolve(await openFeed(loader));
      },
    });
    return { gateway, feed: await feed.promise };
  } catch (error) {
    if ((error as Error).name === 'StoreProblem') refuseToStart((error as Error).message);
    const api = { hostFlag: 'host', host, portFlag: 'port', port };
    const admin = { hostFlag: 'admin-host', host: adminHost, portFlag: 'admin-port', port: adminPort };
    refuseToStart(listenProblem(error as ListenError, [api, admin]));
  }
}

/** Without a shared store, each replica takes its share of limits, and keeps answers of its own. */
async function storeOptions(): Promise<{ readonly store?: OpenStore; readonly cache: CacheSettings }> {
  const { store: address, namespace = '', release } = flags;
  const cache = {
    bytes: flags['cache-bytes'],
    keyFile: flags['cache-key-file'],
    embedding: flags['embedding-model'],
  };
  if (address === undefined) return { cache };
  const { sharedStore } = await import('./limits/open-store.ts');
  const shared = {
    ...{ address, prefix: `model-gateway/${namespace}/${release}`, timeoutMs: flags['store-timeout-ms'] },
    ...{ passwordFile: flags['store-password-file'], caFile: flags['store-ca-file'] },
  };
  return { store: sharedStore(shared), cache: { ...cache, shared } };
}

async function openFeed(loader: FeedSources['gateway']): Promise<RunningFeed> {
  const { startFeed } = await import('./feed/start-feed.ts');
  return startFeed({
    gateway: loader,
    snapshotDir: flags['snapshot-dir'],
    stateDir: flags['state-dir'],
    maxShards: flags['max-shards'],
  });
}

/** A kubeconfig that was asked for must be right; a service account is used where there is one. */
async function followApi(running: RunningFeed): Promise<void> {
  const isAsked = flags.kubeconfig !== undefined || flags.context !== undefined;
  if (!isAsked && !existsSync(TOKEN_FILE)) {
    log.event('info', 'no service account: snapshots come from the volume alone', { directory: flags['snapshot-dir'] });
    return;
  }
  try {
    const { client, namespace } = await connect();
    running.follow({ client, namespace: flags.namespace ?? namespace, release: flags.release });
  } catch (error) {
    const { message } = error as Error;
    if (isAsked) refuseToStart(`--kubeconfig: ${message}`);
    log.event('warn', 'no API server: snapshots come from the volume alone', { reason: message });
  }
}

/** Loaded late: what reads a kubeconfig takes longer to load than the last good snapshot. */
async function connect(): Promise<{ client: ApiClient; namespace: string }> {
  const { loadCluster } = await import('#crds/api/kube-config.ts');
  const { undiciTransport } = await import('#crds/api/undici-transport.ts');
  const { ApiClient } = await import('#crds/api/api-client.ts');
  const cluster = await loadCluster({ kubeconfig: flags.kubeconfig, context: flags.context });
  const transport = undiciTransport(cluster, { maxConnections: API_CONNECTIONS });
  return { client: new ApiClient(transport), namespace: cluster.namespace };
}

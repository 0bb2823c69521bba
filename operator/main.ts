/** The operator of a cluster. */
import { hostname } from 'node:os';
import { ApiError } from '#crds/api/api-error.ts';
import { readCommandLine } from '#crds/command/command-line.ts';
import { endOnSignals, projectVersion, refuseToStart } from '#crds/command/entry.ts';
import { type ListenError, listenProblem } from '#crds/command/listen-problem.ts';
import { OPERATOR_FLAGS, worldSettings } from './flags.ts';
import type { Operator } from './operator.ts';
import type { ControlWorld } from './rest/control-world.ts';

const USAGE =
  'Usage: node operator/main.ts [flags]\n\nTurns the custom resources of a cluster into what its gateways serve.\n';
const NOT_SYNCED = 'not every collection was listed yet';

const { values: flags } = readCommandLine(OPERATOR_FLAGS, USAGE, { environment: process.env });
const [
  { openLog },
  { Complaints },
  { loadCluster },
  { undiciTransport },
  { healthPages, startAdminServer },
  { countedTransport },
  { OperatorMetrics },
  { PassLog },
  { startOperator },
  { startControlServer },
  { ControlWorld: World },
  { KubeObjects },
  { ApiClient },
] = await Promise.all([
  // Loaded here, so that --help and a wrong flag are answered at once.
  import('#crds/command/log.ts'),
  import('#crds/command/complaints.ts'),
  import('#crds/api/kube-config.ts'),
  import('#crds/api/undici-transport.ts'),
  import('#crds/command/admin-server.ts'),
  import('./telemetry/counted-transport.ts'),
  import('./telemetry/metrics.ts'),
  import('./telemetry/pass-log.ts'),
  import('./operator.ts'),
  import('./rest/server.ts'),
  import('./rest/control-world.ts'),
  import('./rest/kube-objects.ts'),
  import('#crds/api/api-client.ts'),
]);

const cluster = await loadCluster({ kubeconfig: flags.kubeconfig, context: flags.context }).catch((error: Error) =>
  refuseToStart(`--kubeconfig: ${error.message}`),
);
const lease = flags.lease ?? `${flags.release}-operator`;
const log = openLog({ level: flags['log-level'] });
const passLog = new PassLog(log);
const complaints = new Complaints(log);
const metrics = new OperatorMetrics(lease);
const transport = countedTransport(undiciTransport(cluster), (method, code) => metrics.request(method, code));
let operator: Operator | undefined;
let world: ControlWorld | undefined;

const pages = healthPages({
  ready: () => (operator === undefined ? NOT_SYNCED : undefined),
  metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
});
const admin = await startAdminServer({
  host: flags['admin-host'],
  port: flags['admin-port'],
  pages: new Map(pages),
}).catch((error: ListenError) =>
  refuseToStart(
    listenProblem(error, [
      { hostFlag: 'admin-host', host: flags['admin-host'], portFlag: 'admin-port', port: flags['admin-port'] },
    ]),
  ),
);
const control = await startControlServer({
  host: flags['api-host'],
  port: flags['api-port'],
  world: () => world,
  onAnswered: ({ cause, ...entry }) => {
    log.event('info', 'control plane', entry);
    if (cause !== undefined) log.event('error', 'defect', { reason: (cause as Error).stack ?? String(cause) });
  },
}).catch((error: ListenError) =>
  refuseToStart(
    listenProblem(error, [
      { hostFlag: 'api-host', host: flags['api-host'], portFlag: 'api-port', port: flags['api-port'] },
    ]),
  ),
);
endOnSignals(async () => {
  log.event('info', 'ending: the lease is given up');
  await Promise.all([operator?.close(), control.close()]);
  await Promise.all([admin.close(), transport.close()]);
  await log.close();
});
log.event('info', 'starting', {
  admin: admin.origin,
  control_plane: control.origin,
  api_server: cluster.origin,
  version: projectVersion(),
});

operator = await startOperator({
  transport,
  namespace: flags.namespace ?? cluster.namespace,
  release: flags.release,
  watchNamespaces: flags['watch-namespace'],
  settings: worldSettings(flags),
  gatewayService: flags['gateway-service'] ?? `${flags.release}-gateway`,
  gatewayAdminPort: flags['gateway-admin-port'],
  maxShards: flags['max-shards'],
  alertWebhook: flags['alert-webhook'],
  lease,
  identity: flags.identity ?? hostname(),
  watcher: {
    onPass(pass) {
      metrics.pass(pass);
      passLog.pass(pass);
    },
    onFault(error) {
      metrics.fault(error);
      complaints.tell('warn', 'failed, and is tried again', { reason: error.message }, samenessOf(error));
    },
    onDefect: (error) => log.event('error', 'defect', { reason: (error as Error).stack ?? String(error) }),
    onLeading: (isLeader) => log.event('info', isLeader ? 'leading' : 'no longer leading'),
    onPublished: () => metrics.published(),
  },
});
metrics.follow(operator);
const running = operator;
world = new World({
  objects: new KubeObjects({ client: new ApiClient(transport), namespaces: flags['watch-namespace'] }),
  organisationNamespace: flags['organisation-namespace'],
  open: false,
  pass: () => running.pass(),
  observe: () => running.observe(),
  rotateNow: (...asked) => running.rotateNow(...asked),
});
log.event('info', 'ready');

/** A server that is away is one complaint, whatever was asked of it; what it refuses, each is one. */
function samenessOf(error: Error): string {
  return error instanceof ApiError && error.isPassing ? `${error.status} ${error.reason}` : error.message;
}

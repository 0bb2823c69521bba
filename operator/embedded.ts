/** Embedded mode: operator and gateway in one process, on directories of manifests. */
import { join, resolve } from 'node:path';
import { readCommandLine } from '#crds/command/command-line.ts';
import { assertExist, endOnSignals, PROJECT_ROOT, projectVersion, refuseToStart } from '#crds/command/entry.ts';
import { type ListenError, listenProblem } from '#crds/command/listen-problem.ts';
import type { FlagValues } from '#crds/command/parse-flags.ts';
import type { UsageLimitRecord } from '#crds/snapshot/contract.ts';
import type { CacheSettings } from '#gateway/cache/open-cache.ts';
import { CATALOG } from '#gateway/catalog.ts';
import type { OpenStore } from '#gateway/limits/open-store.ts';
import type { Gateway } from '#gateway/server.ts';
import { newKey } from './compile/new-key.ts';
import { EMBEDDED_FLAGS, isLoopback, worldSettings } from './flags.ts';
import { greetingOf } from './greeting.ts';
import { InProcessSink } from './in-process-sink.ts';
import { KeyRotation } from './keys/key-rotation.ts';
import { KeyUses } from './keys/key-uses.ts';
import { type Pass, startLoop } from './loop.ts';
import { changesBetween, tableOf } from './report.ts';
import { ControlWorld } from './rest/control-world.ts';
import { DirectoryObjects } from './rest/directory-objects.ts';
import type { ControlServer } from './rest/server.ts';
import { openDirectory } from './source/directory/directory.ts';
import type { Source } from './source/source.ts';
import { alertNote } from './usage/alert.ts';
import { emailsIn } from './usage/alert-outlets.ts';
import { AlertWebhook } from './usage/alert-webhook.ts';
import { EmbeddedUsage } from './usage/embedded-usage.ts';
import type { Manifest } from './world.ts';

type Flags = FlagValues<typeof EMBEDDED_FLAGS>;

const QUICKSTART = join(PROJECT_ROOT, 'crds/examples/quickstart');
const DRAIN_MS = 300_000;
const USAGE =
  'Usage: npm start -- [flags]\n\nRuns the gateway on manifests of a directory; edits are live within a second.\n';

const here = process.env.INIT_CWD ?? process.cwd();
const flags = readFlags();
const manifests = flags.manifests.length === 0 ? [QUICKSTART] : flags.manifests.map((path) => resolve(here, path));
assertExist('--manifests', manifests);

const objectsDirectory = resolve(here, flags.data, 'objects');
let lastPass: Pass | undefined;
let world: ControlWorld | undefined;

const opening = openDirectory({
  manifests,
  objectsDirectory,
  secretsDirectory: resolve(here, flags.data, 'secrets'),
  environment: (name) => process.env[name],
  shownFrom: here,
  live: true,
});
const control = await startControl();
const [gateway, source] = await Promise.all([listen(flags), opening]);
const sink = new InProcessSink(gateway);
const makeKey = () => newKey(flags['api-key-prefix']);
const rotation = new KeyRotation({
  source,
  replicas: () => sink.replicas(),
  mayWrite: () => true,
  newKey: makeKey,
  onFault: (error) => process.stderr.write(`failed, and is tried again: ${error.message}\n`),
});
const report = reporter(gateway, source);
const keyUses = new KeyUses();
const onFault = (error: Error) => process.stderr.write(`failed, and is tried again: ${error.message}\n`);
const webhook =
  flags['alert-webhook'] === undefined ? undefined : new AlertWebhook({ url: flags['alert-webhook'], onFault });
const usage = new EmbeddedUsage({
  usage: () => gateway.usage(),
  limits: () => (world === undefined ? undefined : lastPass?.snapshot.usage_limits),
  file: resolve(here, flags.data, 'alerts.json'),
  async give(alert) {
    process.stdout.write(`usage alert: ${alertNote(alert)}\n`);
    await webhook?.post(alert);
  },
  emailsOf: ({ record }) => emailsIn(manifestOf(record)?.raw),
  onKeyUses: (uses) => keyUses.note(uses),
  onChange: () => loop.report(),
  onFault,
});
const loop = await startLoop({
  source,
  sink,
  settings: worldSettings(flags),
  tools: { catalog: CATALOG, newKey: makeKey },
  fieldsOf: [keyUses.fieldsOf, usage.fieldsOf],
  onPass: (pass) => {
    lastPass = pass;
    report(pass);
    rotation.consider(pass);
  },
  mayWrite: () => true,
  kept: [],
  // Said of each object that waits for it.
  onFault: () => undefined,
  onDefect: (error) => process.stderr.write(`a defect of the operator: ${(error as Error).stack}\n`),
});
world = new ControlWorld({
  objects: new DirectoryObjects({
    source,
    directory: objectsDirectory,
    shownFrom: here,
    statuses: () => lastPass?.statuses ?? [],
  }),
  organisationNamespace: flags['organisation-namespace'],
  open: flags.open,
  pass: () => lastPass,
  observe: () => source.observe(),
  rotateNow: (...asked) => rotation.rotateNow(...asked),
});
endOnSignals(async () => {
  process.stdout.write('draining: running requests are finished; a second signal ends them\n');
  loop.close();
  rotation.close();
  usage.close();
  await webhook?.close();
  await gateway.drain();
  await Promise.all([control.close(), source.close()]);
});

function manifestOf({ kind, namespace, name }: UsageLimitRecord): Manifest | undefined {
  const { manifests: known } = source.observe();
  return known.find((one) => one.kind === kind && one.namespace === namespace && one.name === name);
}

/** Reached by way of the gateway alone. */
async function startControl(): Promise<ControlServer> {
  const { startControlServer } = await import('./rest/server.ts');
  return startControlServer({
    host: '127.0.0.1',
    port: 0,
    world: () => world,
    onAnswered: ({ cause }) => {
      if (cause !== undefined) process.stderr.write(`a defect of the control plane: ${(cause as Error).stack}\n`);
    },
  });
}

function readFlags(): Flags {
  const { values } = readCommandLine(EMBEDDED_FLAGS, USAGE, { environment: process.env });
  if (values.open && !isLoopback(values.host)) {
    refuseToStart(
      `--open: is for a loopback host only, and --host is ${values.host}: everybody could call without a key`,
    );
  }
  return values;
}

async function listen({
  host,
  port,
  open,
  data,
  'admin-port': adminPort,
  'log-level': logLevel,
}: Flags): Promise<Gateway> {
  // Loaded here, so that --help and a wrong flag are answered at once.
  const { startGateway } = await import('#gateway/server.ts');
  const listeners = { host, port, adminHost: host, adminPort };
  const ledgerFile = resolve(here, data, 'ledger.db');
  try {
    return await startGateway({
      ...listeners,
      open,
      logLevel,
      ledgerFile,
      operatorUrl: control.origin,
      ...(await openStores()),
      graceMs: 0,
      drainMs: DRAIN_MS,
      env: process.env,
    });
  } catch (error) {
    if ((error as Error).name === 'StoreProblem') refuseToStart((error as Error).message);
    if ((error as Error).name === 'LedgerUnavailable') refuseToStart(`--data: ${(error as Error).message}`);
    const where = { hostFlag: 'host', host };
    const listeners = [
      { ...where, portFlag: 'port', port },
      { ...where, portFlag: 'admin-port', port: adminPort },
    ] as const;
    refuseToStart(listenProblem(error as ListenError, listeners));
  }
}

/** Counts of limits, in a file beside the keys, and answers; or both where several such processes share them. */
async function openStores(): Promise<{ readonly store: OpenStore; readonly cache: CacheSettings }> {
  const { keptStore, sharedStore } = await import('#gateway/limits/open-store.ts');
  const { store: address, data } = flags;
  const fileOf = (path: string | undefined) => (path === undefined ? undefined : resolve(here, path));
  const cache = {
    bytes: flags['cache-bytes'],
    keyFile: fileOf(flags['cache-key-file']),
    embedding: flags['embedding-model'],
  };
  if (address === undefined) return { store: keptStore(resolve(here, data, 'usage.db')), cache };
  const shared = {
    ...{ address, prefix: 'model-gateway', timeoutMs: flags['store-timeout-ms'] },
    ...{ passwordFile: fileOf(flags['store-password-file']), caFile: fileOf(flags['store-ca-file']) },
  };
  return { store: sharedStore(shared), cache: { ...cache, shared } };
}

function reporter({ origin, adminOrigin }: Gateway, source: Source): (pass: Pass) => void {
  let before: Pass | undefined;
  return (pass) => {
    const lines = before === undefined ? firstReport(pass) : laterReport(before, pass);
    before = pass;
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  };

  function firstReport(pass: Pass): string[] {
    const greeting = greetingOf({
      origin,
      adminOrigin,
      snapshot: pass.snapshot,
      observation: source.observe(),
      open: flags.open,
      terminal: process.stdout.isTTY === true,
      pathOf: (file) => resolve(here, file),
    });
    return [`model-gateway ${projectVersion()}`, '', tableOf(pass), '', greeting, ''];
  }
}

function laterReport(before: Pass, pass: Pass): string[] {
  const changes = changesBetween(before, pass);
  const isNew = pass.generation !== before.generation;
  return isNew ? [...changes, `generation ${pass.generation} is served (${Math.ceil(pass.tookMs)} ms)`] : changes;
}

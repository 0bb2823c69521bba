/** Embedded mode: operator and gateway in one process, on directories of manifests. */
import { join, resolve } from 'node:path';
import { readCommandLine } from '#crds/command/command-line.ts';
import { assertExist, endOnSignals, PROJECT_ROOT, projectVersion, refuseToStart } from '#crds/command/entry.ts';
import { type ListenError, listenProblem } from '#crds/command/listen-problem.ts';
import type { FlagValues } from '#crds/command/parse-flags.ts';
import { CATALOG } from '#gateway/catalog.ts';
import type { Gateway } from '#gateway/server.ts';
import { newKey } from './compile/new-key.ts';
import { EMBEDDED_FLAGS, isLoopback } from './flags.ts';
import { greetingOf } from './greeting.ts';
import { InProcessSink } from './in-process-sink.ts';
import { type Pass, startLoop } from './loop.ts';
import { changesBetween, tableOf } from './report.ts';
import { openDirectory } from './source/directory/directory.ts';
import type { Source } from './source/source.ts';

type Flags = FlagValues<typeof EMBEDDED_FLAGS>;

const QUICKSTART = join(PROJECT_ROOT, 'crds/examples/quickstart');
const DRAIN_MS = 300_000;
const USAGE =
  'Usage: npm start -- [flags]\n\nRuns the gateway on manifests of a directory; edits are live within a second.\n';

const here = process.env.INIT_CWD ?? process.cwd();
const flags = readFlags();
const manifests = flags.manifests.length === 0 ? [QUICKSTART] : flags.manifests.map((path) => resolve(here, path));
assertExist('--manifests', manifests);

const opening = openDirectory({
  manifests,
  secretsDirectory: resolve(here, flags.data, 'secrets'),
  environment: (name) => process.env[name],
  shownFrom: here,
  live: true,
});
const [gateway, source] = await Promise.all([listen(flags), opening]);
const loop = await startLoop({
  source,
  sink: new InProcessSink(gateway),
  settings: { organisationNamespace: flags['organisation-namespace'], requestHosts: flags['request-host'] },
  tools: { catalog: CATALOG, newKey },
  onPass: reporter(gateway, source),
  mayWrite: () => true,
  kept: [],
  // Said of each object that waits for it.
  onFault: () => undefined,
  onDefect: (error) => process.stderr.write(`a defect of the operator: ${(error as Error).stack}\n`),
});
endOnSignals(async () => {
  process.stdout.write('draining: running requests are finished; a second signal ends them\n');
  loop.close();
  await Promise.all([gateway.drain(), source.close()]);
});

function readFlags(): Flags {
  const { values } = readCommandLine(EMBEDDED_FLAGS, USAGE, { environment: process.env });
  if (values.open && !isLoopback(values.host)) {
    refuseToStart(
      `--open: is for a loopback host only, and --host is ${values.host}: everybody could call without a key`,
    );
  }
  return values;
}

async function listen({ host, port, open, 'admin-port': adminPort, 'log-level': logLevel }: Flags): Promise<Gateway> {
  // Loaded here, so that --help and a wrong flag are answered at once.
  const { startGateway } = await import('#gateway/server.ts');
  const listeners = { host, port, adminHost: host, adminPort };
  try {
    return await startGateway({ ...listeners, open, logLevel, graceMs: 0, drainMs: DRAIN_MS, env: process.env });
  } catch (error) {
    const where = { hostFlag: 'host', host };
    const listeners = [
      { ...where, portFlag: 'port', port },
      { ...where, portFlag: 'admin-port', port: adminPort },
    ] as const;
    refuseToStart(listenProblem(error as ListenError, listeners));
  }
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

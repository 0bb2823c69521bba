/** Operator and gateway as the chart would run them: its arguments, its accounts; ports and folders of this machine. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { GuardedProcess } from '../cluster/guarded-process.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { REPOSITORY, type Release, render } from './helm.ts';
import { podSpecOf } from './manifest.ts';
import { prefixOf } from './matrix.ts';

export type Component = 'operator' | 'gateway';

export interface Running {
  /** Lines of its log so far. */
  readonly log: () => readonly Readonly<Record<string, unknown>>[];
  /** A field of the first line with this message. Rejects after a while. */
  readonly told: (message: string, field: string) => Promise<string>;
  /** SIGSTOP and SIGCONT too. */
  readonly signal: (signal: NodeJS.Signals) => void;
  /** At once. */
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface RunOptions {
  /** undefined: it knows no API server. */
  readonly kubeconfig: string | undefined;
  /** For its volumes, and its log. */
  readonly folder: string;
  /** They win over the chart's and over those of this machine. */
  readonly flags?: readonly string[];
}

const NODE = join(REPOSITORY, 'node_modules', 'node', 'bin', 'node');
const START_MS = 20_000;

function localFlags(component: Component, { kubeconfig, folder, flags = [] }: RunOptions): readonly string[] {
  const known = kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`];
  const common = [...known, '--admin-host=127.0.0.1', '--admin-port=0'];
  if (component === 'operator') return [...common, '--api-host=127.0.0.1', '--api-port=0', ...flags];
  const own = [`--snapshot-dir=${join(folder, 'snapshot')}`, `--state-dir=${join(folder, 'state')}`];
  return [...common, ...own, '--host=127.0.0.1', '--port=0', '--grace-ms=0', ...flags];
}

/** Flags that stand later win. */
export function run(release: Release, component: Component, options: RunOptions): Running {
  const spec = podSpecOf(render(release), `${prefixOf(release)}-${component}`);
  const [entry = '', ...args] = spec.containers[0]?.args ?? [];
  const argv = [join(REPOSITORY, entry), ...args, ...localFlags(component, options)];
  const logFile = join(options.folder, `${component}-${randomBytes(4).toString('hex')}.log`);
  const program = new GuardedProcess(component, NODE, argv, logFile);
  const lines = () => linesIn(program.log());
  const find = (message: string) => lines().find((line) => line.msg === message);
  return {
    log: lines,
    async told(message, field) {
      const isTold = () => find(message) !== undefined;
      await waitFor(() => isTold() || !program.isRunning, `${component}: ${message}\n${program.logTail()}`, START_MS);
      if (!isTold()) throw new Error(`${component} has ended before "${message}":\n${program.logTail()}`);
      return String(find(message)?.[field]);
    },
    signal: (signal) => program.signal(signal),
    kill: () => program.kill(),
    async stop() {
      program.signal('SIGTERM');
      await program.ended();
    },
  };
}

/** What is no JSON is a line of its own: a crash is seen in the log too. */
function linesIn(text: string): ReturnType<Running['log']> {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => (line.startsWith('{') ? JSON.parse(line) : { msg: line }));
}

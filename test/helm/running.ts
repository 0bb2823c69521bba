/** Operator and gateway as the chart would run them: its arguments, its accounts; ports and folders of this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
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
  readonly stop: () => Promise<void>;
}

export interface RunOptions {
  readonly kubeconfig: string;
  /** For its volumes. */
  readonly folder: string;
}

const NODE = join(REPOSITORY, 'node_modules', 'node', 'bin', 'node');
const START_MS = 20_000;

function localFlags(component: Component, { kubeconfig, folder }: RunOptions): readonly string[] {
  const common = [`--kubeconfig=${kubeconfig}`, '--admin-host=127.0.0.1', '--admin-port=0'];
  if (component === 'operator') return common;
  const own = [`--snapshot-dir=${join(folder, 'snapshot')}`, `--state-dir=${join(folder, 'state')}`];
  return [...common, ...own, '--host=127.0.0.1', '--port=0', '--grace-ms=0'];
}

/** Flags that stand later win. */
export function run(release: Release, component: Component, options: RunOptions): Running {
  const spec = podSpecOf(render(release), `${prefixOf(release)}-${component}`);
  const args = [...(spec.containers[0]?.args ?? []), ...localFlags(component, options)];
  const child = spawn(NODE, args, { cwd: REPOSITORY, env: { PATH: process.env.PATH } });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const lines = linesOf(child);
  const find = (message: string) => lines().find((line) => line.msg === message);
  return {
    log: lines,
    async told(message, field) {
      await waitFor(() => find(message) !== undefined, `${component}: ${message}`, START_MS);
      return String(find(message)?.[field]);
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** What is no JSON is a line of its own: a crash is seen in the log too. */
function linesOf(child: ChildProcess): Running['log'] {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  return () =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => (line.startsWith('{') ? JSON.parse(line) : { msg: line }));
}

/** Embedded mode in a process of its own, as `npm start` runs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { type Folder, until } from './folder.ts';
import { NODE, REPOSITORY } from './worlds.ts';

const ends: (() => unknown)[] = [];

/** Has `end` called by `endAll`. */
export function atEnd(end: () => unknown): void {
  ends.push(end);
}

/** Ends all that were started. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

export interface Running {
  readonly folder: Folder;
  readonly origin: string;
  readonly admin: string;
  readonly startedInMs: number;
  readonly out: () => string;
  readonly errors: () => string;
  readonly child: ChildProcess;
  /** Resolves with the exit status. */
  readonly ended: Promise<number | null>;
}

export function launch(folder: Folder, argv: readonly string[], env: Record<string, string>) {
  return launchProgram(['operator/embedded.ts', ...argv], { INIT_CWD: folder.path, ...env });
}

/** Of the repository, in a process of its own; `endAll` ends it. */
export function launchProgram(argv: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(NODE, argv, { cwd: REPOSITORY, env: { PATH: process.env.PATH, ...env } });
  const text = { out: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text.out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text.errors += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  ends.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended, text };
}

export async function start(
  folder: Folder,
  argv: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Running> {
  ends.push(() => folder.remove());
  const startedMs = performance.now();
  const { child, ended, text } = launch(
    folder,
    ['--port', '0', '--admin-port', '0', '--log-level', 'error', ...argv],
    env,
  );
  await until(
    () => /^Admin .*$/m.test(text.out) && text.out.endsWith('\n'),
    10_000,
    () => text,
  );
  return {
    folder,
    child,
    ended,
    startedInMs: performance.now() - startedMs,
    origin: /^API +(http\S+)\/v1$/m.exec(text.out)?.[1] ?? '',
    admin: /^Admin +(http\S+)\//m.exec(text.out)?.[1] ?? '',
    out: () => text.out,
    errors: () => text.errors,
  };
}

/** Programs that do not outlive the process that started them, however it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';

/** The shell's own process becomes the program; what stays behind kills it as soon as our end of the pipe is closed. */
const GUARD = 'exec 3<&0; (cat <&3; kill -KILL $$) >/dev/null 2>&1 & exec 3<&- "$@" </dev/null';
const SWEEPER = 'cat; sleep 1; rm -rf -- "$1"';
const LOG_TAIL_LINES = 20;
const MAX_LINE_CHARACTERS = 500;

export class GuardedProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #logFile: string;

  /** Its output goes to the end of `logFile`. It runs in a session of its own, so that ctrl-C does not reach it. */
  constructor(name: string, file: string, args: readonly string[], logFile: string) {
    this.name = name;
    this.#logFile = logFile;
    const log = openSync(logFile, 'a');
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    this.#child = spawn('sh', ['-c', GUARD, 'sh', file, ...args], { stdio: ['pipe', log, log], detached: true, env });
    closeSync(log);
    this.#exited = once(this.#child, 'exit');
    this.#child.stdin?.on('error', () => undefined);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves once it has ended, however it did. */
  async ended(): Promise<void> {
    await this.#exited;
  }

  /** SIGSTOP and SIGCONT too. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** At once: an API server that is asked politely waits for its watchers. */
  async kill(): Promise<void> {
    if (this.isRunning) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** What the file has. */
  log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** The end of what it wrote. */
  logTail(): string {
    const lines = this.log().trimEnd().split('\n').slice(-LOG_TAIL_LINES);
    return lines.map((line) => line.slice(0, MAX_LINE_CHARACTERS)).join('\n');
  }
}

/** A folder that is removed when this process ends, or before. */
export class GuardedFolder {
  readonly path: string;
  readonly #child: ChildProcess;

  constructor(path: string) {
    this.path = path;
    this.#child = spawn('sh', ['-c', SWEEPER, 'sh', path], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    this.#child.unref();
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
    this.#child.stdin?.end();
  }
}

/** Child processes on one core, and what the kernel says of them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface PinnedProcess {
  readonly pid: number;
  /** Resolves with its standard output when it ends well; rejects with its standard error otherwise. */
  readonly output: Promise<string>;
  /** The first line that it says. */
  readonly firstLine: Promise<string>;
  stop(): Promise<void>;
}

const KILL_AFTER_MS = 3_000;

function textOf(stream: NodeJS.ReadableStream | null): { text: string } {
  const collected = { text: '' };
  stream?.on('data', (bytes) => {
    collected.text += bytes;
  });
  return collected;
}

function lineOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  return new Promise((resolve) => {
    let seen = '';
    stream?.on('data', (bytes) => {
      seen += bytes;
      if (seen.includes('\n')) resolve(seen.slice(0, seen.indexOf('\n')));
    });
  });
}

function endOf(child: ChildProcess, command: string): Promise<string> {
  const out = textOf(child.stdout);
  const err = textOf(child.stderr);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0 || signal !== null) resolve(out.text);
      else reject(new Error(`${command} ended with ${code}: ${err.text.trim() || out.text.trim()}`));
    });
  });
}

/**
 * Starts `command` bound to one core. `taskset` replaces itself by the command, so that the pid is the command's. With
 * `talks: 'stderr'` standard output goes nowhere, as befits a log, and the first line is read from standard error.
 */
export function startPinned(
  core: number,
  command: string,
  args: readonly string[],
  talks: 'stdout' | 'stderr' = 'stdout',
): PinnedProcess {
  const stdout = talks === 'stdout' ? 'pipe' : 'ignore';
  const child = spawn('taskset', ['-c', String(core), command, ...args], { stdio: ['ignore', stdout, 'pipe'] });
  const output = endOf(child, command);
  const firstLine = Promise.race([
    lineOf(child[talks]),
    output.then((text) => Promise.reject(new Error(`${command} ended early: ${text}`))),
  ]);
  // Who waits for neither still wants no crash: the failure comes to light where the process is used.
  output.catch(() => undefined);
  firstLine.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    output,
    firstLine,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
      await output.catch(() => undefined);
      clearTimeout(timer);
    },
  };
}

const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process has used, in user and kernel mode. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(match?.[1] ?? 0) * 1024;
}

/** Whether a command can be run here. */
export function has(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

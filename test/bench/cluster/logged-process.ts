/** A program of this repository as a process of its own, and what it says in its log. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { GuardedProcess } from '../../cluster/guarded-process.ts';
import { residentBytes } from '../process.ts';

export interface LogLine {
  readonly msg: string;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly [field: string]: unknown;
}

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const POLL_MS = 20;
const END_MS = 10_000;
const CHUNK_BYTES = 1024 * 1024;

export class LoggedProcess {
  readonly name: string;
  /** Unix milliseconds. */
  readonly startedMs = Date.now();
  readonly #process: GuardedProcess;
  readonly #logFile: string;
  readonly #lines: LogLine[] = [];
  #offset = 0;
  #rest = '';

  /** `args`: of node, beginning with the file in the repository. A log of this name in `folder` is its own. */
  constructor(name: string, folder: string, args: readonly string[]) {
    this.name = name;
    this.#logFile = join(folder, `${name}.log`);
    closeSync(openSync(this.#logFile, 'w'));
    const file = args.map((arg) => (arg.endsWith('/main.ts') ? join(REPOSITORY, arg) : arg));
    this.#process = new GuardedProcess(name, process.execPath, file, this.#logFile);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Bytes now. */
  get resident(): number {
    return residentBytes(this.pid);
  }

  /** Bytes at most, so far. */
  get peakResident(): number {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1'));
    return Number(match?.[1] ?? 0) * 1024;
  }

  /** Everything that it has said so far. */
  lines(): readonly LogLine[] {
    const file = openSync(this.#logFile, 'r');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let bytes = -1; bytes !== 0; ) {
      bytes = readSync(file, chunk, 0, CHUNK_BYTES, this.#offset);
      this.#offset += bytes;
      this.#take(chunk.toString('latin1', 0, bytes));
    }
    closeSync(file);
    return this.#lines;
  }

  /** The first line with this message. Rejects where the process ends, or does not say it in time. */
  async said(msg: string, timeoutMs: number): Promise<LogLine> {
    const deadlineMs = Date.now() + timeoutMs;
    for (;;) {
      const line = this.lines().find((one) => one.msg === msg);
      if (line !== undefined) return line;
      if (!this.#process.isRunning) throw new Error(`${this.name} has ended:\n${this.#process.logTail()}`);
      if (Date.now() > deadlineMs)
        throw new Error(`${this.name} has not said "${msg}" in ${timeoutMs} ms:\n${this.#process.logTail()}`);
      await setTimeout(POLL_MS);
    }
  }

  /** In good order, as a cluster ends it. */
  async end(): Promise<void> {
    const deadlineMs = Date.now() + END_MS;
    this.#process.signal('SIGTERM');
    while (this.#process.isRunning && Date.now() < deadlineMs) await setTimeout(POLL_MS);
    await this.#process.kill();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('{"time"')) continue;
      const fields = JSON.parse(line);
      this.#lines.push({ ...fields, atMs: Date.parse(fields.time) });
    }
  }
}

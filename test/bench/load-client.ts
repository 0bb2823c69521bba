/** Runs the load generators: wrk where it is installed, our own elsewhere. Both as processes of their own. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Contestant, PATH, type Workload } from './contestant.ts';
import type { LoadResult, LoadTask } from './load.ts';
import { has, type PinnedProcess, startPinned } from './process.ts';

export interface Load {
  readonly contestant: Contestant;
  readonly workload: Workload;
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface Machinery {
  /** Core of the load generator. */
  readonly core: number;
  /** For generated files. */
  readonly directory: string;
}

const LOAD_PROGRAM = fileURLToPath(new URL('load.ts', import.meta.url));
export const HAS_WRK: boolean = has('wrk');

function headersOf({ contestant, workload }: Load): Readonly<Record<string, string>> {
  return { 'content-type': 'application/json', ...contestant.headers(workload) };
}

function taskOf(load: Load, mode: LoadTask['mode'], rate: number): LoadTask {
  const { hostname, port } = new URL(load.contestant.origin(load.workload));
  const headers = Object.entries({ host: 'bench', ...headersOf(load), 'content-length': String(load.body.length) });
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const request = `POST ${PATH} HTTP/1.1\r\n${head}\r\n${load.body}`;
  return {
    mode,
    host: hostname,
    port: Number(port),
    request,
    connections: load.connections,
    seconds: load.seconds,
    rate,
  };
}

function startLoad(machinery: Machinery, task: LoadTask): PinnedProcess {
  return startPinned(machinery.core, process.execPath, [LOAD_PROGRAM, JSON.stringify(task)]);
}

/** A figure of requests that failed would say nothing. */
function checked(load: Load, result: LoadResult): LoadResult {
  if (result.failed === 0 && result.answered > 0) return result;
  const all = result.answered + result.failed;
  throw new Error(`${load.contestant.name}, ${load.workload}: ${result.failed} of ${all} requests failed`);
}

/** Fixed rate or one round of streams, by our own generator. */
export async function runLoad(
  machinery: Machinery,
  load: Load,
  mode: 'rate' | 'streams',
  rate = 0,
): Promise<LoadResult> {
  const output = await startLoad(machinery, taskOf(load, mode, rate)).output;
  return checked(load, JSON.parse(output));
}

/** Opens streams and keeps them until `stop`. */
export async function holdStreams(machinery: Machinery, load: Load): Promise<PinnedProcess> {
  const held = startLoad(machinery, taskOf(load, 'hold', 0));
  await held.firstLine;
  return held;
}

/** wrk's script: JSON strings are valid Lua but for escapes above ASCII, which our bodies do not have. */
function wrkScript(load: Load): string {
  const headers = Object.entries(headersOf(load)).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  return ['wrk.method = "POST"', `wrk.body = ${JSON.stringify(load.body)}`, ...headers].join('\n');
}

function readWrk(output: string): LoadResult {
  const total = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0);
  const wrong = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0);
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? [];
  const failed = wrong + errors.map(Number).reduce((sum, value) => sum + value, 0);
  const seconds = total / Number(/Requests\/sec: +([\d.]+)/.exec(output)?.[1] ?? 1);
  return { answered: total - wrong, failed, seconds, p50Ms: 0, p99Ms: 0 };
}

/** As many requests as go through, each connection one at a time. */
export async function runClosedLoad(machinery: Machinery, load: Load): Promise<LoadResult> {
  if (!HAS_WRK) {
    const output = await startLoad(machinery, taskOf(load, 'closed', 0)).output;
    return checked(load, JSON.parse(output));
  }
  const script = join(machinery.directory, 'wrk.lua');
  writeFileSync(script, wrkScript(load));
  const url = load.contestant.origin(load.workload) + PATH;
  const options = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '-s', script, url];
  return checked(load, readWrk(await startPinned(machinery.core, 'wrk', options).output));
}

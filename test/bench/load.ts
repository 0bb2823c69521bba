/**
 * A process: a load generator of raw sockets. Reads its task as JSON from the first argument, prints the result as JSON.
 * `closed`: every connection asks again as soon as it is answered. `rate`: requests at fixed times. `streams`: all at once, each read to its end. `hold`: all at once, kept open until the process is ended.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export interface LoadTask {
  readonly mode: 'closed' | 'rate' | 'streams' | 'hold';
  readonly host: string;
  readonly port: number;
  /** The whole request, head and body. */
  readonly request: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests per second; only `rate`. */
  readonly rate: number;
}

export interface LoadResult {
  readonly answered: number;
  readonly failed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const END_OF_CHUNKS = '0\r\n\r\n';

/** One keep-alive connection; `ask` resolves with whether the answer was a whole 200. */
class Line {
  readonly socket: Socket;
  #text = '';
  #length: number | undefined;
  #ok = false;
  #begun: (() => void) | undefined;
  #done: ((whole: boolean) => void) | undefined;

  constructor({ host, port }: LoadTask) {
    this.socket = connect({ host, port, noDelay: true });
    this.socket.on('data', (bytes) => this.#read(bytes.toString('latin1')));
    this.socket.on('error', () => undefined);
    this.socket.once('close', () => this.#finish(false));
  }

  ask(request: string, begun?: () => void): Promise<boolean> {
    this.#text = '';
    this.#length = undefined;
    this.#begun = begun;
    return new Promise((resolve) => {
      this.#done = resolve;
      if (this.socket.destroyed) this.#finish(false);
      else this.socket.write(request);
    });
  }

  #finish(whole: boolean): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(whole);
  }

  /** Chunked answers keep only their tail: the end is all that matters of them. */
  #read(text: string): void {
    this.#text += text;
    if (this.#length === undefined) {
      const end = this.#text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.#text.slice(0, end).toLowerCase();
      this.#ok = head.startsWith('http/1.1 200');
      this.#length = Number(/\ncontent-length: *(\d+)/.exec(head)?.[1] ?? -1);
      this.#text = this.#text.slice(end + 4);
      this.#begun?.();
    }
    if (this.#length >= 0 ? this.#text.length >= this.#length : this.#text.endsWith(END_OF_CHUNKS))
      this.#finish(this.#ok);
    else if (this.#length < 0) this.#text = this.#text.slice(-END_OF_CHUNKS.length);
  }
}

interface Tally {
  answered: number;
  failed: number;
  readonly latenciesMs: number[];
}

function count(tally: Tally, whole: boolean, sinceMs: number): void {
  if (!whole) tally.failed++;
  else {
    tally.answered++;
    tally.latenciesMs.push(performance.now() - sinceMs);
  }
}

async function runClosed(task: LoadTask, tally: Tally): Promise<void> {
  const end = performance.now() + task.seconds * 1000;
  const lines = Array.from({ length: task.connections }, () => new Line(task));
  await Promise.all(
    lines.map(async (line) => {
      for (let now = performance.now(); now < end && !line.socket.destroyed; now = performance.now()) {
        count(tally, await line.ask(task.request), now);
      }
    }),
  );
}

async function runRate(task: LoadTask, tally: Tally): Promise<void> {
  const startedAt = performance.now();
  const idle = Array.from({ length: task.connections }, () => new Line(task));
  const total = task.rate * task.seconds;
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * task.rate));
    for (; sent < due; sent++) {
      const line = idle.pop() ?? new Line(task);
      const sentAt = performance.now();
      void line.ask(task.request).then((whole) => {
        count(tally, whole, sentAt);
        idle.push(line);
      });
    }
    await setTimeout(1);
  }
  while (tally.answered + tally.failed < total) await setTimeout(10);
}

/** Connections open a few at a time, as a listener's backlog wants it. */
async function openLines(task: LoadTask): Promise<Line[]> {
  const lines: Line[] = [];
  while (lines.length < task.connections) {
    for (let n = 0; n < 50 && lines.length < task.connections; n++) lines.push(new Line(task));
    await setTimeout(5);
  }
  return lines;
}

async function runStreams(task: LoadTask, tally: Tally): Promise<void> {
  const lines = await openLines(task);
  const startedAt = performance.now();
  await Promise.all(lines.map(async (line) => count(tally, await line.ask(task.request), startedAt)));
}

async function runHold(task: LoadTask): Promise<void> {
  const lines = await openLines(task);
  let begun = 0;
  const ends = lines.map((line) => line.ask(task.request, () => begun++));
  while (begun < lines.length) await setTimeout(20);
  console.log(JSON.stringify({ open: begun }));
  await Promise.all(ends);
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

async function run(task: LoadTask): Promise<LoadResult> {
  const tally: Tally = { answered: 0, failed: 0, latenciesMs: [] };
  const startedAt = performance.now();
  const modes = { closed: runClosed, rate: runRate, streams: runStreams, hold: runHold };
  await modes[task.mode](task, tally);
  const seconds = (performance.now() - startedAt) / 1000;
  const sorted = tally.latenciesMs.toSorted((a, b) => a - b);
  const { answered, failed } = tally;
  return { answered, failed, seconds, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}

const [, , argument] = process.argv;
if (argument === undefined) throw new Error('The task is missing: a JSON object as the first argument.');
console.log(JSON.stringify(await run(JSON.parse(argument))));
process.exit(0);

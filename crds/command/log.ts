/** A process' log: JSON lines on standard output, written off the hot path, bounded while nobody reads them. */
import { descriptorSink, type LineSink, LineWriter } from './line-writer.ts';
import { isoTime, type LineLevel, type LogFields, quote } from './log-text.ts';

const LEVELS = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const;

export type LogLevel = keyof typeof LEVELS;

export interface Log {
  /** A line of the process' own life. `fields` must hold no secret; those called `time`, `level` or `msg` are left out. */
  event(level: LineLevel, message: string, fields?: LogFields): void;
  /** Lines lost because nobody read them. */
  readonly dropped: number;
  /** Resolves when every line so far is written or dropped. */
  flush(): Promise<void>;
  /** Flushes, and lets go of the process. */
  close(): Promise<void>;
}

/** For lines of other forms. */
export interface LineLog extends Log {
  wants(level: LineLevel): boolean;
  /** A line with its line feed, of a level that is wanted. */
  add(line: string): void;
}

/** A line with its line feed. `epochMs`: Unix milliseconds. */
export type EventLine = (level: LineLevel, message: string, fields: LogFields, epochMs: number) => string;

export interface LogOptions {
  readonly level: LogLevel;
  /** Default: standard output. */
  readonly sink?: LineSink | undefined;
  /** Most characters that may wait for a slow reader, default 8 Mi. */
  readonly maxChars?: number | undefined;
  /** Default: JSON. */
  readonly eventLine?: EventLine | undefined;
}

const STDOUT = 1;
const INTERVAL_MS = 100;
const BATCH_CHARS = 64 * 1024;
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_MESSAGE_CHARS = 2048;
const RESERVED = new Set(['time', 'level', 'msg']);

/** Whether `word` is a level, for flags and environment variables. */
export function isLogLevel(word: string): word is LogLevel {
  return Object.hasOwn(LEVELS, word);
}

export function jsonEventLine(level: LineLevel, message: string, fields: LogFields, epochMs: number): string {
  let line = `{"time":"${isoTime(epochMs)}","level":"${level}","msg":${quote(message, MAX_MESSAGE_CHARS)}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || RESERVED.has(name)) continue;
    line += `,${quote(name)}:${typeof value === 'string' ? quote(value, MAX_MESSAGE_CHARS) : JSON.stringify(value)}`;
  }
  return `${line}}\n`;
}

/** A log that writes what has at least `level`. Lines wait at most 100 ms, and are written when the process exits. */
export function openLog({ level, sink, maxChars = MAX_CHARS, eventLine = jsonEventLine }: LogOptions): LineLog {
  const threshold = LEVELS[level];
  const wants = (lineLevel: LineLevel): boolean => LEVELS[lineLevel] >= threshold;
  const writer = new LineWriter({
    sink: sink ?? descriptorSink(STDOUT),
    intervalMs: INTERVAL_MS,
    batchChars: BATCH_CHARS,
    maxChars,
    dropNotice: (dropped) => eventLine('warn', 'log lines dropped: nobody read them in time', { dropped }, Date.now()),
  });
  const atExit = () => writer.flushSync();
  process.on('exit', atExit);
  return {
    wants,
    add: (line) => writer.add(line),
    event(lineLevel, message, fields = {}) {
      if (wants(lineLevel)) writer.add(eventLine(lineLevel, message, fields, Date.now()));
    },
    get dropped() {
      return writer.dropped;
    },
    flush: () => writer.flush(),
    async close() {
      await writer.flush();
      process.off('exit', atExit);
    },
  };
}

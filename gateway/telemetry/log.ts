/**
 * The log: a line per request and per event of the process. Never a secret, a prompt or a header, but for trace ids; of a
 * key only its object's name. JSON lines, or readable ones on a terminal.
 */
import { isatty } from 'node:tty';
import type { Exchange } from '../exchange.ts';
import { descriptorSink, type LineSink, LineWriter } from './line-writer.ts';
import { isoTime, type LineLevel, type LogFields, quote, roundMs } from './log-text.ts';
import { terminalEvent, terminalRequest } from './terminal-line.ts';

const LEVELS = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const;

export type LogLevel = keyof typeof LEVELS;
export type { LineLevel, LogFields };

export interface Log {
  /** The line of a settled exchange. */
  request(exchange: Exchange): void;
  /** A line of the process' own life. `fields` must hold no secret; those called `time`, `level` or `msg` are left out. */
  event(level: LineLevel, message: string, fields?: LogFields): void;
  /** Lines lost because nobody read them. */
  readonly dropped: number;
  /** Resolves when every line so far is written or dropped. */
  flush(): Promise<void>;
  /** Flushes, and lets go of the process. */
  close(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** Default: standard output. */
  readonly sink?: LineSink;
  /** Coloured readable lines instead of JSON. Default: whether standard output is a terminal. */
  readonly terminal?: boolean;
  /** Most characters that may wait for a slow reader, default 8 Mi. */
  readonly maxChars?: number;
}

const STDOUT = 1;
const INTERVAL_MS = 100;
const BATCH_CHARS = 64 * 1024;
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_MESSAGE_CHARS = 2048;
const SERVER_ERROR = 500;
const RESERVED = new Set(['time', 'level', 'msg']);

/** Whether `word` is a level, for flags and environment variables. */
export function isLogLevel(word: string): word is LogLevel {
  return Object.hasOwn(LEVELS, word);
}

/** Lines of level `error` are for people to act on; an upstream's failures are warnings. */
function levelOf(exchange: Exchange): LineLevel {
  if (exchange.errorCode === 'internal') return 'error';
  return exchange.status >= SERVER_ERROR || exchange.streamFailed ? 'warn' : 'info';
}

function textField(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${quote(value)}`;
}

/** No field at all for what is no number: `null` and NaN help nobody, and NaN is no JSON. */
function numberField(name: string, value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '' : `,"${name}":${value}`;
}

function attemptFields(exchange: Exchange): string {
  const { attempts } = exchange;
  const last = attempts[attempts.length - 1];
  if (last === undefined) return ',"attempts":0';
  let retries = 0;
  for (const attempt of attempts) if (attempt.retry > 0) retries++;
  return `${textField('target', last.target)}${textField('provider', last.provider)},"attempts":${attempts.length},"retries":${retries}${numberField('upstream_status', last.status)}`;
}

function usageFields(exchange: Exchange): string {
  const { usage } = exchange;
  if (usage === undefined) return '';
  return numberField('input_tokens', usage.prompt_tokens) + numberField('output_tokens', usage.completion_tokens);
}

/** `nowMs` is `performance.now()`, `epochMs` Unix milliseconds of the same moment. */
function requestLine(exchange: Exchange, level: LineLevel, nowMs: number, epochMs: number): string {
  const { trace, caller, startedAt, firstByteAt } = exchange;
  const firstByteMs = firstByteAt === undefined ? undefined : roundMs(firstByteAt - startedAt);
  return (
    `{"time":"${isoTime(epochMs)}","level":"${level}","msg":"request"` +
    textField('method', exchange.method) +
    textField('path', exchange.pathname) +
    numberField('status', exchange.status) +
    textField('caller', caller?.name) +
    textField('namespace', caller?.namespace) +
    textField('config', exchange.config) +
    textField('model', exchange.requestedModel) +
    textField('answered_model', exchange.answeredModel) +
    attemptFields(exchange) +
    usageFields(exchange) +
    numberField('duration_ms', roundMs(nowMs - startedAt)) +
    numberField('first_byte_ms', firstByteMs) +
    textField('trace_id', trace.traceId) +
    (trace.echoed === trace.traceId ? '' : textField('caller_trace_id', trace.echoed)) +
    textField('request_id', exchange.id) +
    numberField('generation', exchange.generation) +
    (exchange.stream ? ',"stream":true' : '') +
    textField('error', exchange.errorCode) +
    (exchange.streamFailed ? ',"stream_failed":true' : '') +
    '}\n'
  );
}

function eventLine(level: LineLevel, message: string, fields: LogFields, epochMs: number): string {
  let line = `{"time":"${isoTime(epochMs)}","level":"${level}","msg":${quote(message, MAX_MESSAGE_CHARS)}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || RESERVED.has(name)) continue;
    line += `,${quote(name)}:${typeof value === 'string' ? quote(value, MAX_MESSAGE_CHARS) : JSON.stringify(value)}`;
  }
  return `${line}}\n`;
}

/** A log that writes what has at least `level`. Lines wait at most 100 ms, and are written when the process exits. */
export function createLog(options: LogOptions): Log {
  const { level, maxChars = MAX_CHARS } = options;
  const threshold = LEVELS[level];
  const isTerminal = options.terminal ?? (options.sink === undefined && isatty(STDOUT));
  const writeEvent = isTerminal ? terminalEvent : eventLine;
  const writeRequest = isTerminal ? terminalRequest : requestLine;
  const writer = new LineWriter({
    sink: options.sink ?? descriptorSink(STDOUT),
    intervalMs: INTERVAL_MS,
    batchChars: BATCH_CHARS,
    maxChars,
    dropNotice: (dropped) => writeEvent('warn', 'log lines dropped: nobody read them in time', { dropped }, Date.now()),
  });
  const atExit = () => writer.flushSync();
  process.on('exit', atExit);
  return {
    request(exchange) {
      const lineLevel = levelOf(exchange);
      if (LEVELS[lineLevel] < threshold) return;
      writer.add(writeRequest(exchange, lineLevel, performance.now(), Date.now()));
    },
    event(lineLevel, message, fields = {}) {
      if (LEVELS[lineLevel] >= threshold) writer.add(writeEvent(lineLevel, message, fields, Date.now()));
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

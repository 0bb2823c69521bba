/**
 * The log: a line per request and per event of the process. Never a secret, a prompt or a header, but for trace ids; of a
 * key only its object's name. JSON lines, or readable ones on a terminal.
 */
import { isatty } from 'node:tty';
import type { LineSink } from '#crds/command/line-writer.ts';
import { type Log as EventLog, type LogLevel, openLog } from '#crds/command/log.ts';
import { isoTime, type LineLevel, quote, roundMs } from '#crds/command/log-text.ts';
import type { Exchange } from '../exchange.ts';
import { terminalEvent, terminalRequest } from './terminal-line.ts';

export interface Log extends EventLog {
  /** The line of a settled exchange. */
  request(exchange: Exchange): void;
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
const SERVER_ERROR = 500;

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

/** A log that writes what has at least `level`. Lines wait at most 100 ms, and are written when the process exits. */
export function createLog({ level, sink, maxChars, terminal }: LogOptions): Log {
  const isTerminal = terminal ?? (sink === undefined && isatty(STDOUT));
  const log = openLog({ level, sink, maxChars, eventLine: isTerminal ? terminalEvent : undefined });
  const writeRequest = isTerminal ? terminalRequest : requestLine;
  return {
    ...log,
    request(exchange) {
      const lineLevel = levelOf(exchange);
      if (log.wants(lineLevel)) log.add(writeRequest(exchange, lineLevel, performance.now(), Date.now()));
    },
    get dropped() {
      return log.dropped;
    },
  };
}

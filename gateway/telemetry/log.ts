/**
 * The log: a line per request and per event of the process. Never a secret, a prompt or a header, but for trace ids; of a
 * key only its object's name. JSON lines, or readable ones on a terminal.
 */
import { isatty } from 'node:tty';
import type { LineSink } from '#crds/command/line-writer.ts';
import { type Log as EventLog, type LogLevel, openLog } from '#crds/command/log.ts';
import { isoTime, type LineLevel, quote, roundMs } from '#crds/command/log-text.ts';
import type { Exchange, Inspected } from '../exchange.ts';
import { dollarsOf } from '../money/exact.ts';
import type { CompletionDetails, PromptDetails } from '../providers/provider.ts';
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

function promptFields({ prompt }: Exchange): string {
  return prompt === undefined ? '' : textField('prompt', prompt.name) + numberField('prompt_version', prompt.version);
}

function attemptFields(exchange: Exchange): string {
  const { attempts } = exchange;
  const last = attempts[attempts.length - 1];
  if (last === undefined) return ',"attempts":0';
  let retries = 0;
  for (const attempt of attempts) if (attempt.retry > 0) retries++;
  const sent = last.model === exchange.requestedModel ? '' : textField('sent_model', last.model);
  return `${textField('target', last.target)}${textField('provider', last.provider)}${textField('integration', last.integration)}${sent},"attempts":${attempts.length},"retries":${retries}${numberField('upstream_status', last.status)}`;
}

function usageFields(exchange: Exchange): string {
  const usage = exchange.bill?.usage ?? exchange.usage;
  if (usage === undefined) return '';
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  return (
    numberField('input_tokens', usage.prompt_tokens) +
    numberField('output_tokens', usage.completion_tokens) +
    (prompt === undefined ? '' : partFields(prompt, PROMPT_PARTS)) +
    (completion === undefined ? '' : partFields(completion, COMPLETION_PARTS))
  );
}

/** What tokens were of, as the ledger calls it; 0 is not said. */
const PROMPT_PARTS: readonly (readonly [keyof PromptDetails, string])[] = [
  ['cached_tokens', 'cache_read_tokens'],
  ['cache_creation_tokens', 'cache_write_tokens'],
  ['cache_creation_1h_tokens', 'cache_write_1h_tokens'],
  ['audio_tokens', 'input_audio_tokens'],
  ['image_tokens', 'input_image_tokens'],
  ['cached_audio_tokens', 'cache_read_audio_tokens'],
  ['cached_image_tokens', 'cache_read_image_tokens'],
];
const COMPLETION_PARTS: readonly (readonly [keyof CompletionDetails, string])[] = [
  ['reasoning_tokens', 'reasoning_tokens'],
  ['audio_tokens', 'output_audio_tokens'],
  ['image_tokens', 'output_image_tokens'],
  ['accepted_prediction_tokens', 'accepted_prediction_tokens'],
  ['rejected_prediction_tokens', 'rejected_prediction_tokens'],
];

function partFields<Part extends string>(
  details: { readonly [Key in Part]?: number },
  parts: readonly (readonly [Part, string])[],
): string {
  let text = '';
  for (const [part, name] of parts) {
    const tokens = details[part];
    if (tokens !== undefined && tokens > 0) text += numberField(name, tokens);
  }
  return text;
}

/** The line is the ledger's entry: with whom, target, usage and trace it says what was paid, and by which prices. */
function billFields({ bill }: Exchange): string {
  if (bill === undefined) return '';
  const { cost, priceVersion, estimated } = bill;
  const paid = cost === undefined ? ',"cost_unknown":true' : `,"cost_usd":"${dollarsOf(cost)}"`;
  return paid + textField('price_version', priceVersion) + (estimated ? ',"estimated":true' : '');
}

function inspectedFields({ deniedBy, failed, sentChars, isInner }: Inspected): string {
  return (
    textField('denied_by', deniedBy) +
    textField('failed_checks', failed?.join(', ')) +
    numberField('sent_characters', sentChars) +
    (isInner === true ? ',"inner":true' : '')
  );
}

function cacheFields({ cache }: Exchange): string {
  if (cache === undefined) return '';
  const { cost } = cache.recalled ?? {};
  return textField('cache', cache.status) + (cost === undefined ? '' : `,"saved_usd":"${dollarsOf(cost)}"`);
}

/** `nowMs` is `performance.now()`, `epochMs` Unix milliseconds of the same moment. */
function requestLine(exchange: Exchange, level: LineLevel, nowMs: number, epochMs: number): string {
  const { trace, caller, startedAt, firstByteAt } = exchange;
  const firstByteMs = firstByteAt === undefined ? undefined : roundMs(firstByteAt - startedAt);
  return (
    `{"time":"${isoTime(epochMs)}","level":"${level}","msg":"request"` +
    textField('method', exchange.method) +
    textField('path', exchange.pathname) +
    textField('endpoint', exchange.endpoint?.type) +
    numberField('status', exchange.status) +
    textField('caller', caller?.name) +
    textField('namespace', caller?.namespace) +
    textField('config', exchange.config) +
    promptFields(exchange) +
    textField('model', exchange.requestedModel) +
    textField('answered_model', exchange.answeredModel) +
    attemptFields(exchange) +
    usageFields(exchange) +
    billFields(exchange) +
    cacheFields(exchange) +
    numberField('duration_ms', roundMs(nowMs - startedAt)) +
    numberField('first_byte_ms', firstByteMs) +
    textField('trace_id', trace.traceId) +
    (trace.echoed === trace.traceId ? '' : textField('caller_trace_id', trace.echoed)) +
    textField('request_id', exchange.id) +
    numberField('generation', exchange.generation) +
    (exchange.stream ? ',"stream":true' : '') +
    textField('error', exchange.errorCode) +
    textField('refused_by', exchange.refusal?.label) +
    (exchange.inspected === undefined ? '' : inspectedFields(exchange.inspected)) +
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

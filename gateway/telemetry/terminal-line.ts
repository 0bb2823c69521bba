/** Log lines for people: one coloured line each. Strings of callers are quoted where a terminal could act on them. */

import { isoTime, type LineLevel, type LogFields, quote, roundMs } from '#crds/command/log-text.ts';
import type { Exchange } from '../exchange.ts';
import type { Bill } from '../money/bill.ts';
import { dollarsOf } from '../money/exact.ts';

const COLOURS: Readonly<Record<LineLevel, string>> = { debug: '90', info: '32', warn: '33', error: '31' };
const DIM = '2';
const BARE = /^[\w./:@,+[\]-]+$/;
const MAX_MESSAGE_CHARS = 2048;

function paint(colour: string, text: string): string {
  return `\u001b[${colour}m${text}\u001b[0m`;
}

function word(value: string | number | boolean, maxChars?: number): string {
  if (typeof value !== 'string') return String(value);
  const quoted = quote(value, maxChars);
  return BARE.test(quoted.slice(1, -1)) ? quoted.slice(1, -1) : quoted;
}

function start(level: LineLevel, epochMs: number): string {
  const time = isoTime(epochMs).slice('2026-01-31T'.length, -1);
  return `${paint(DIM, time)} ${paint(COLOURS[level], level.padEnd(5))}`;
}

function fieldsText(fields: LogFields): string {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) text += ` ${paint(DIM, `${word(name)}=`)}${word(value, MAX_MESSAGE_CHARS)}`;
  }
  return text;
}

/** An event: time, level, message, fields. */
export function terminalEvent(level: LineLevel, message: string, fields: LogFields, epochMs: number): string {
  return `${start(level, epochMs)} ${quote(message, MAX_MESSAGE_CHARS).slice(1, -1)}${fieldsText(fields)}\n`;
}

function costText({ cost }: Bill): string {
  return cost === undefined ? 'unknown' : `$${dollarsOf(cost)}`;
}

/** A request: time, level, status, method and path, duration, and what routing did. */
export function terminalRequest(exchange: Exchange, level: LineLevel, nowMs: number, epochMs: number): string {
  const { attempts, trace, caller, bill } = exchange;
  const usage = bill?.usage ?? exchange.usage;
  const last = attempts.at(-1);
  const fields: LogFields = {
    model: exchange.requestedModel,
    provider: last?.provider,
    target: last?.target,
    config: exchange.config,
    prompt: exchange.prompt && `${exchange.prompt.name}@${exchange.prompt.version}`,
    caller: caller?.name,
    attempts: attempts.length > 1 ? attempts.length : undefined,
    tokens: usage === undefined ? undefined : `${usage.prompt_tokens}+${usage.completion_tokens}`,
    cost: bill === undefined ? undefined : costText(bill),
    trace: trace.echoed,
    error: exchange.errorCode,
    refused_by: exchange.refusal?.label,
    denied_by: exchange.inspected?.deniedBy,
    stream_failed: exchange.streamFailed || undefined,
  };
  const status = paint(COLOURS[level], String(exchange.status));
  const duration = `${roundMs(nowMs - exchange.startedAt)} ms`;
  return `${start(level, epochMs)} ${status} ${word(exchange.method)} ${word(exchange.pathname)} ${duration}${fieldsText(fields)}\n`;
}

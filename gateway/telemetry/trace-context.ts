/** Which trace a request belongs to: W3C `traceparent` first, then the gateway's own headers (`semantics.md` 12). */
import { hash, randomFillSync } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Trace } from '../exchange.ts';

/**
 * Whether spans of a trace are kept. `parentSampled` is the flag of a valid `traceparent`, undefined without one, so that
 * a parent-based sampler can honour it.
 */
export type Sample = (traceId: string, parentSampled: boolean | undefined) => boolean;

/** A trace with the caller's own spelling of its span id. */
export interface CallerTrace extends Trace {
  /** `x-gateway-span-id` as given; undefined without one, or where it is `spanId` itself. */
  readonly namedSpanId: string | undefined;
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/i;
const UUID = /^(?!0{8}-(?:0{4}-){3}0{12})[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/i;
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_SPAN_NAME_CHARS = 128;
const SAMPLED = 0x01;

const TRACE_DIGITS = 32;
const BYTES_PER_DRAW = 24;
const pool = Buffer.alloc(BYTES_PER_DRAW * 256);
let poolOffset = pool.length;

/** 48 random hex digits: a trace id and a span id. One system call serves 256 draws. */
function draw(): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const digits = pool.toString('hex', poolOffset, poolOffset + BYTES_PER_DRAW);
  poolOffset += BYTES_PER_DRAW;
  return digits;
}

/** A random span id: 16 lower-case hex digits. */
export function newSpanId(): string {
  return draw().slice(TRACE_DIGITS);
}

interface RemoteParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

function readTraceparent(value: string): RemoteParent | undefined {
  const match = TRACEPARENT.exec(value);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = match;
  if (version === '00' && rest !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** 32 hex digits of whatever a caller calls a trace. */
export function traceIdOf(named: string): string {
  if (TRACE_ID.test(named)) return named.toLowerCase();
  if (UUID.test(named)) return named.replaceAll('-', '').toLowerCase();
  return hash('sha256', named).slice(0, TRACE_DIGITS);
}

function spanIdOf(named: string): string {
  return SPAN_ID.test(named) ? named.toLowerCase() : hash('sha256', named).slice(0, 16);
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Reads the trace of a request; never throws, whatever the headers hold. `echoed` is `x-gateway-trace-id` as given, also
 * beside a `traceparent` that wins. A span id that equals its parent's is replaced: a span is never its own parent.
 */
export function readTrace(headers: IncomingHttpHeaders, sample: Sample): CallerTrace {
  const traceparent = headerOf(headers, 'traceparent');
  const remote = traceparent === undefined ? undefined : readTraceparent(traceparent);
  const named = headerOf(headers, 'x-gateway-trace-id');
  const namedSpan = headerOf(headers, 'x-gateway-span-id');
  const namedParent = remote === undefined ? headerOf(headers, 'x-gateway-parent-span-id') : undefined;
  const drawn = draw();
  const traceId = remote?.traceId ?? (named === undefined ? drawn.slice(0, TRACE_DIGITS) : traceIdOf(named));
  const parentSpanId = remote?.spanId ?? (namedParent === undefined ? undefined : spanIdOf(namedParent));
  const wanted = namedSpan === undefined ? undefined : spanIdOf(namedSpan);
  const spanId = wanted === undefined || wanted === parentSpanId ? drawn.slice(TRACE_DIGITS) : wanted;
  return {
    traceId,
    echoed: named ?? traceId,
    parentSpanId,
    spanId,
    spanName: headerOf(headers, 'x-gateway-span-name')?.slice(0, MAX_SPAN_NAME_CHARS),
    sampled: sample(traceId, remote?.sampled),
    traceState: remote === undefined ? undefined : headerOf(headers, 'tracestate'),
    namedSpanId: namedSpan === spanId ? undefined : namedSpan,
  };
}

/** The `traceparent` header of a call made under `spanId`. */
export function traceparentOf(trace: Trace, spanId: string): string {
  return `00-${trace.traceId}-${spanId}-${trace.sampled ? '01' : '00'}`;
}

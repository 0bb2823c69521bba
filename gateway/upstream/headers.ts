/** Headers on the way up (an allow-list) and on the way down (all but a few). */
import type { IncomingHttpHeaders } from 'node:http';
import type { Attempt } from '../exchange.ts';
import type { Settings, Upstream } from '../plan/plan.ts';
import type { RequestContext } from '../request-context.ts';
import { traceparentOf } from '../telemetry/trace-context.ts';
import { hopHeader } from './loop.ts';

/** Of the connection between caller and gateway, or what only a proxy in front of us may say. */
export const OF_CONNECTION: readonly string[] = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'accept-encoding',
  'expect',
  'forwarded',
  'x-real-ip',
  'via',
  'cdn-loop',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'http2-settings',
];

/** Never forwarded, whatever `forward_headers` says: hop-by-hop, addressing, and our own. */
const NEVER_UP: ReadonlySet<string> = new Set([...OF_CONNECTION, 'content-type', 'content-encoding']);

const NEVER_DOWN: ReadonlySet<string> = new Set([
  'set-cookie',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'content-encoding',
  'alt-svc',
  'server',
  'trailer',
  'upgrade',
  'te',
  'date',
  'via',
  'proxy-authenticate',
  'proxy-connection',
  'strict-transport-security',
  'x-powered-by',
  'x-request-id',
]);

const SUFFIX_JSON = [
  'content-type',
  'application/json',
  'accept-encoding',
  'identity',
  'user-agent',
  'model-gateway',
] as const;

/** Flat list of names and values for one attempt. */
export function upstreamHeaders(
  context: RequestContext,
  settings: Settings,
  upstream: Upstream,
  attempt: Attempt,
): string[] {
  const { exchange, request } = context;
  const headers: string[] = [
    ...SUFFIX_JSON,
    'accept',
    exchange.stream ? 'text/event-stream' : 'application/json',
    'cdn-loop',
    hopHeader(request.headers),
    ...upstream.headers,
  ];
  const traceparent =
    attempt.spanId === undefined ? request.headers['traceparent'] : traceparentOf(exchange.trace, attempt.spanId);
  if (typeof traceparent === 'string') headers.push('traceparent', traceparent);
  if (upstream.provider.dialect === 'anthropic') addAnthropicHeaders(headers, context);
  const names = context.control.forwardHeaders ?? settings.forwardHeaders;
  if (names.length > 0) forward(headers, context, names);
  return headers;
}

/** A caller whose bytes go on as they are has written them for the version that it names. */
function addAnthropicHeaders(headers: string[], context: RequestContext): void {
  const { 'anthropic-beta': beta, 'anthropic-version': version } = context.request.headers;
  if (typeof beta === 'string') headers.push('anthropic-beta', beta);
  if (typeof version !== 'string' || context.endpoint.dialect !== 'anthropic') return;
  remove(headers, 'anthropic-version');
  headers.push('anthropic-version', version);
}

function forward(headers: string[], context: RequestContext, names: readonly string[]): void {
  const incoming = context.request.headers;
  const hopByHop = (incoming.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  for (const name of names) {
    const value = incoming[name];
    if (value === undefined || isForbidden(name) || hopByHop.includes(name) || carriesKey(context, name)) continue;
    remove(headers, name);
    for (const one of Array.isArray(value) ? value : [value]) headers.push(name, one);
  }
}

function isForbidden(name: string): boolean {
  return NEVER_UP.has(name) || name.startsWith('x-gateway-') || name.startsWith('x-forwarded-') || name.includes('_');
}

/** A header that carries the gateway key is ours, not the upstream's. */
function carriesKey(context: RequestContext, name: string): boolean {
  return name === context.gatewayKeyIn;
}

function remove(headers: string[], name: string): void {
  for (let index = headers.length - 2; index >= 0; index -= 2) if (headers[index] === name) headers.splice(index, 2);
}

const RATE = 'x-ratelimit-';

/** Copies what the caller may see of an upstream's headers into a flat list. `withoutRates`: the rate limits told of are ours. */
export function copyDown(headers: IncomingHttpHeaders, into: string[], withoutRates = false): void {
  const named = headers.connection;
  for (const name in headers) {
    if (isKeptBack(name) || (withoutRates && name.startsWith(RATE))) continue;
    const value = headers[name];
    if (value === undefined || (named !== undefined && named !== 'keep-alive' && named.toLowerCase().includes(name)))
      continue;
    if (typeof value === 'string') into.push(name, value);
    else for (const one of value) into.push(name, one);
  }
}

function isKeptBack(name: string): boolean {
  return NEVER_DOWN.has(name) || name.startsWith('x-gateway-') || name.startsWith('access-control-');
}

/** Writes the one answer of an exchange. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type Departure, departWithTurn } from './departures.ts';
import { CLIENT_DIALECTS } from './dialects/client-dialects.ts';
import { errorEnvelope, type GatewayError } from './errors.ts';
import type { Dialect } from './providers/provider.ts';
import type { GatewayReply } from './reply.ts';
import type { RequestContext } from './request-context.ts';
import type { Routed } from './route/reply.ts';
import { copyDown } from './upstream/headers.ts';

const JSON_TYPE = 'application/json';
/** Smaller bodies go out as text together with their headers: one write is cheaper than a vector of two. */
const ONE_WRITE_BYTES = 4 * 1024;

/** Headers that every answer carries. Flat list. Anthropic's SDK looks for `request-id`, which the provider may have given. */
function commonHeaders(context: RequestContext, upstreamHeaders?: IncomingHttpHeaders): string[] {
  const { exchange, endpoint } = context;
  const headers = ['x-request-id', exchange.id, 'x-gateway-trace-id', exchange.trace.echoed];
  if (endpoint.dialect === 'anthropic' && upstreamHeaders?.['request-id'] === undefined)
    headers.push('request-id', exchange.id);
  context.admission?.addHeaders(headers);
  if (context.closing()) headers.push('connection', 'close');
  return headers;
}

/** Headers of an answer of our own. */
export function plainHeaders(context: RequestContext): string[] {
  return [...commonHeaders(context), 'content-type', JSON_TYPE];
}

/** Headers of an answer that came from a target. */
export function routedHeaders(context: RequestContext, routed: Routed<GatewayReply>): string[] {
  const { reply, target } = routed;
  const headers = commonHeaders(context, reply?.upstreamHeaders);
  const { cache } = context.exchange;
  const provider = reply?.upstream?.provider.name ?? cache?.recalled?.provider;
  if (provider !== undefined && provider !== '') headers.push('x-gateway-provider', provider);
  if (target !== undefined) headers.push('x-gateway-last-used-option-index', target.path);
  headers.push(
    'x-gateway-retry-attempt-count',
    String(routed.retryCount),
    'x-gateway-cache-status',
    cache?.status ?? 'DISABLED',
  );
  if (reply?.upstreamHeaders !== undefined)
    copyDown(reply.upstreamHeaders, headers, context.admission?.hasRates === true);
  return headers;
}

/** A whole body, its length known; leaves with this turn. */
export function sendBody(context: RequestContext, status: number, headers: string[], body: Buffer | string): void {
  writeHead(context, status, headers, body);
  departWithTurn(new WholeBody(context.response, body));
}

class WholeBody implements Departure {
  private readonly response: ServerResponse;
  private readonly body: Buffer | string;

  constructor(response: ServerResponse, body: Buffer | string) {
    this.response = response;
    this.body = body;
  }

  depart(): void {
    const { response, body } = this;
    if (typeof body !== 'string' && body.length <= ONE_WRITE_BYTES) response.end(body.toString('latin1'), 'latin1');
    else response.end(body);
  }
}

function writeHead(context: RequestContext, status: number, headers: string[], body: Buffer | string): void {
  const { response, exchange } = context;
  exchange.status = status;
  exchange.firstByteAt = performance.now();
  headers.push('content-length', String(typeof body === 'string' ? Buffer.byteLength(body) : body.length));
  response.writeHead(status, headers);
}

/** Leaves at once: whoever breaks an exchange off does not wait for the turn's end. */
export function sendError(context: RequestContext, error: GatewayError, headers = commonHeaders(context)): void {
  context.exchange.errorCode = error.code;
  withoutBodyHeaders(headers);
  for (const [name, value] of Object.entries(error.details.headers ?? {})) headers.push(name, value);
  headers.push('content-type', JSON_TYPE);
  const body = errorText(context.endpoint.dialect, error, context.exchange.id);
  writeHead(context, error.status, headers, body);
  context.response.end(body);
}

/** What described the upstream's body does not describe ours. */
function withoutBodyHeaders(headers: string[]): void {
  for (let index = headers.length - 2; index >= 0; index -= 2) {
    if (headers[index]?.startsWith('content-') === true) headers.splice(index, 2);
  }
}

export function errorText(dialect: Dialect, error: GatewayError, requestId: string): string {
  if (dialect === 'openai') return JSON.stringify(errorEnvelope(error));
  return JSON.stringify({ ...CLIENT_DIALECTS[dialect].errorBody(error), request_id: requestId });
}

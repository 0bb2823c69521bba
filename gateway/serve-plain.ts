/** Answers outside the pipeline: models, unknown paths, wrong methods, and all while nothing is loaded. Settled as any other. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText } from './answer.ts';
import { asGatewayError } from './errors.ts';
import type { Endpoint, Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { newExchange } from './new-exchange.ts';
import type { Dialect } from './providers/provider.ts';

const MAX_PATH_CHARS = 200;

/** Path of a request without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0]?.slice(0, MAX_PATH_CHARS) ?? '/';
}

/** `read` gives the body of a 200, or throws; it may note the caller. */
export function servePlain(
  gateway: GatewayState,
  request: IncomingMessage,
  response: ServerResponse,
  read: (exchange: Exchange) => object,
  dialect: Dialect = 'openai',
  endpoint?: Endpoint,
): void {
  const exchange = newExchange(gateway, endpoint, pathOf(request), request);
  gateway.metrics.begin();
  // Its body is of no interest, but the connection may be used again.
  request.resume();
  const { status, headers, body } = answerOf(exchange, read, dialect);
  exchange.status = status;
  response.writeHead(status, [
    'x-request-id',
    exchange.id,
    ...(dialect === 'anthropic' ? ['request-id', exchange.id] : []),
    'x-gateway-trace-id',
    exchange.trace.echoed,
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
    ...(gateway.draining ? ['connection', 'close'] : []),
    ...headers,
  ]);
  response.end(body);
  gateway.metrics.settle(exchange);
  gateway.log.request(exchange);
  gateway.tracing.record(exchange);
}

function answerOf(
  exchange: Exchange,
  read: (exchange: Exchange) => object,
  dialect: Dialect,
): { status: number; headers: string[]; body: string } {
  try {
    return { status: 200, headers: [], body: JSON.stringify(read(exchange)) };
  } catch (cause) {
    const error = asGatewayError(cause);
    exchange.errorCode = error.code;
    return {
      status: error.status,
      headers: Object.entries(error.details.headers ?? {}).flat(),
      body: errorText(dialect, error, exchange.id),
    };
  }
}

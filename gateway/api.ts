/** The public listener: fastify routes and bounds connections, the pipeline does the rest on the raw request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify';
import { errorText, sendPlain } from './answer.ts';
import { clientError } from './client-error.ts';
import { ENDPOINTS, type EndpointRow } from './endpoints.ts';
import { GatewayError } from './errors.ts';
import type { GatewayState } from './gateway-state.ts';
import { listModels, retrieveModel } from './list-models.ts';
import type { Dialect } from './providers/provider.ts';
import { serveExchange } from './serve-exchange.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CHECK_INTERVAL_MS = 1_000;
const KEEP_ALIVE_MS = 72_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_REQUESTS_PER_SOCKET = 0;
const MODELS = '/v1/models';

/** Routes are set, nothing listens yet. */
export function buildApi(gateway: GatewayState): FastifyInstance {
  const api = fastify({
    logger: false,
    exposeHeadRoutes: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxRequestsPerSocket: MAX_REQUESTS_PER_SOCKET,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: (error: Error, socket: Socket) => clientError(error, socket),
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      noDelay: true,
    },
  });
  for (const endpoint of ENDPOINTS) api.post(endpoint.path, exchangeRoute(gateway, endpoint));
  api.get(MODELS, (request, reply) =>
    readRoute(gateway, reply, (snapshot) => listModels(request.raw.headers, snapshot, gateway.open)),
  );
  api.get(`${MODELS}/*`, (request, reply) =>
    readRoute(gateway, reply, (snapshot) =>
      retrieveModel(request.raw.headers, snapshot, gateway.open, wildcardOf(request)),
    ),
  );
  api.setNotFoundHandler((request, reply) => {
    reply.hijack();
    refuse(request.raw, reply.raw, unknownPath(request.raw));
  });
  api.setErrorHandler((error, request, reply) => {
    reply.hijack();
    refuse(request.raw, reply.raw, asGatewayError(error));
  });
  return api;
}

/** The pipeline takes over before fastify would read the body: it reads it itself, once it knows who calls. */
function exchangeRoute(
  gateway: GatewayState,
  endpoint: EndpointRow,
): { onRequest: onRequestHookHandler; handler: () => void } {
  return {
    onRequest: (request, reply) => {
      reply.hijack();
      const { snapshot } = gateway;
      if (snapshot === undefined) refuse(request.raw, reply.raw, notReady(), endpoint.dialect);
      else void serveExchange(gateway, snapshot, endpoint, request.raw, reply.raw);
    },
    handler: () => undefined,
  };
}

function notReady(): GatewayError {
  return new GatewayError('not_ready', 'No configuration is loaded yet.', { headers: { 'retry-after': '1' } });
}

type Read = (snapshot: ActiveSnapshot) => object;

function readRoute(gateway: GatewayState, reply: FastifyReply, read: Read): void {
  reply.hijack();
  const { snapshot } = gateway;
  try {
    if (snapshot === undefined) throw notReady();
    sendPlain(reply.raw, 200, [], JSON.stringify(read(snapshot)));
  } catch (error) {
    refuse(reply.request.raw, reply.raw, asGatewayError(error));
  }
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: GatewayError,
  dialect: Dialect = 'openai',
): void {
  request.resume();
  const headers = Object.entries(error.details.headers ?? {}).flat();
  sendPlain(response, error.status, headers, errorText(dialect, error, ''));
}

function wildcardOf(request: FastifyRequest): string {
  return (request.params as { '*': string })['*'];
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  if (typeof status === 'number' && status < 500)
    return new GatewayError('bad_request', 'The request is not well formed.');
  return new GatewayError('internal', 'Something went wrong in the gateway.', { cause: error });
}

const PATHS: ReadonlyMap<string, string> = new Map([
  ...ENDPOINTS.map((endpoint) => [endpoint.path, 'POST'] as const),
  [MODELS, 'GET'],
]);

/** 405 on a known path, else 404; neither asks for a key. */
function unknownPath(request: IncomingMessage): GatewayError {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const allow = PATHS.get(path) ?? (path.startsWith(`${MODELS}/`) ? 'GET' : undefined);
  if (allow === undefined) return new GatewayError('unknown_path', `There is nothing at ${path.slice(0, 200)}.`);
  return new GatewayError('method_not_allowed', `${path.slice(0, 200)} takes ${allow} only.`, { headers: { allow } });
}

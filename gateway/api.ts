/** The public listener: fastify routes and bounds connections, the pipeline does the rest on the raw request. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactoryHandler,
  type onRequestHookHandler,
} from 'fastify';
import { isControlPlanePath } from '#crds/http/control-plane-paths.ts';
import { authenticate } from './authenticate.ts';
import { CACHE_PURGE } from './cache/purge-endpoint.ts';
import { clientError } from './client-error.ts';
import { ENDPOINTS, type EndpointRow } from './endpoints.ts';
import { asGatewayError, GatewayError } from './errors.ts';
import type { Caller } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { FEEDBACK, FEEDBACK_WORD } from './guardrails/feedback-endpoints.ts';
import { listModels, MODEL_SCOPES, retrieveModel } from './list-models.ts';
import { createFeedback, updateFeedback } from './phases/feedback.ts';
import { feedbackPhases, type Phase, PURGE_PHASES, RENDER_PHASES } from './pipeline.ts';
import { isPromptCall, PROMPT_CHAT, PROMPT_RENDER } from './prompts/prompt-endpoints.ts';
import type { Dialect } from './providers/provider.ts';
import { serveExchange } from './serve-exchange.ts';
import { pathOf, servePlain } from './serve-plain.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

const MAX_CHECK_INTERVAL_MS = 1_000;
const KEEP_ALIVE_MS = 72_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MODELS = '/v1/models';
const BY_URL: ReadonlyMap<string, EndpointRow> = new Map(ENDPOINTS.map((endpoint) => [endpoint.path, endpoint]));

/** Routes are set, nothing listens yet. */
export function buildApi(gateway: GatewayState): FastifyInstance {
  const api = fastify({
    logger: false,
    exposeHeadRoutes: false,
    serverFactory: (route) => makeServer(gateway, route),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: (error: Error, socket: Socket) => clientError(gateway, error, socket),
    // What fastify finds before it routes: a path with broken escapes. Its own answer would not be in our words.
    frameworkErrors: (_error, request, reply) => refuse(gateway, request, reply, badPath),
  });
  for (const endpoint of ENDPOINTS) api.post(endpoint.path, exchangeRoute(gateway, endpoint));
  api.post(PROMPT_CHAT.path, exchangeRoute(gateway, PROMPT_CHAT));
  api.post(PROMPT_RENDER.path, exchangeRoute(gateway, PROMPT_RENDER, RENDER_PHASES));
  api.post(FEEDBACK.path, exchangeRoute(gateway, FEEDBACK, feedbackPhases(createFeedback)));
  api.put(FEEDBACK_WORD.path, exchangeRoute(gateway, FEEDBACK_WORD, feedbackPhases(updateFeedback)));
  api.delete(CACHE_PURGE.path, exchangeRoute(gateway, CACHE_PURGE, PURGE_PHASES));
  api.get(MODELS, modelRoute(gateway, listModels));
  api.get(
    `${MODELS}/*`,
    modelRoute(gateway, (snapshot, caller, request) => retrieveModel(snapshot, caller, wildcardOf(request))),
  );
  api.setNotFoundHandler((request, reply) => refuse(gateway, request, reply, () => unknownPath(request.raw)));
  api.setErrorHandler((error, request, reply) => refuse(gateway, request, reply, () => refusalOf(error)));
  return api;
}

/** Who asks for an endpoint to the letter, as all do, goes straight to it; whatever else there is, fastify sorts out. */
function makeServer(gateway: GatewayState, route: FastifyServerFactoryHandler): Server {
  const { headersMs, requestMs } = gateway.limits;
  const options = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersMs,
    connectionsCheckingInterval: Math.min(MAX_CHECK_INTERVAL_MS, headersMs),
    noDelay: true,
  };
  return createServer(options, (request, response) => {
    const endpoint = request.method === 'POST' ? BY_URL.get(request.url ?? '') : undefined;
    const { snapshot } = gateway;
    if (endpoint !== undefined && snapshot !== undefined)
      void serveExchange(gateway, snapshot, endpoint, request, response);
    else if (isOfControlPlane(pathOf(request))) void gateway.operator.serve(gateway, request, response);
    else route(request, response);
  });
}

/** Prompts are kept by the control plane, and filled in here. */
function isOfControlPlane(path: string): boolean {
  return isControlPlanePath(path) && !isPromptCall(path);
}

/** The pipeline takes over before fastify would read the body: it reads it itself, once it knows who calls. */
function exchangeRoute(
  gateway: GatewayState,
  endpoint: EndpointRow,
  phases?: readonly Phase[],
): { onRequest: onRequestHookHandler; handler: () => void } {
  return {
    onRequest: (request, reply) => {
      const { snapshot } = gateway;
      if (snapshot === undefined) return refuse(gateway, request, reply, notReady);
      reply.hijack();
      const { prompt_id: reference } = request.params as { readonly prompt_id?: string };
      void serveExchange(gateway, snapshot, endpoint, request.raw, reply.raw, reference, phases);
    },
    handler: () => undefined,
  };
}

type ReadModels = (snapshot: ActiveSnapshot, caller: Caller, request: FastifyRequest) => object;

function modelRoute(gateway: GatewayState, read: ReadModels): (request: FastifyRequest, reply: FastifyReply) => void {
  return (request, reply) => {
    reply.hijack();
    servePlain(gateway, request.raw, reply.raw, (exchange) => {
      const { snapshot } = gateway;
      if (snapshot === undefined) throw notReady();
      const { caller } = authenticate(request.raw.headers, snapshot, gateway.open, MODEL_SCOPES);
      exchange.caller = caller;
      return read(snapshot, caller, request);
    });
  };
}

function refuse(gateway: GatewayState, request: FastifyRequest, reply: FastifyReply, why: () => GatewayError): void {
  reply.hijack();
  const refusal = () => {
    throw why();
  };
  const path = pathOf(request.raw);
  const endpoint = ENDPOINTS.find((known) => known.path === path);
  servePlain(gateway, request.raw, reply.raw, refusal, dialectOf(path), endpoint);
}

/** Who asks below a path of a dialect speaks it, even where there is nothing. */
function dialectOf(path: string): Dialect {
  const above = ENDPOINTS.find((known) => path === known.path || path.startsWith(`${known.path}/`));
  return above?.dialect ?? 'openai';
}

function badPath(): GatewayError {
  return new GatewayError('bad_request', 'The path holds escapes that are not well formed.');
}

function notReady(): GatewayError {
  return new GatewayError('not_ready', 'No configuration is loaded yet.', { headers: { 'retry-after': '1' } });
}

function wildcardOf(request: FastifyRequest): string {
  return (request.params as { '*': string })['*'];
}

/** What fastify itself found wrong. */
function refusalOf(error: unknown): GatewayError {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  if (!(error instanceof GatewayError) && typeof status === 'number' && status < 500)
    return new GatewayError('bad_request', 'The request is not well formed.');
  return asGatewayError(error);
}

const PATHS: ReadonlyMap<string, string> = new Map([
  ...ENDPOINTS.map((endpoint) => [endpoint.path, 'POST'] as const),
  [FEEDBACK.path, 'POST'],
  [MODELS, 'GET'],
  [CACHE_PURGE.path, 'DELETE'],
]);

/** Of paths that go on behind what is known. */
function methodBelow(path: string): string | undefined {
  if (path.startsWith(`${MODELS}/`)) return 'GET';
  if (path.startsWith(`${FEEDBACK.path}/`)) return 'PUT';
  return isPromptCall(path) ? 'POST' : undefined;
}

/** 405 on a known path, else 404; neither asks for a key. */
function unknownPath(request: IncomingMessage): GatewayError {
  const path = pathOf(request);
  const allow = PATHS.get(path) ?? methodBelow(path);
  if (allow === undefined) return new GatewayError('unknown_path', `There is nothing at ${path}.`);
  return new GatewayError('method_not_allowed', `${path} takes ${allow} only.`, { headers: { allow } });
}

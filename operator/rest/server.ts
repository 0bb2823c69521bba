/** The listener of the control plane: routes and bounds; what is asked is answered by the table of resources. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { controlPlanePaths } from '#crds/http/control-plane-paths.ts';
import { type JsonProblem, parseJsonObject } from '#crds/http/json-object.ts';
import type { Body } from './body.ts';
import { type ControlCaller, callerOf } from './caller.ts';
import { asControlError, ControlError, type ControlErrorDetails } from './control-error.ts';
import type { ControlWorld } from './control-world.ts';
import type { Call } from './resource-row.ts';
import { allowedAt, ROUTES, type Route } from './routes.ts';

/** One answered request, as it is logged. Never a body. */
export interface ControlEntry {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** `namespace/name` of the ApiKey; undefined: nobody was known. */
  readonly caller: string | undefined;
  readonly request_id: string;
  readonly trace_id: string | undefined;
  readonly error: string | undefined;
  /** Of a defect alone. */
  readonly cause: unknown;
}

export interface ControlServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** undefined: nothing was read yet. */
  readonly world: () => ControlWorld | undefined;
  readonly onAnswered?: (entry: ControlEntry) => void;
}

export interface ControlServer {
  /** e.g. `http://127.0.0.1:8789` */
  readonly origin: string;
  /** Takes nothing more; what is under way is answered. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_PATH_CHARS = 200;
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
const CALLER = 'controlCaller';
const FAILURE = 'controlFailure';
const ID = /^[\w.-]{1,128}$/;

/** Rejects with the listener's error (`EADDRINUSE`, ...) where the port cannot be had. */
export async function startControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const server = buildServer(options);
  const origin = await server.listen({ host: options.host, port: options.port });
  return { origin, close: () => server.close() };
}

function buildServer(options: ControlServerOptions): FastifyInstance {
  const server = fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS },
    routerOptions: { maxParamLength: 512 },
    genReqId: ({ headers }) => wordIn(headers['x-request-id']) ?? randomUUID(),
    requestIdHeader: false,
    clientErrorHandler: (_error: Error, socket: Socket) => answerMalformed(socket),
    frameworkErrors: (_error, request, reply) =>
      void fail(request, reply, new ControlError('bad_request', 'The path is not well formed.')),
  });
  server.decorateRequest(CALLER);
  server.decorateRequest(FAILURE);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) =>
      bytes.length === 0 ? undefined : parseJsonObject(bytes, refuse),
  );
  for (const route of ROUTES) addRoute(server, route, options);
  server.setNotFoundHandler((request, reply) => fail(request, reply, unknownPath(request)));
  server.setErrorHandler((error, request, reply) => fail(request, reply, refusalOf(error)));
  server.addHook('onResponse', async (request, reply) => options.onAnswered?.(entryOf(request, reply)));
  return server;
}

function addRoute(server: FastifyInstance, route: Route, { world }: ControlServerOptions): void {
  for (const url of controlPlanePaths(route.path))
    server.route({
      method: route.method,
      url,
      // Before its body is read: a stranger is not worth the memory.
      onRequest: async (request) => {
        const { snapshot, open } = readyWorld(world());
        request.setDecorator(CALLER, callerOf(request.headers, snapshot, open));
        assertPlainBody(request);
      },
      handler: async (request, reply) => {
        const answer = await route.run(callOf(request, readyWorld(world()).world));
        return answered(request, reply)
          .code(200)
          .send(Buffer.from(JSON.stringify(answer)));
      },
    });
}

function readyWorld(world: ControlWorld | undefined) {
  const snapshot = world?.snapshot;
  if (world !== undefined && snapshot !== undefined) return { world, snapshot, open: world.open };
  throw new ControlError('not_ready', 'The operator has not read everything yet.', { headers: { 'retry-after': '1' } });
}

function callOf(request: FastifyRequest, world: ControlWorld): Call {
  return {
    world,
    caller: request.getDecorator<ControlCaller>(CALLER),
    params: request.params as Call['params'],
    query: new URLSearchParams(request.url.split('?', 2)[1] ?? ''),
    body: request.body as Body | undefined,
  };
}

function assertPlainBody({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return;
  throw new ControlError('unsupported_media_type', 'The body must come without content-encoding.');
}

const refuse = (code: JsonProblem, message: string): ControlError => new ControlError(code, message);

/** By the status of what fastify itself found wrong. */
const REFUSALS: Readonly<Record<number, (details: ControlErrorDetails) => ControlError>> = {
  400: (details) => new ControlError('bad_request', 'The request is not well formed.', details),
  413: (details) => new ControlError('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`, details),
  415: (details) => new ControlError('unsupported_media_type', 'The content-type must be application/json.', details),
};

function refusalOf(error: unknown): ControlError {
  const { statusCode = 0 } = Object(error) as Partial<FastifyError>;
  return REFUSALS[statusCode]?.({ cause: error }) ?? asControlError(error);
}

/** 405 on a known path, else 404; neither asks for a key. */
function unknownPath({ url, method }: FastifyRequest): ControlError {
  const path = url.split('?', 1)[0]?.slice(0, MAX_PATH_CHARS) ?? '';
  const allowed = allowedAt(path);
  if (allowed.length === 0) return new ControlError('unknown_path', `There is nothing at ${path}.`);
  const allow = allowed.join(', ');
  return new ControlError('method_not_allowed', `${path} takes ${allow}, not ${method}.`, { headers: { allow } });
}

function fail(request: FastifyRequest, reply: FastifyReply, error: ControlError): FastifyReply {
  request.setDecorator(FAILURE, error);
  return answered(request, reply)
    .code(error.status)
    .headers(error.headers)
    .send(Buffer.from(JSON.stringify(error.envelope)));
}

function answered(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .header('content-type', 'application/json')
    .header('x-request-id', request.id)
    .header('cache-control', 'no-store');
}

function entryOf(request: FastifyRequest, { statusCode }: FastifyReply): ControlEntry {
  const caller = request.getDecorator<ControlCaller | undefined>(CALLER);
  const failure = request.getDecorator<ControlError | undefined>(FAILURE);
  return {
    method: request.method,
    path: request.url.split('?', 1)[0]?.slice(0, MAX_PATH_CHARS) ?? '',
    status: statusCode,
    caller: caller && `${caller.namespace}/${caller.name}`,
    request_id: request.id,
    trace_id: wordIn(request.headers['x-gateway-trace-id']),
    error: failure?.code,
    cause: failure?.code === 'internal' ? failure.cause : undefined,
  };
}

function wordIn(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && ID.test(value) ? value : undefined;
}

/** There may be no request to answer to, only a socket. */
function answerMalformed(socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify(new ControlError('bad_request', 'The request is not well-formed HTTP/1.1.').envelope);
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy());
}

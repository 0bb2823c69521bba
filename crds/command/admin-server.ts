/** The admin port of a program: a few pages by GET, over plain HTTP, never exposed beyond the pod. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export interface AdminAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type AdminPage = (query: URLSearchParams) => AdminAnswer | Promise<AdminAnswer>;

/** Why there is no page to show. */
export type AdminFailure = 'unknown_path' | 'method_not_allowed' | 'internal';

export interface AdminServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly pages: ReadonlyMap<string, AdminPage>;
  /** Default: plain text. */
  readonly failureAnswer?: (failure: AdminFailure, message: string, cause?: unknown) => AdminAnswer;
}

export interface Admin {
  /** e.g. `http://127.0.0.1:8788` */
  readonly origin: string;
  /** Ends the listener and its connections. */
  close(): Promise<void>;
}

export interface Health {
  /** Why this replica takes no part, in words (nothing loaded yet, draining); undefined: it does. */
  ready(): string | undefined;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
}

const PLAIN = 'text/plain; charset=utf-8';
const METHODS = ['GET', 'HEAD'];
const TIMEOUT_MS = 10_000;
const STATUS: Readonly<Record<AdminFailure, number>> = { unknown_path: 404, method_not_allowed: 405, internal: 500 };

export function plainAnswer(status: number, text: string): AdminAnswer {
  return { status, contentType: PLAIN, text: `${text}\n` };
}

/** `/healthz`, `/readyz` and `/metrics`. */
export function healthPages({ ready, metrics }: Health): readonly (readonly [path: string, page: AdminPage])[] {
  const readiness = () => {
    const reason = ready();
    return reason === undefined ? plainAnswer(200, 'ok') : plainAnswer(503, reason);
  };
  return [
    ['/healthz', () => plainAnswer(200, 'ok')],
    ['/readyz', readiness],
    ['/metrics', async () => ({ status: 200, ...(await metrics()) })],
  ];
}

/** Listens; rejects with the listener's error (`EADDRINUSE`, ...) where the port cannot be had. */
export async function startAdminServer(options: AdminServerOptions): Promise<Admin> {
  const server = createServer({ requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS }, (request, response) => {
    request.resume();
    void handle(options, request, response);
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    origin: originOf(options.host, server),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function handle(options: AdminServerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = request;
  const { status, contentType, text, headers } = await answerTo(options, method, url);
  const body = Buffer.from(text);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': body.length,
    'cache-control': 'no-store',
    ...(status === STATUS.method_not_allowed ? { allow: METHODS.join(', ') } : {}),
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : body);
}

async function answerTo(options: AdminServerOptions, method: string, target: string): Promise<AdminAnswer> {
  const { pages, failureAnswer = inPlainText } = options;
  const [path = '', query = ''] = target.split('?', 2);
  const page = pages.get(path);
  if (page === undefined) {
    return failureAnswer('unknown_path', `The admin port has only ${[...pages.keys()].join(', ')}.`);
  }
  if (!METHODS.includes(method)) {
    return failureAnswer('method_not_allowed', `${path} takes ${METHODS.join(' and ')} only.`);
  }
  try {
    return await page(new URLSearchParams(query));
  } catch (cause) {
    return failureAnswer('internal', 'The page could not be made.', cause);
  }
}

function inPlainText(failure: AdminFailure, message: string, cause?: unknown): AdminAnswer {
  return plainAnswer(STATUS[failure], cause instanceof Error ? cause.message : message);
}

function originOf(host: string, server: Server): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

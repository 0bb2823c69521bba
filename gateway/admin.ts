/** The admin port: health, readiness, metrics and what is being served. Plain HTTP, never exposed beyond the pod. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { errorEnvelope, GatewayError } from './errors.ts';

/** What `/config` says of the snapshot in use. Before the first: generation 0, hash '' and no time. */
export interface ServedConfig {
  readonly generation: number;
  readonly hash: string;
  /** ISO 8601. */
  readonly loaded_at: string | null;
  readonly format: number;
  /** The newest publication that this gateway refused, while it serves nothing newer. */
  readonly refused?: { readonly generation: number; readonly hash: string; readonly reason: string };
}

/** What the admin port looks at, anew for each request. */
export interface AdminView {
  /** Why this replica takes no requests, in words (no snapshot yet, draining); undefined: it does. */
  ready(): string | undefined;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  config(): ServedConfig;
  /** A line per object in use: kind, namespace/name. */
  objects(): Iterable<string>;
}

export interface AdminOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly view: AdminView;
}

export interface Admin {
  /** e.g. `http://127.0.0.1:8788` */
  readonly origin: string;
  /** Ends the listener and its connections. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const PLAIN = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';
const METHODS = ['GET', 'HEAD'];
const TIMEOUT_MS = 10_000;

function plain(status: number, text: string): Answer {
  return { status, contentType: PLAIN, text: `${text}\n` };
}

function json(status: number, body: unknown): Answer {
  return { status, contentType: JSON_TYPE, text: `${JSON.stringify(body)}\n` };
}

function configAnswer(view: AdminView, query: URLSearchParams): Answer {
  if (!query.has('objects')) return json(200, view.config());
  let text = '';
  for (const line of view.objects()) text += `${line}\n`;
  return { status: 200, contentType: PLAIN, text };
}

type Page = (view: AdminView, query: URLSearchParams) => Answer | Promise<Answer>;

const PAGES: ReadonlyMap<string, Page> = new Map<string, Page>([
  ['/healthz', () => plain(200, 'ok')],
  [
    '/readyz',
    (view) => {
      const reason = view.ready();
      return reason === undefined ? plain(200, 'ok') : plain(503, reason);
    },
  ],
  ['/metrics', async (view) => ({ status: 200, ...(await view.metrics()) })],
  ['/config', configAnswer],
]);

async function answerOf(view: AdminView, method: string, target: string): Promise<Answer> {
  const [path = '', query = ''] = target.split('?', 2);
  const page = PAGES.get(path);
  if (page === undefined) {
    throw new GatewayError('unknown_path', `The admin port has only ${[...PAGES.keys()].join(', ')}.`);
  }
  if (!METHODS.includes(method)) {
    const headers = { allow: METHODS.join(', ') };
    throw new GatewayError('method_not_allowed', `${path} takes ${METHODS.join(' and ')} only.`, { headers });
  }
  return page(view, new URLSearchParams(query));
}

function failure(cause: unknown): Answer {
  const error =
    cause instanceof GatewayError ? cause : new GatewayError('internal', 'The page could not be made.', { cause });
  return { ...json(error.status, errorEnvelope(error)), headers: error.details.headers ?? {} };
}

async function handle(view: AdminView, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const method = request.method ?? 'GET';
  const answer = await answerOf(view, method, request.url ?? '/').catch(failure);
  const body = Buffer.from(answer.text);
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': body.length,
    'cache-control': 'no-store',
    ...answer.headers,
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function originOf(host: string, server: Server): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Listens; rejects with the listener's error (`EADDRINUSE`, ...) where the port cannot be had. */
export async function startAdmin({ host, port, view }: AdminOptions): Promise<Admin> {
  const server = createServer({ requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS }, (request, response) => {
    request.resume();
    void handle(view, request, response);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    origin: originOf(host, server),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

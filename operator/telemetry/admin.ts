/** The admin port: whether the operator lives and is ready, and its metrics. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';

export interface AdminOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Why it is not ready, in words; undefined: it is. */
  readonly ready: () => string | undefined;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
}

export interface Admin {
  /** e.g. `http://127.0.0.1:8788` */
  readonly origin: string;
  /** Ends the listener and its connections. */
  close(): Promise<void>;
}

interface Page {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

const PAGES: ReadonlyMap<string, (options: AdminOptions) => Page | Promise<Page>> = new Map<
  string,
  (options: AdminOptions) => Page | Promise<Page>
>([
  ['/healthz', () => ({ status: 200, text: 'ok\n' })],
  [
    '/readyz',
    ({ ready }) => {
      const reason = ready();
      return reason === undefined ? { status: 200, text: 'ok\n' } : { status: 503, text: `${reason}\n` };
    },
  ],
  ['/metrics', async ({ metrics }) => ({ status: 200, text: await metrics.text(), contentType: metrics.contentType })],
]);
const METHODS = ['GET', 'HEAD'];
const PLAIN = 'text/plain; charset=utf-8';
const TIMEOUT_MS = 10_000;

/** Listens; rejects with the listener's error (`EADDRINUSE`, ...) where the port cannot be had. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const server = createServer({ requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS }, (request, response) => {
    request.resume();
    const { method = 'GET', url = '/' } = request;
    pageOf(options, method, url.split('?', 1)[0] ?? '').then(
      (page) => answer(response, page, method),
      (error: Error) => answer(response, { status: 500, text: `${error.message}\n` }, method),
    );
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

async function pageOf(options: AdminOptions, method: string, path: string): Promise<Page> {
  const page = PAGES.get(path);
  if (page === undefined) return { status: 404, text: `The admin port has only ${[...PAGES.keys()].join(', ')}.\n` };
  if (!METHODS.includes(method)) return { status: 405, text: `${path} takes ${METHODS.join(' and ')} only.\n` };
  return page(options);
}

function answer(response: ServerResponse, { status, text, contentType = PLAIN }: Page, method: string): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': body.length,
    'cache-control': 'no-store',
    ...(status === 405 ? { allow: METHODS.join(', ') } : {}),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function originOf(host: string, server: Server): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

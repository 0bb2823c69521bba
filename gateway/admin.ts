/** The admin port: health, readiness, metrics and what is being served. */
import {
  type Admin,
  type AdminAnswer,
  type AdminPage,
  type Health,
  healthPages,
  startAdminServer,
} from '#crds/command/admin-server.ts';
import { errorEnvelope, GatewayError } from './errors.ts';
import type { UsagePage } from './usage-page.ts';

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
export interface AdminView extends Health {
  config(): ServedConfig;
  usage(): Promise<UsagePage>;
  /** A line per object in use: kind, namespace/name. */
  objects(): Iterable<string>;
}

export interface AdminOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly view: AdminView;
}

/** Listens; rejects with the listener's error (`EADDRINUSE`, ...) where the port cannot be had. */
export function startAdmin({ host, port, view }: AdminOptions): Promise<Admin> {
  const config = (query: URLSearchParams) => configAnswer(view, query);
  const usage = async () => json(200, await view.usage());
  return startAdminServer({
    host,
    port,
    pages: new Map<string, AdminPage>([...healthPages(view), ['/config', config], ['/usage', usage]]),
    failureAnswer: (code, message, cause) => failure(new GatewayError(code, message, { cause })),
  });
}

function configAnswer(view: AdminView, query: URLSearchParams): AdminAnswer {
  if (!query.has('objects')) return json(200, view.config());
  let text = '';
  for (const line of view.objects()) text += `${line}\n`;
  return { status: 200, contentType: 'text/plain; charset=utf-8', text };
}

function failure(error: GatewayError): AdminAnswer {
  return json(error.status, errorEnvelope(error));
}

function json(status: number, body: unknown): AdminAnswer {
  return { status, contentType: 'application/json', text: `${JSON.stringify(body)}\n` };
}

/** Who asks an API server: as a KubeConfig has it, plain or by a plugin that it runs, or by a token file. */
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { TokenFile } from './token-file.ts';

/** The cluster's CA, the name that its certificate is for, a certificate of our own. */
export type ClusterTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface ClusterCredentials {
  tls(): Promise<ClusterTls>;
  /** Value of the Authorization header. Rejects where it cannot be had. */
  authorization(): Promise<string | undefined>;
  /** What was remembered is forgotten, if it is this. */
  refused(authorization: string | undefined): void;
}

/** How long what a KubeConfig told is used on. Its plugins run no more often than their tokens expire. */
const REMEMBER_MS = 10_000;

/** `load`: reads the KubeConfig, with nothing remembered from before. */
export function credentialsOf(load: () => KubeConfig, user: User): ClusterCredentials {
  const configured = new Configured(load);
  const file: unknown = user.authProvider?.config?.['tokenFile'];
  return typeof file === 'string' ? withTokenFile(configured, file) : configured;
}

export function firstLine(cause: unknown): string {
  const [line = ''] = (cause instanceof Error ? cause.message : String(cause)).trim().split('\n');
  return line;
}

interface Told {
  readonly tls: ClusterTls;
  readonly authorization: string | undefined;
}

class Configured implements ClusterCredentials {
  readonly #load: () => KubeConfig;
  #config: KubeConfig | undefined;
  #asked: Promise<Told> | undefined;
  #askedMs = 0;
  #last: string | undefined;

  constructor(load: () => KubeConfig) {
    this.#load = load;
  }

  async tls(): Promise<ClusterTls> {
    return (await this.#remembered()).tls;
  }

  async authorization(): Promise<string | undefined> {
    return (await this.#remembered()).authorization;
  }

  refused(authorization: string | undefined): void {
    if (authorization !== this.#last) return;
    this.#config = undefined;
    this.#asked = undefined;
    this.#last = undefined;
  }

  #remembered(): Promise<Told> {
    if (this.#asked !== undefined && performance.now() - this.#askedMs < REMEMBER_MS) return this.#asked;
    const asked = this.#ask();
    this.#asked = asked;
    this.#askedMs = performance.now();
    asked.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
    return asked;
  }

  async #ask(): Promise<Told> {
    this.#config ??= this.#load();
    const request: RequestOptions = {};
    try {
      await this.#config.applyToHTTPSOptions(request);
    } catch (cause) {
      throw new Error(`the credentials of the kubeconfig cannot be had: ${firstLine(cause)}`, { cause });
    }
    const told = { tls: tlsOf(request), authorization: authorizationIn(request) };
    this.#last = told.authorization;
    return told;
  }
}

/** The token is not left to the KubeConfig, which keeps it for a minute, refused or not. */
function withTokenFile(configured: ClusterCredentials, path: string): ClusterCredentials {
  const file = new TokenFile(path);
  return {
    tls: () => configured.tls(),
    authorization: async () => `Bearer ${await file.read()}`,
    refused: () => file.forget(),
  };
}

function tlsOf(request: RequestOptions): ClusterTls {
  const { ca, cert, key, rejectUnauthorized, servername }: ClusterTls = request;
  const fields = { ca, cert, key, rejectUnauthorized, servername };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function authorizationIn({ headers, auth }: RequestOptions): string | undefined {
  const header: unknown = Object(headers)['Authorization'];
  if (typeof header === 'string') return header.trim();
  return auth ? `Basic ${Buffer.from(auth).toString('base64')}` : undefined;
}

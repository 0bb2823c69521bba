/** Requests over TLS to the API server of a cluster, on connections that are kept and shared. */
import { Agent, type Dispatcher } from 'undici';
import type { Cluster } from './kube-config.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';

export interface UndiciTransportOptions {
  /** Each watch takes one for as long as it lasts. Default 512. */
  readonly maxConnections?: number;
}

const DEFAULT_MAX_CONNECTIONS = 512;
const CONNECT_MS = 5_000;
const HEADERS_MS = 30_000;
/** Less than any API server keeps a connection that nothing is asked on. */
const KEEP_IDLE_MS = 30_000;
const PROBE_AFTER_MS = 30_000;
const USER_AGENT = 'model-gateway';
const UNAUTHORIZED = 401;

export function undiciTransport(cluster: Cluster, { maxConnections }: UndiciTransportOptions = {}): Transport {
  return new UndiciTransport(cluster, maxConnections ?? DEFAULT_MAX_CONNECTIONS);
}

class UndiciTransport implements Transport {
  readonly #cluster: Cluster;
  readonly #agent: Agent;

  constructor(cluster: Cluster, connections: number) {
    this.#cluster = cluster;
    this.#agent = new Agent({
      allowH2: false,
      connections,
      headersTimeout: HEADERS_MS,
      // A watch may be silent for as long as whoever reads it is patient.
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_IDLE_MS,
      connect: { ...cluster.tls, timeout: CONNECT_MS, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS },
    });
  }

  /** A refused token is read anew at once; where another was there, the request is sent once more. */
  async send(request: ApiRequest): Promise<ApiResponse> {
    const authorization = await this.#authorization(request);
    const answer = await this.#exchange(request, authorization);
    if (answer.statusCode !== UNAUTHORIZED) return responseOf(answer);
    this.#cluster.refused(authorization);
    const renewed = await this.#authorization(request);
    if (renewed === authorization) return responseOf(answer);
    await answer.body.dump();
    return responseOf(await this.#exchange(request, renewed));
  }

  /** Breaks what is still under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** A plugin that hangs does not hold those who gave up. */
  #authorization({ signal }: ApiRequest): Promise<string | undefined> {
    return signal === undefined ? this.#cluster.authorization() : unlessAborted(this.#cluster.authorization(), signal);
  }

  #exchange(request: ApiRequest, authorization: string | undefined): Promise<Dispatcher.ResponseData> {
    const { method, path, accept = 'application/json', contentType, body, signal } = request;
    return this.#agent.request({
      origin: this.#cluster.origin,
      method,
      path,
      headers: {
        'user-agent': USER_AGENT,
        accept,
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: body ?? null,
      signal: signal ?? null,
    });
  }
}

function responseOf({ statusCode, headers, body }: Dispatcher.ResponseData): ApiResponse {
  const joined = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return { status: statusCode, headers: Object.fromEntries(joined), body };
}

function unlessAborted<T>(waitedFor: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    waitedFor.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

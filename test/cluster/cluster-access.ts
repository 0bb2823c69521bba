/** How to reach an API server: plain data, so that it can be handed to another process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';

export interface ClusterAccess {
  /** `https://127.0.0.1:<port>`. */
  readonly origin: string;
  /** PEM file of the CA that signed the API server's certificate. */
  readonly caFile: string;
  /** Bearer token of an administrator (group system:masters). */
  readonly adminToken: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** For files of the tests; it goes when the control plane stops. */
  readonly folder: string;
}

export interface ApiAnswer {
  readonly status: number;
  /** Parsed JSON, or the text where it is none. */
  readonly body: unknown;
}

export interface ApiCall {
  readonly method?: Dispatcher.HttpMethod;
  /** With its query. */
  readonly path: string;
  readonly body?: object;
  /** Default: the administrator's. */
  readonly token?: string;
  /** Default: application/json. */
  readonly contentType?: string;
}

const TIMEOUT_MS = 15_000;

/** One exchange on a connection of its own. Rejects only where there is no answer. */
export async function callApi(access: ClusterAccess, call: ApiCall): Promise<ApiAnswer> {
  const { method = 'GET', path, body, token = access.adminToken, contentType = 'application/json' } = call;
  const ca = readFileSync(access.caFile, 'utf8');
  const agent = new Agent({ connect: { ca }, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  try {
    const answer = await request(access.origin + path, {
      method,
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, 'content-type': contentType },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: parsed(await answer.body.text()) };
  } finally {
    await agent.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** As `callApi`, and rejects for every other status than 2xx with the server's own message. Gives the body. */
export async function askApi(access: ClusterAccess, call: ApiCall): Promise<Record<string, unknown>> {
  const { status, body } = await callApi(access, call);
  if (status >= 200 && status < 300) return Object(body);
  throw new Error(`${call.method ?? 'GET'} ${call.path}: ${status} ${Object(body).message ?? body}`);
}

/** Writes a kubeconfig for the bearer of a token. Gives its path. `origin` may be one of plain HTTP. */
export function writeKubeconfig(
  access: Omit<ClusterAccess, 'kubeconfig'>,
  name: string,
  token: string,
  namespace = 'default',
): string {
  const path = join(access.folder, `${name}.kubeconfig`);
  const isPlain = access.origin.startsWith('http:');
  const trust = isPlain ? { 'insecure-skip-tls-verify': true } : { 'certificate-authority': access.caFile };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server: access.origin, ...trust } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
  };
  writeFileSync(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return path;
}

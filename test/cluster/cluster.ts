/** A cluster as a test uses it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { inject } from 'vitest';
import {
  type ApiAnswer,
  type ApiCall,
  askApi,
  type ClusterAccess,
  callApi,
  writeKubeconfig,
} from './cluster-access.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { startControllers, startFakeNodes } from './controllers.ts';
import type { FoundParts } from './parts.ts';
import { runCommand } from './run-command.ts';

const CRD_ATTEMPTS = 5;
const CRD_PAUSE_MS = 200;
const CRDS = join(import.meta.dirname, '..', '..', 'crds', 'generated');

/** What the set-up of the run hands to the test files. */
export interface ClusterState {
  readonly found: FoundParts;
  /** Why each other part is not there. */
  readonly missing: Readonly<Partial<Record<string, string>>>;
  /** Of the shared control plane; absent where a core part is missing. */
  readonly access?: ClusterAccess;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Absent where no selected file calls describeCluster. */
    cluster?: ClusterState;
  }
}

export class Cluster {
  readonly access: ClusterAccess;
  readonly #parts: FoundParts;
  #crds: Promise<void> | undefined;

  constructor(parts: FoundParts, access: ClusterAccess) {
    this.#parts = parts;
    this.access = access;
  }

  /** `https://127.0.0.1:<port>`. */
  get origin(): string {
    return this.access.origin;
  }

  /** PEM file. */
  get caFile(): string {
    return this.access.caFile;
  }

  get adminToken(): string {
    return this.access.adminToken;
  }

  /** Path of the administrator's. */
  get kubeconfig(): string {
    return this.access.kubeconfig;
  }

  /** As the administrator. Gives its standard output; rejects with CommandFailed unless its exit status is 0. */
  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.#tool('kubectl', args, input);
  }

  /** As `kubectl`. The suite must name helm among its needs. */
  helm(args: readonly string[], input?: string): Promise<string> {
    return this.#tool('helm', args, input);
  }

  /** One request as JSON, as the administrator unless it has a token; every status is an answer. */
  request(call: ApiCall): Promise<ApiAnswer> {
    return callApi(this.access, call);
  }

  /** Creates a namespace that no other test uses. Gives its name, `<prefix>-<hex>`. */
  async namespace(prefix: string): Promise<string> {
    const name = `${prefix}-${randomBytes(4).toString('hex')}`;
    await askApi(this.access, { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
    return name;
  }

  /** A real token of a service account, an hour valid. The account is created where there is none. */
  async tokenFor(namespace: string, serviceAccount: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const { status, body } = await this.request({ method: 'POST', path, body: { metadata: { name: serviceAccount } } });
    if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
    const answer = await askApi(this.access, {
      method: 'POST',
      path: `${path}/${serviceAccount}/token`,
      body: { spec: {} },
    });
    return String(Object(answer.status).token);
  }

  /** Path of a kubeconfig for the bearer of a token; `namespace` is its context's. */
  kubeconfigFor(token: string, namespace = 'default'): string {
    return writeKubeconfig(this.access, randomBytes(4).toString('hex'), token, namespace);
  }

  /** Our generated CRDs, established. */
  installCrds(): Promise<void> {
    this.#crds ??= this.#installCrds();
    return this.#crds;
  }

  async #installCrds(): Promise<void> {
    const apply = ['apply', '--server-side', '--force-conflicts', '-f', CRDS];
    // Another suite may install them in the same moment.
    await this.kubectl(apply).catch(() => this.kubectl(apply));
    const wait = ['wait', '--for=condition=Established', '--timeout=30s', '-f', CRDS];
    // A CRD that has no status yet is an error to it, not something to wait for.
    for (let attempt = 1; ; attempt++) {
      try {
        await this.kubectl(wait);
        return;
      } catch (error) {
        if (attempt === CRD_ATTEMPTS) throw error;
        await setTimeout(CRD_PAUSE_MS);
      }
    }
  }

  #tool(part: 'kubectl' | 'helm', args: readonly string[], input: string | undefined): Promise<string> {
    const file = this.#parts[part];
    if (file === undefined) throw new Error(`${part} is missing: name it among the needs of the suite`);
    // A home of its own: no configuration of the user's, and a cache that goes with the cluster.
    const env = { PATH: process.env.PATH, HOME: join(this.access.folder, 'home'), KUBECONFIG: this.kubeconfig };
    return runCommand({ file, args, env, input });
  }
}

let shared: Cluster | undefined;

/** The cluster that all suites of a run share. For hooks and tests inside describeCluster. */
export function cluster(): Cluster {
  const { found, access } = clusterState();
  if (access === undefined) throw new Error('there is no cluster here: call cluster() inside describeCluster');
  shared ??= new Cluster(found, access);
  return shared;
}

export function clusterState(): ClusterState {
  const state = inject('cluster');
  if (state === undefined) throw new Error('no cluster was prepared: the test file itself must call describeCluster(');
  return state;
}

export interface OwnClusterOptions extends ControlPlaneOptions {
  /** kube-controller-manager. The suite needs CONTROLLER_PARTS. */
  readonly controllers?: boolean;
  /** Nodes that run pods on paper, and the controllers. The suite needs NODE_PARTS. */
  readonly fakeNodes?: number;
}

export interface OwnCluster {
  readonly cluster: Cluster;
  readonly plane: ControlPlane;
}

/** A control plane for one suite alone, which may break it: `await own.plane.stop()` in afterAll. Takes some seconds. */
export async function startOwnCluster(options: OwnClusterOptions = {}): Promise<OwnCluster> {
  const { found } = clusterState();
  const { controllers = false, fakeNodes = 0 } = options;
  const plane = await startControlPlane(found, options);
  try {
    if (controllers || fakeNodes > 0) await startControllers(plane);
    if (fakeNodes > 0) await startFakeNodes(plane, fakeNodes);
  } catch (error) {
    await plane.stop();
    throw error;
  }
  return { plane, cluster: new Cluster(found, plane.access) };
}

/**
 * A release on a real API server: operators and gateways as processes, with the chart's arguments and rights, and a tenant's
 * namespace that it serves.
 */
import { mkdirSync } from 'node:fs';
import type { Cluster } from '../cluster/cluster.ts';
import { freePorts } from '../cluster/free-ports.ts';
import { waitFor } from '../fakes/wait-for.ts';
import type { Release } from '../helm/helm.ts';
import { at } from '../helm/manifest.ts';
import { type Running, run } from '../helm/running.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { grant, kubeconfigOf } from './accounts.ts';
import { GatewayReplica } from './gateway-replica.ts';
import type { Manifest } from './world.ts';

export interface StageOptions {
  /** Default 3. */
  readonly gateways?: number;
  /** Identities of the operators. Default: one. */
  readonly operators?: readonly string[];
  /** How operators reach the API server. Default: directly. */
  readonly operatorOrigin?: string;
  /** Of the chart, besides the stage's own. */
  readonly values?: object;
  /** Gateways find the control plane of the first operator. */
  readonly hasControlPlane?: boolean;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

/** The machine may be busy with others. */
export const PATIENCE_MS = 30_000;
const RELEASE = 'edge';

export class Stage {
  readonly cluster: Cluster;
  readonly release: Release;
  /** Namespace of the custom resources. */
  readonly tenant: string;
  readonly folder: Folder;
  /** By identity. */
  readonly operators = new Map<string, Running>();
  #gateways: readonly GatewayReplica[] = [];
  #operatorKubeconfig = '';

  #controlPort = 0;

  constructor(cluster: Cluster, namespace: string, tenant: string, values: object = {}) {
    this.cluster = cluster;
    const own = { watchNamespaces: [tenant], snapshot: { maxShards: 2 } };
    this.release = { name: RELEASE, namespace, values: { ...own, ...values } };
    this.tenant = tenant;
    this.folder = makeFolder();
  }

  get gateways(): readonly GatewayReplica[] {
    return this.#gateways;
  }

  gateway(index: number): GatewayReplica {
    const gateway = this.#gateways[index];
    if (gateway === undefined) throw new Error(`there is no gateway ${index}`);
    return gateway;
  }

  operator(identity: string = 'operator-0'): Running {
    const operator = this.operators.get(identity);
    if (operator === undefined) throw new Error(`there is no operator ${identity}`);
    return operator;
  }

  /** Called by `startStage`. */
  async start(options: StageOptions): Promise<void> {
    const { gateways = 3, operators = ['operator-0'], operatorOrigin, hasControlPlane = false } = options;
    if (hasControlPlane) [this.#controlPort = 0] = await freePorts(1);
    await this.cluster.installCrds();
    await grant(this.cluster, this.release);
    this.#operatorKubeconfig = await kubeconfigOf(this, 'operator', operatorOrigin);
    const kubeconfig = await kubeconfigOf(this, 'gateway');
    const names = Array.from({ length: gateways }, (_, index) => `gateway-${index}`);
    const flags = hasControlPlane ? [`--operator-url=http://127.0.0.1:${this.#controlPort}`] : [];
    this.#gateways = names.map((name) => this.newGateway(name, kubeconfig, flags));
    await Promise.all(this.#gateways.map((gateway) => gateway.start()));
    for (const gateway of this.#gateways) await this.announce(gateway);
    for (const identity of operators) this.startOperator(identity);
    await Promise.all([...this.operators.values()].map((operator) => operator.told('ready', 'msg')));
  }

  /** Not started, and known to no operator. */
  newGateway(name: string, kubeconfig: string | undefined, flags: readonly string[] = []): GatewayReplica {
    return new GatewayReplica({ release: this.release, name, folder: this.folder.at(name), kubeconfig, flags });
  }

  /** Tells operators where the gateway is. */
  async announce(gateway: GatewayReplica): Promise<void> {
    await this.kubectl(['apply', '-f', '-'], JSON.stringify(gateway.endpointSlice(`${RELEASE}-gateway`)));
  }

  startOperator(identity: string = 'operator-0'): Running {
    const folder = this.folder.at(identity);
    mkdirSync(folder, { recursive: true });
    const flags = [`--identity=${identity}`, `--api-port=${this.#controlPort}`];
    const options = { kubeconfig: this.#operatorKubeconfig, folder, flags };
    const operator = run(this.release, 'operator', options);
    this.operators.set(identity, operator);
    return operator;
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.cluster.kubectl(args, input);
  }

  async apply(...manifests: readonly Manifest[]): Promise<void> {
    const input = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n');
    await this.kubectl(['apply', '-n', this.tenant, '-f', '-'], input);
  }

  /** `resource`: e.g. `gatewayconfig/chat`. */
  async delete(resource: string): Promise<void> {
    await this.kubectl(['delete', '-n', this.tenant, resource]);
  }

  /** `kubectl wait`. Rejects as that does. */
  async wait(resource: string, condition = 'Programmed', timeoutSeconds = PATIENCE_MS / 1_000): Promise<void> {
    const how = [`--for=condition=${condition}`, `--timeout=${timeoutSeconds}s`];
    await this.kubectl(['wait', '-n', this.tenant, ...how, resource]);
  }

  /** The object as it is stored. */
  async read(resource: string, namespace: string = this.tenant): Promise<Record<string, unknown>> {
    return JSON.parse(await this.kubectl(['get', '-n', namespace, resource, '-o', 'json']));
  }

  async condition(resource: string, type: string): Promise<Condition | undefined> {
    const conditions = at<Condition[]>(await this.read(resource), 'status.conditions') ?? [];
    return conditions.find((condition) => condition.type === type);
  }

  /** A new ApiKey's plaintext, once it is programmed. */
  async keyOf(name: string): Promise<string> {
    await this.wait(`apikey/${name}`);
    const data = at<string>(await this.read(`secret/${name}-api-key`), 'data.api_key');
    return Buffer.from(data ?? '', 'base64').toString();
  }

  /** What each gateway answers to requests that are sent in the same moment; a status where it is no answer. */
  words(key: string, headers: Readonly<Record<string, string>> = {}): Promise<string[]> {
    return Promise.all(
      this.#gateways.map(async (gateway) => {
        const { status, word } = await gateway.ask(key, headers);
        return status === 200 ? word : String(status);
      }),
    );
  }

  /** Waits until every gateway answers so. */
  async answers(key: string, word: string, timeoutMs = PATIENCE_MS): Promise<void> {
    const isSo = async () => (await this.words(key)).every((one) => one === word);
    await waitFor(isSo, `${word} of every gateway`, timeoutMs);
  }

  async stop(): Promise<void> {
    const processes = [...this.operators.values(), ...this.#gateways.map(({ process }) => process)];
    await Promise.all(processes.map((process) => process.kill()));
    this.folder.remove();
  }
}

/** Resolves when every operator is ready, and every gateway listens. */
export async function startStage(cluster: Cluster, options: StageOptions = {}): Promise<Stage> {
  const stage = new Stage(
    cluster,
    await cluster.namespace('gateways'),
    await cluster.namespace('team'),
    options.values,
  );
  try {
    await stage.start(options);
  } catch (error) {
    await stage.stop().catch(() => undefined);
    throw error;
  }
  return stage;
}

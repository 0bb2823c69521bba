/** A release whose operator is killed at one of its writes and started again: one workload after the other. */
import { ApiClient } from '#crds/api/api-client.ts';
import { CONFIG_MAPS, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { loadCluster } from '#crds/api/kube-config.ts';
import { undiciTransport } from '#crds/api/undici-transport.ts';
import { SNAPSHOT_LABEL } from '#crds/snapshot/object-names.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { at } from '../helm/manifest.ts';
import type { Running } from '../helm/running.ts';
import { type Outcome, outcomeOf, RESOURCES } from './outcome.ts';
import { PATIENCE_MS, type Stage, startStage } from './stage.ts';
import { apiKey, chat, credential, integration, type Manifest } from './world.ts';
import { type Strike, startWriteProxy, type WriteProxy } from './write-proxy.ts';

export interface Run {
  /** After each step of the workload. */
  readonly outcomes: readonly Outcome[];
  /** false: there are not so many writes. */
  readonly wasKilled: boolean;
  /** `METHOD path` of each, of both its operators. */
  readonly writes: readonly string[];
  /** What the gateway answers in the end. */
  readonly word: string;
}

const FIELD_MANAGER = 'test';
/** Each look is some requests, and the machine has other things to do. */
const LOOK_EVERY_MS = 150;
/** Nothing was written for so long: nothing will be. */
const QUIET_MS = 1_500;

export class Lane {
  readonly #stage: Stage;
  readonly #proxy: WriteProxy;
  readonly #client: ApiClient;
  readonly #steps: readonly (() => Promise<void>)[];
  #operator: Running | undefined;
  #wasKilled = false;

  constructor(stage: Stage, proxy: WriteProxy, client: ApiClient) {
    this.#stage = stage;
    this.#proxy = proxy;
    this.#client = client;
    this.#steps = [
      async () => {
        await this.#leaveShard();
        await this.#apply(credential(), integration(), chat('one'), apiKey('caller'));
      },
      async () => {
        await this.#apply(chat('two'));
        await this.#client.delete(resourceOf('Integration'), this.#stage.tenant, 'stored');
      },
    ];
  }

  /** The whole workload on clean ground. `expected`: what each step shall come to; it is waited for. */
  async run(strike?: Strike, expected: readonly Outcome[] = []): Promise<Run> {
    await this.#clear();
    this.#wasKilled = false;
    this.#proxy.arm(strike, () => this.#operator?.signal('SIGKILL'));
    await this.#start();
    const outcomes: Outcome[] = [];
    try {
      for (const [index, step] of this.#steps.entries()) {
        await step();
        outcomes.push(await this.#settled(expected[index]));
      }
      const word = await this.#word();
      return { outcomes, wasKilled: this.#wasKilled, writes: [...this.#proxy.writes], word };
    } finally {
      await this.#operator?.kill();
    }
  }

  async stop(): Promise<void> {
    await this.#stage.stop();
    await this.#proxy.close();
    await this.#client.transport.close();
  }

  /** What is expected, or what there is where that does not come about. */
  async #settled(expected: Outcome | undefined): Promise<Outcome> {
    const deadline = performance.now() + PATIENCE_MS;
    const wanted = JSON.stringify(expected);
    let [outcome, written, quietMs] = ['', -1, performance.now()];
    const isDone = async () => {
      await this.#revive();
      outcome = JSON.stringify(await outcomeOf(this.#stage, this.#client));
      const count = this.#proxy.writes.length;
      if (count !== written) [written, quietMs] = [count, performance.now()];
      const isQuiet = performance.now() - quietMs > QUIET_MS && count > 0;
      const isSo = expected === undefined ? isQuiet : outcome === wanted && !this.#proxy.hasStruck;
      return isSo || performance.now() > deadline;
    };
    while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    return JSON.parse(outcome);
  }

  /** As its Deployment would. */
  async #revive(): Promise<void> {
    if (!this.#proxy.hasStruck) return;
    await this.#operator?.kill();
    this.#wasKilled = true;
    this.#proxy.mend();
    await this.#start();
  }

  async #start(): Promise<void> {
    this.#operator = this.#stage.startOperator();
    await this.#operator.told('starting', 'msg');
  }

  async #word(): Promise<string> {
    const secret = await this.#client.read(SECRETS, this.#stage.tenant, 'caller-api-key');
    const key = Buffer.from(at<string>(secret, 'data.api_key') ?? '', 'base64').toString();
    const word = async () => (await this.#stage.words(key))[0] ?? '';
    await waitFor(async () => (await word()) === 'two', 'the gateway to serve it', PATIENCE_MS).catch(() => undefined);
    return word();
  }

  async #apply(...manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) {
      const object = { ...manifest, metadata: { ...manifest.metadata, namespace: this.#stage.tenant } };
      await this.#client.apply(resourceOf(manifest.kind), object, { fieldManager: FIELD_MANAGER });
    }
  }

  /** Of an operator that needed more of them: it is to be deleted. */
  async #leaveShard(): Promise<void> {
    const { name, namespace } = this.#stage.release;
    const metadata = { name: `${name}-snapshot-1`, namespace, labels: { [SNAPSHOT_LABEL]: name } };
    await this.#client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata }, FIELD_MANAGER);
  }

  /** Everything of an earlier run, but for the gateway and what it serves. */
  async #clear(): Promise<void> {
    const { release, tenant } = this.#stage;
    for (const resource of [...RESOURCES, SECRETS]) await this.#clearOf(resource, tenant);
    for (const resource of [CONFIG_MAPS, SECRETS]) await this.#clearOf(resource, release.namespace);
  }

  async #clearOf(resource: Resource, namespace: string): Promise<void> {
    const { items } = await this.#client.listAll(resource, { namespace });
    for (const { metadata } of items) await this.#client.delete(resource, namespace, metadata.name);
  }
}

function resourceOf(kind: string): Resource {
  const found = [...RESOURCES, SECRETS].find((resource) => resource.kind === kind);
  if (found === undefined) throw new Error(`no resource for the kind ${kind}`);
  return found;
}

export async function startLane(cluster: Cluster): Promise<Lane> {
  const proxy = await startWriteProxy(cluster.access);
  const stage = await startStage(cluster, { gateways: 1, operators: [], operatorOrigin: proxy.origin });
  const client = new ApiClient(undiciTransport(await loadCluster({ kubeconfig: cluster.kubeconfig })));
  return new Lane(stage, proxy, client);
}

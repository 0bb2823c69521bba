/** A release on nodes whose pods run on paper, with an operator that really works, and the objects of `crds/examples/cluster`. */
import { join } from 'node:path';
import { KINDS } from '#crds/kinds/kinds.ts';
import { type OwnCluster, startOwnCluster } from '../cluster/cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { REPOSITORY } from './helm.ts';
import { type Running, run } from './running.ts';

export const RELEASE = 'edge';
export const NAMESPACE = 'gw';
export const DEMO = 'model-gateway-demo';
export const PATIENCE_MS = 30_000;

const VALUES = { watchNamespaces: [DEMO], snapshot: { maxShards: 2 } };
const EXAMPLES = join(REPOSITORY, 'crds/examples/cluster');
const PLURALS = KINDS.map(({ plural }) => plural).join(',');
const EACH = (line: string) => `jsonpath={range .items[*]}${line}{"\\n"}{end}`;

export class ReleaseStage {
  readonly own: OwnCluster;
  readonly #folder: Folder = makeFolder();
  #operator: Running | undefined;

  constructor(own: OwnCluster) {
    this.own = own;
  }

  async stop(): Promise<void> {
    await this.stopOperator();
    await this.own.plane.stop();
    this.#folder.remove();
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.own.cluster.kubectl(args, input);
  }

  /** In the release's namespace. */
  helm(args: readonly string[]): Promise<string> {
    return this.own.cluster.helm([...args, '--namespace', NAMESPACE]);
  }

  /** Until everything that the chart makes is well. */
  async install(command: 'install' | 'upgrade', chart: string): Promise<string> {
    const wait = ['--wait', '--timeout', '50s', '--values', '-'];
    const args = [command, RELEASE, chart, '--namespace', NAMESPACE, '--create-namespace', ...wait];
    const values = JSON.stringify(VALUES);
    return this.own.cluster.helm(
      command === 'install' ? args : args.filter((arg) => arg !== '--create-namespace'),
      values,
    );
  }

  /** With the chart's arguments, account and roles. */
  async startOperator(): Promise<void> {
    const token = await this.own.cluster.tokenFor(NAMESPACE, `${RELEASE}-operator`);
    const kubeconfig = this.own.cluster.kubeconfigFor(token, NAMESPACE);
    const release = { name: RELEASE, namespace: NAMESPACE, values: VALUES };
    this.#operator = run(release, 'operator', { kubeconfig, folder: this.#folder.path });
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** The examples, accepted and published. */
  async applyExamples(): Promise<void> {
    await this.kubectl(['apply', '-f', EXAMPLES]);
    await this.untilAccepted();
    await waitFor(async () => (await this.generation()) > 0, 'a snapshot', PATIENCE_MS);
  }

  async untilAccepted(): Promise<void> {
    const accepted = EACH(
      '{.status.observedGeneration}={.metadata.generation} {.status.conditions[?(@.type=="Accepted")].status}',
    );
    const isDone = async () => {
      const lines = (await this.kubectl(['get', PLURALS, '-n', DEMO, '-o', accepted])).trim().split('\n');
      return lines.length === 3 && lines.every((line) => /^(\d+)=\1 True$/.test(line));
    };
    await waitFor(isDone, 'three accepted objects', PATIENCE_MS);
  }

  /** Of the published snapshot; 0: there is none. */
  async generation(): Promise<number> {
    const index = await this.kubectl([
      'get',
      'configmap',
      '-n',
      NAMESPACE,
      `${RELEASE}-snapshot-index`,
      '--ignore-not-found',
      '-o',
      'jsonpath={.data.index}',
    ]);
    return index === '' ? 0 : JSON.parse(index).generation;
  }

  /** What outlives every release: what users made, the keys that were made for them, and the kinds; a line each. */
  async kept(): Promise<readonly string[]> {
    const objects = await this.kubectl([
      'get',
      `${PLURALS},secrets`,
      '-n',
      DEMO,
      '-o',
      EACH('{.kind} {.metadata.name} {.metadata.uid} {.data}'),
    ]);
    return [...objects.trim().split('\n'), ...(await this.crds())];
  }

  /** Name and uid of each. */
  async crds(): Promise<readonly string[]> {
    const text = await this.kubectl(['get', 'crd', '-o', EACH('{.metadata.name} {.metadata.uid}')]);
    return text.split('\n').filter((line) => line !== '');
  }

  /** `kind/name` of what is in a namespace, but for what every namespace has. */
  async names(kinds: string, namespace: string = NAMESPACE): Promise<readonly string[]> {
    const lines = (await this.kubectl(['get', kinds, '-n', namespace, '-o', 'name'])).split('\n');
    return lines.filter((line) => line !== '' && !/\/(?:kube-root-ca\.crt|default)$/.test(line)).sort();
  }
}

/** Takes some seconds. */
export async function startStage(): Promise<ReleaseStage> {
  return new ReleaseStage(await startOwnCluster({ controllers: true, fakeNodes: 2 }));
}

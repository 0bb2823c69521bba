/** A real API server with the whole world in it, three gateways beside it, and an operator as often as one is asked for. */
import { mkdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '#crds/api/api-client.ts';
import { ENDPOINT_SLICES } from '#crds/api/api-object.ts';
import { loadCluster } from '#crds/api/kube-config.ts';
import { undiciTransport } from '#crds/api/undici-transport.ts';
import { inParallel } from '#operator/in-parallel.ts';
import { buildParts } from '../../cluster/build.ts';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts';
import { CORE_PARTS } from '../../cluster/parts.ts';
import { runCommand } from '../../cluster/run-command.ts';
import { type WorldSize, worldObjects } from './bench-world.ts';
import { LoggedProcess } from './logged-process.ts';

export const FIELD_MANAGER = 'bench';
export const RELEASE = 'model-gateway';
const REPLICAS = 3;
const AT_ONCE = 24;
const START_MS = 30_000;
const CRDS = join(import.meta.dirname, '..', '..', '..', 'crds', 'generated');

export interface RunningGateway {
  readonly process: LoggedProcess;
  readonly origin: string;
  readonly adminOrigin: string;
}

export interface StageOptions {
  readonly size: WorldSize;
  /** Where V8's profiles of operators are written when they end. */
  readonly profileDirectory: string | undefined;
  readonly say: (line: string) => void;
}

export class Stage {
  readonly client: ApiClient;
  readonly #plane: ControlPlane;
  readonly #options: StageOptions;
  readonly #address = ownAddress();
  readonly #processes: LoggedProcess[] = [];
  #gateways: readonly RunningGateway[] = [];

  constructor(plane: ControlPlane, client: ApiClient, options: StageOptions) {
    this.#plane = plane;
    this.client = client;
    this.#options = options;
  }

  /** The replicas that the operator knows of. */
  get gateways(): readonly RunningGateway[] {
    return this.#gateways;
  }

  pids(): Readonly<Partial<Record<string, number>>> {
    return this.#plane.pids();
  }

  startOperator(): LoggedProcess {
    const { profileDirectory } = this.#options;
    const profiling = profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`];
    return this.#start('operator', [
      ...profiling,
      'operator/main.ts',
      ...this.#place(),
      '--admin-host=127.0.0.1',
      '--admin-port=0',
      '--api-port=0',
    ]);
  }

  /** Resolves when it listens. A name that was used before finds the snapshot that it kept then. */
  async startGateway(name: string): Promise<RunningGateway> {
    const state = join(this.#plane.access.folder, `${name}-state`);
    mkdirSync(state, { recursive: true });
    const ports = ['--host=127.0.0.1', '--port=0', `--admin-host=${this.#address}`, '--admin-port=0', '--grace-ms=0'];
    const directories = [`--state-dir=${state}`, `--snapshot-dir=${join(state, 'no-volume')}`];
    const process = this.#start(name, ['gateway/main.ts', ...this.#place(), ...ports, ...directories]);
    const { api, admin } = await process.said('listening', START_MS);
    return { process, origin: String(api), adminOrigin: String(admin) };
  }

  /** Called by `startStage`. */
  async fill(kubectl: string): Promise<void> {
    const { size, say } = this.#options;
    await this.#installCrds(kubectl);
    const startedMs = performance.now();
    let count = 0;
    for (const group of worldObjects(size)) {
      await inParallel(group, AT_ONCE, async ({ resource, object }) => {
        await this.client.create(resource, object, FIELD_MANAGER);
        count += 1;
      });
    }
    say(`created ${count} objects in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    const names = Array.from({ length: REPLICAS }, (_, index) => `gateway-${index + 1}`);
    this.#gateways = await Promise.all(names.map((name) => this.startGateway(name)));
    for (const gateway of this.#gateways) await this.#announce(gateway);
  }

  async stop(): Promise<void> {
    for (const process of this.#processes) await process.end();
    await this.client.transport.close();
    await this.#plane.stop();
  }

  #start(name: string, args: readonly string[]): LoggedProcess {
    const process = new LoggedProcess(name, this.#plane.access.folder, args);
    this.#processes.push(process);
    return process;
  }

  #place(): readonly string[] {
    return [`--kubeconfig=${this.#plane.access.kubeconfig}`, `--namespace=${RELEASE}`, `--release=${RELEASE}`];
  }

  async #installCrds(kubectl: string): Promise<void> {
    const { kubeconfig, folder } = this.#plane.access;
    const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), KUBECONFIG: kubeconfig };
    await runCommand({ file: kubectl, args: ['apply', '--server-side', '-f', CRDS], env });
    await runCommand({
      file: kubectl,
      args: ['wait', '--for=condition=Established', '--timeout=60s', '-f', CRDS],
      env,
    });
  }

  /** In a slice of its own, because its port is. */
  async #announce({ process: { name }, origin, adminOrigin }: RunningGateway): Promise<void> {
    const slice = {
      apiVersion: ENDPOINT_SLICES.apiVersion,
      kind: ENDPOINT_SLICES.kind,
      metadata: { namespace: RELEASE, name, labels: { 'kubernetes.io/service-name': `${RELEASE}-gateway` } },
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: [this.#address],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace: RELEASE, name },
        },
      ],
      ports: [
        { name: 'http', port: Number(new URL(origin).port) },
        { name: 'admin', port: Number(new URL(adminOrigin).port) },
      ],
    };
    await this.client.create(ENDPOINT_SLICES, slice, FIELD_MANAGER);
  }
}

/** Resolves when every object is created and every gateway listens; no operator runs yet. */
export async function startStage(options: StageOptions): Promise<Stage> {
  const { say } = options;
  const { found, missing } = await buildParts({ env: process.env, say, parts: CORE_PARTS });
  const [lacking] = Object.entries(missing);
  if (lacking !== undefined) throw new Error(`the bench of the cluster path needs ${lacking.join(': ')}`);
  const plane = await startControlPlane(found);
  const cluster = await loadCluster({ kubeconfig: plane.access.kubeconfig });
  const stage = new Stage(plane, new ApiClient(undiciTransport(cluster)), options);
  try {
    await stage.fill(String(found.kubectl));
    return stage;
  } catch (error) {
    await stage.stop();
    throw error;
  }
}

/** An EndpointSlice takes no loopback address. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const own = addresses.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (own === undefined) throw new Error('the bench of the cluster path needs an IPv4 address that is not loopback');
  return own.address;
}

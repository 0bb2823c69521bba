/** One gateway of a release as a process: in its own folder, on ports that it keeps over a restart. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServedConfig } from '#gateway/admin.ts';
import { type ExternalAddress, externalAddress, NO_ADDRESS } from '../cluster/external-address.ts';
import type { Release } from '../helm/helm.ts';
import { type Running, run } from '../helm/running.ts';
import type { Asked } from '../system/cluster-gateway-process.ts';

export interface ReplicaOptions {
  readonly release: Release;
  /** Of its pod. */
  readonly name: string;
  /** Its own. */
  readonly folder: string;
  /** undefined: it has no token. */
  readonly kubeconfig: string | undefined;
  readonly flags?: readonly string[];
}

interface Ports {
  readonly api: string;
  readonly admin: string;
}

export class GatewayReplica {
  readonly name: string;
  readonly #options: ReplicaOptions;
  readonly #place: ExternalAddress;
  #ports: Ports = { api: '0', admin: '0' };
  #process: Running | undefined;

  constructor(options: ReplicaOptions) {
    const place = externalAddress();
    if (place === undefined) throw new Error(`${NO_ADDRESS}: name 'address' among the needs of the suite`);
    this.name = options.name;
    this.#options = options;
    this.#place = place;
    for (const name of ['snapshot', 'state']) mkdirSync(join(options.folder, name), { recursive: true });
  }

  get process(): Running {
    if (this.#process === undefined) throw new Error(`${this.name} was not started`);
    return this.#process;
  }

  /** Of its API. */
  get origin(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  /** Version of what it knows of the others; 0: nothing. */
  async sharesVersion(): Promise<number> {
    const page = (await (await fetch(this.#admin('/usage'))).json()) as { readonly shares_version: number };
    return page.shares_version;
  }

  /** Value of the first series of a metric; undefined: there is none. */
  async metric(name: string): Promise<number | undefined> {
    const text = await (await fetch(this.#admin('/metrics'))).text();
    const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`));
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
  }

  /** Where its volume is mounted. */
  get snapshotDir(): string {
    return join(this.#options.folder, 'snapshot');
  }

  /** Resolves when it listens. Where it did before, it is the same again. */
  async start(): Promise<void> {
    const { release, kubeconfig, folder, flags = [] } = this.#options;
    const { api, admin } = this.#ports;
    const own = [
      `--replica-name=${this.name}`,
      `--admin-host=${this.#place.address}`,
      `--port=${api}`,
      `--admin-port=${admin}`,
    ];
    this.#process = run(release, 'gateway', { kubeconfig, folder, flags: [...own, ...flags] });
    const portIn = async (field: string) => new URL(await this.process.told('listening', field)).port;
    this.#ports = { api: await portIn('api'), admin: await portIn('admin') };
  }

  /** What the controllers of a cluster would write for its pod. */
  endpointSlice(service: string): object {
    const { namespace } = this.#options.release;
    const { address, addressType } = this.#place;
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: this.name, namespace, labels: { 'kubernetes.io/service-name': service } },
      addressType,
      ports: [{ name: 'admin', protocol: 'TCP', port: Number(this.#ports.admin) }],
      endpoints: [
        {
          addresses: [address],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace, name: this.name },
        },
      ],
    };
  }

  async config(): Promise<ServedConfig> {
    return (await (await fetch(this.#admin('/config'))).json()) as ServedConfig;
  }

  /** Status of a page of the admin port. */
  async status(path: '/readyz' | '/healthz'): Promise<number> {
    return (await fetch(this.#admin(path))).status;
  }

  /** A chat of the bearer of a key. Its word is the body where it is no answer. */
  async ask(key: string, headers: Readonly<Record<string, string>> = {}): Promise<Asked> {
    const response = await fetch(`${this.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hello' }] }),
    });
    const text = await response.text();
    const { status } = response;
    return { status, word: status === 200 ? JSON.parse(text).choices[0].message.content : text };
  }

  #admin(path: string): string {
    const { address, addressType } = this.#place;
    return `http://${addressType === 'IPv6' ? `[${address}]` : address}:${this.#ports.admin}${path}`;
  }
}

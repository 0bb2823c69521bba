/** The whole operator against an API server in memory, with gateways that serve what it publishes; in virtual time. */
import { afterEach, expect, vi } from 'vitest';
import { ENDPOINT_SLICES } from '#crds/api/api-object.ts';
import { sharesObject } from '#crds/snapshot/object-names.ts';
import type { Publication } from '#operator/loop.ts';
import { type Operator, startOperator } from '#operator/operator.ts';
import { pass, useVirtualTime } from '../../crds/api/virtual-time.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../../fakes/api-server/api-server.ts';
import type { ClientTransport } from '../../fakes/api-server/client-transport.ts';
import type { WriteEntry } from '../../fakes/api-server/journal.ts';
import { NAMESPACE, type Outcome, outcomeOf, RELEASE } from './outcome.ts';
import { PretendGateway } from './pretend-gateway.ts';

export const ORGANISATION = 'model-gateway';
export const LEASE = `${RELEASE}-operator`;
/** Of real time: a busy machine is slow. */
const TIMEOUT_MS = 180_000;
const SHARES = sharesObject(RELEASE).name;
const SERVICE = `${RELEASE}-gateway`;
const ADMIN_PORT = 8_788;

export interface StageOptions extends ApiServerOptions {
  /** Default 2. */
  readonly gateways?: number;
  /** Where operators post alerts. Default: nowhere. */
  readonly alertWebhook?: string;
}

/** One process of the operator. */
export interface OperatorRun {
  readonly identity: string;
  readonly transport: ClientTransport;
  readonly faults: Error[];
  readonly publications: Publication[];
  /** `leading`, `not leading`. */
  readonly terms: string[];
  /** undefined: it is not ready. */
  operator(): Operator | undefined;
  isLeader(): boolean;
  /** From now on nothing of it reaches the server: the process is gone. */
  crash(): void;
}

interface Started extends OperatorRun {
  close(): Promise<void>;
}

const stages: Stage[] = [];

/** In each test of the file time passes only by `pass`, and what was opened is closed. */
export function useStages(): void {
  vi.setConfig({ testTimeout: TIMEOUT_MS, hookTimeout: TIMEOUT_MS });
  useVirtualTime();
  afterEach(async () => {
    for (const stage of stages.splice(0)) await stage.close();
  });
}

export function openStage(options: StageOptions = {}): Stage {
  const stage = new Stage(options);
  stages.push(stage);
  return stage;
}

export class Stage {
  readonly server: ApiServer;
  readonly gateways: PretendGateway[] = [];
  readonly defects: unknown[] = [];
  readonly #alertWebhook: string | undefined;
  readonly #runs: Started[] = [];

  constructor({ gateways = 2, validatesSpecs = false, alertWebhook, ...options }: StageOptions) {
    this.#alertWebhook = alertWebhook;
    this.server = startApiServer({ ...options, validatesSpecs, namespaces: [NAMESPACE, ORGANISATION] });
    for (let n = 0; n < gateways; n++) this.addGateway();
  }

  get outcome(): Outcome {
    return outcomeOf(this.server);
  }

  /** Of the operator, without its Lease, and without the shares, which tell of gateways that come and go. */
  get writes(): readonly WriteEntry[] {
    return this.#written.filter(({ resource, name }) => resource !== 'leases' && name !== SHARES);
  }

  /** Of the shares. */
  get shareWrites(): readonly WriteEntry[] {
    return this.#written.filter(({ name }) => name === SHARES);
  }

  get #written(): readonly WriteEntry[] {
    const identities = new Set(this.#runs.map(({ identity }) => identity));
    return this.server.journal.filter(({ who }) => identities.has(who));
  }

  addGateway(): PretendGateway {
    const number = this.gateways.length;
    const gateway = new PretendGateway({
      server: this.server,
      name: `gateway-${number}`,
      address: `10.0.0.${number + 1}`,
    });
    this.gateways.push(gateway);
    this.#tellEndpoints();
    return gateway;
  }

  removeGateway(gateway: PretendGateway): void {
    gateway.close();
    this.gateways.splice(this.gateways.indexOf(gateway), 1);
    this.#tellEndpoints();
  }

  setReady(gateway: PretendGateway, isReady: boolean): void {
    gateway.isReady = isReady;
    this.#tellEndpoints();
  }

  /** Starts a process; it is ready once time has passed. */
  start(identity = `operator-${this.#runs.length}`): OperatorRun {
    const run = this.#start(identity);
    this.#runs.push(run);
    return run;
  }

  /** Until nothing was written for so long. */
  async settle(quietMs = 12_000): Promise<void> {
    for (let quiet = 0, last = -1; quiet < quietMs; quiet += 500) {
      await pass(500);
      if (this.writes.length !== last) quiet = 0;
      last = this.writes.length;
    }
  }

  /** What no test may ever see. */
  async close(): Promise<void> {
    const closing = this.#runs.map((run) => run.close());
    await pass(30_000);
    await Promise.all(closing);
    for (const gateway of this.gateways) gateway.close();
    this.server.close();
    await pass();
    if (stages.includes(this)) stages.splice(stages.indexOf(this), 1);
    expect(this.defects).toEqual([]);
    for (const { history } of this.gateways) {
      expect(history).toEqual([...new Set(history)].sort((a, b) => a - b));
    }
  }

  #tellEndpoints(): void {
    if (this.gateways.length === 0) {
      this.server.delete(ENDPOINT_SLICES, NAMESPACE, `${SERVICE}-1`);
      return;
    }
    const endpoints = this.gateways.map(({ name, address, isReady }) => ({
      addresses: [address],
      conditions: { ready: isReady },
      targetRef: { kind: 'Pod', name, namespace: NAMESPACE },
    }));
    const { apiVersion, kind } = ENDPOINT_SLICES;
    const labels = { 'kubernetes.io/service-name': SERVICE };
    const metadata = { name: `${SERVICE}-1`, namespace: NAMESPACE, labels };
    const ports = [{ name: 'admin', port: ADMIN_PORT, protocol: 'TCP' }];
    this.server.apply({ apiVersion, kind, metadata, addressType: 'IPv4', endpoints, ports });
  }

  #start(identity: string): Started {
    const transport = this.server.transport(identity);
    const [faults, publications, terms]: [Error[], Publication[], string[]] = [[], [], []];
    let operator: Operator | undefined;
    let isGone = false;
    const starting = startOperator({
      transport,
      namespace: NAMESPACE,
      release: RELEASE,
      watchNamespaces: [],
      settings: { organisationNamespace: ORGANISATION, requestHosts: [] },
      gatewayService: SERVICE,
      gatewayAdminPort: ADMIN_PORT,
      maxShards: 4,
      lease: LEASE,
      identity,
      watcher: {
        onPass: () => {},
        onFault: (error) => faults.push(error),
        onDefect: (error) => this.defects.push(error),
        onLeading: (isLeader) => terms.push(isLeader ? 'leading' : 'not leading'),
        onPublished: (publication) => publications.push(publication),
      },
      fetchConfig: async (origin) => this.#gatewayAt(origin).config(),
      fetchUsage: async (origin) => this.#gatewayAt(origin).usage(),
      alertWebhook: this.#alertWebhook,
    }).then((started) => {
      operator = started;
      if (isGone) void started.close();
    });
    return {
      identity,
      transport,
      faults,
      publications,
      terms,
      operator: () => operator,
      isLeader: () => operator?.isLeader() === true,
      crash: () => {
        isGone = true;
        void transport.close();
        void operator?.close();
      },
      close: async () => {
        await starting;
        await operator?.close();
      },
    };
  }

  #gatewayAt(origin: string): PretendGateway {
    const { hostname } = new URL(origin);
    const gateway = this.gateways.find(({ address }) => address === hostname);
    if (gateway === undefined || gateway.isDeaf) throw new Error(`connect ECONNREFUSED ${hostname}`);
    return gateway;
  }
}

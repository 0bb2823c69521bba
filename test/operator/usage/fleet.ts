/** Real gateways and a real operator on an API server in memory: replicas that share limits without a store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '#crds/api/api-client.ts';
import { type ApiObject, ENDPOINT_SLICES } from '#crds/api/api-object.ts';
import { type RunningFeed, startFeed } from '#gateway/feed/start-feed.ts';
import { type Gateway, startGateway } from '#gateway/server.ts';
import { type Operator, startOperator } from '#operator/operator.ts';
import { type ApiServer, startApiServer } from '../../fakes/api-server/api-server.ts';
import { chat } from '../../fakes/replies.ts';
import { startUpstream, type Upstream } from '../../fakes/upstream.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { collectingSink } from '../../gateway/telemetry/collecting-sink.ts';
import { NAMESPACE, RELEASE, sharesIn } from '../faults/outcome.ts';
import { apiKey, config, custom, secret } from '../faults/workload.ts';

const CALLER = 'a-key-of-the-fleet-0123456789';
const SERVICE = `${RELEASE}-gateway`;
/** To start, on a slow machine. */
const START_MS = 30_000;

export interface Asked {
  /** 0: it took no connection, as one that is about to go. */
  readonly status: number;
  /** On the clock of limits: between these it was admitted, or not. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

export interface FleetOptions {
  /** Default 3. */
  readonly gateways?: number;
  /** How much faster the clock of limits goes than time. Default 1. */
  readonly pace?: number;
  readonly limits: readonly ApiObject[];
}

interface Member {
  readonly name: string;
  readonly gateway: Gateway;
  readonly feed: RunningFeed;
}

export class Fleet {
  readonly server: ApiServer = startApiServer({ namespaces: [NAMESPACE, 'model-gateway'] });
  readonly faults: Error[] = [];
  readonly #members: Member[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  readonly #startedMs = Date.now();
  readonly #pace: number;
  #operator: Operator | undefined;
  #upstream: Upstream | undefined;

  constructor({ pace = 1 }: FleetOptions) {
    this.#pace = pace;
  }

  /** Of limits. */
  readonly now = (): number => this.#startedMs + (Date.now() - this.#startedMs) * this.#pace;

  get upstream(): Upstream {
    if (this.#upstream === undefined) throw new Error('the fleet was not started');
    return this.#upstream;
  }

  get size(): number {
    return this.#members.length;
  }

  async start({ gateways = 3, limits }: FleetOptions): Promise<void> {
    this.#upstream = await startUpstream(chat());
    this.server.apply([...worldOf(this.#upstream), ...limits]);
    await Promise.all(Array.from({ length: gateways }, (_, n) => this.add(`gateway-${n}`)));
    this.#operator = await startOperator(this.#operatorOptions());
    await this.settled();
  }

  /** Another one, that is ready at once. */
  async add(name: string): Promise<void> {
    const folder = join(this.#folder, name);
    const gateway = await startGateway({
      ...{ host: '127.0.0.1', port: 0, adminHost: '127.0.0.1', adminPort: 0, open: false, logLevel: 'info' },
      ...{ graceMs: 0, drainMs: 1_000, logSink: collectingSink(), limitClock: this.now },
      replica: { name, replicas: 3 },
    });
    const directories = { snapshotDir: join(folder, 'snapshot'), stateDir: join(folder, 'state') };
    const feed = await startFeed({ gateway, ...directories, maxShards: 4 });
    feed.follow({ client: new ApiClient(this.server.transport(name)), namespace: NAMESPACE, release: RELEASE });
    this.#members.push({ name, gateway, feed });
    this.#tellEndpoint(name, gateway);
  }

  /** As if its pod was deleted: it drains, and is gone. */
  async remove(name: string): Promise<void> {
    const [member] = this.#members.splice(
      this.#members.findIndex((one) => one.name === name),
      1,
    );
    if (member === undefined) return;
    this.#tellEndpoint(name, member.gateway, { ready: false, serving: true, terminating: true });
    await member.gateway.drain();
    await member.feed.close();
    this.server.delete(ENDPOINT_SLICES, NAMESPACE, `${SERVICE}-${name}`);
  }

  /** Until every gateway serves what is published, and knows of all others. */
  async settled(): Promise<void> {
    const names = this.#members
      .map(({ name }) => name)
      .sort()
      .join();
    const isSettled = async () => {
      const shares = sharesIn(this.server);
      if (shares?.replicas.join() !== names) return false;
      const pages = await Promise.all(this.#members.map(({ gateway }) => gateway.usage()));
      const statuses = await Promise.all(this.#members.map(({ gateway }) => fetch(`${gateway.adminOrigin}/readyz`)));
      return (
        pages.every((page) => page.shares_version >= shares.version) && statuses.every(({ status }) => status === 200)
      );
    };
    await waitFor(isSettled, `the fleet ${names}`, START_MS);
  }

  /** A chat by way of one of the gateways, in turn. */
  async ask(turn: number, body: object = {}): Promise<Asked> {
    const member = this.#members[turn % this.#members.length];
    if (member === undefined) throw new Error('there is no gateway');
    const sentMs = this.now();
    const status = await fetch(`${member.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${CALLER}` },
      body: JSON.stringify({
        model: '@priced/m',
        max_tokens: 12,
        messages: [{ role: 'user', content: 'Hi' }],
        ...body,
      }),
    }).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
    return { status, sentMs, answeredMs: this.now() };
  }

  async close(): Promise<void> {
    await this.#operator?.close();
    for (const { name } of [...this.#members]) await this.remove(name);
    await this.#upstream?.close();
    this.server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #operatorOptions(): Parameters<typeof startOperator>[0] {
    return {
      transport: this.server.transport('operator'),
      ...{ namespace: NAMESPACE, release: RELEASE, watchNamespaces: [], gatewayService: SERVICE, gatewayAdminPort: 0 },
      ...{ maxShards: 4, lease: `${RELEASE}-operator`, identity: 'operator' },
      settings: { organisationNamespace: 'model-gateway', requestHosts: [] },
      watcher: {
        onPass: () => {},
        onFault: (error) => this.faults.push(error),
        onDefect: (error) => this.faults.push(error as Error),
        onLeading: () => {},
        onPublished: () => {},
      },
    };
  }

  #tellEndpoint(name: string, { adminOrigin }: Gateway, conditions: object = { ready: true }): void {
    const { apiVersion, kind } = ENDPOINT_SLICES;
    const labels = { 'kubernetes.io/service-name': SERVICE };
    const { hostname, port } = new URL(adminOrigin);
    const targetRef = { kind: 'Pod', name, namespace: NAMESPACE };
    this.server.apply({
      ...{ apiVersion, kind, metadata: { name: `${SERVICE}-${name}`, namespace: NAMESPACE, labels } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [hostname], conditions, targetRef }],
      ports: [{ name: 'admin', port: Number(port), protocol: 'TCP' }],
    });
  }
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const fleet = new Fleet(options);
  await fleet.start(options);
  return fleet;
}

/** A model that costs a cent a prompt token and two an answer's, and a caller. */
function worldOf(upstream: Upstream): readonly ApiObject[] {
  const prices = { request_token: { price: '0.01' }, response_token: { price: '0.02' } };
  return [
    custom('Integration', 'team-a/priced', {
      provider: 'openai',
      secret_mappings: [{ target_field: 'api_key', secret_name: 'vendor', secret_key: 'api_key' }],
      configurations: { custom_host: `${upstream.origin}/v1` },
      models: [{ slug: 'm', pricing_config: { pay_as_you_go: prices } }],
    }),
    secret('team-a/vendor', { api_key: 'sk-of-the-upstream' }),
    secret('team-a/caller-api-key', { api_key: CALLER }),
    apiKey('team-a/caller'),
    config('team-a/empty', { retry: { attempts: 0 } }),
  ];
}

/** Most that was admitted for sure within any window of that length. */
export function mostWithin(asked: readonly Asked[], windowMs: number): number {
  const admitted = asked.filter(({ status }) => status === 200);
  const counts = admitted.map(({ sentMs: fromMs }) => {
    return admitted.filter((one) => one.sentMs >= fromMs && one.answeredMs < fromMs + windowMs).length;
  });
  return Math.max(0, ...counts);
}

/** The gateways that are ready, and what each says it serves. */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ENDPOINT_SLICES, type OwnerReference } from '#crds/api/api-object.ts';
import { reflect } from '#crds/api/reflector.ts';
import { allEndpointsOf, type Endpoint, endpointsOf, placeOf, serviceOf } from './endpoints.ts';
import { type FetchConfig, openFetcher } from './fetch-config.ts';
import { Probe, type Target } from './probe.ts';
import type { Replica } from './replica.ts';

export interface ReplicasOptions {
  readonly client: ApiClient;
  /** Where the service of the gateways is. */
  readonly namespace: string;
  readonly service: string;
  /** Where a slice has no port `admin`. */
  readonly adminPort: number;
  /** A replica came, went, or says something else; many changes at once are one. */
  readonly onChange: () => void;
  /** A failure to follow the service's EndpointSlices: they are read again. */
  readonly onFault?: (error: Error) => void;
  /** Default: by HTTP. */
  readonly fetchConfig?: FetchConfig | undefined;
}

export interface Replicas {
  /** Ready ones only, in order of their names. */
  replicas(): readonly Replica[];
  /** All of them, those that are not ready too. */
  endpoints(): readonly Endpoint[];
  /** The Service, as its EndpointSlices name it; undefined: there is none yet. */
  readonly service: OwnerReference | undefined;
  /** The generation was published: replicas are asked until they serve it, or refuse it. */
  ask(generation: number): void;
  /** Resolves once the service is known. */
  readonly whenSynced: Promise<void>;
  close(): Promise<void>;
}

export function startReplicas(options: ReplicasOptions): Replicas {
  return new Fleet(options);
}

interface Member {
  readonly probe: Probe;
  timer: NodeJS.Timeout | undefined;
  /** Waits for its turn, or is being asked. */
  isBusy: boolean;
}

const AT_ONCE = 32;
/** What comes within this time is told together: while others are yet to say that they serve it, and when all have. */
const GATHER_MS = { meanwhile: 150, last: 10 };

class Fleet implements Replicas {
  readonly #options: ReplicasOptions;
  readonly #slices: ReturnType<typeof reflect>;
  readonly #fetcher: { readonly ask: FetchConfig; close?(): Promise<void> };
  /** By name and place. */
  readonly #members = new Map<string, Member>();
  readonly #turn: Member[] = [];
  #asking = 0;
  #target: Target = { generation: 0, sinceMs: 0 };
  #telling: NodeJS.Timeout | undefined;
  #tellingAtMs = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(options: ReplicasOptions) {
    const { client, namespace, service, fetchConfig, onFault } = options;
    this.#options = options;
    this.#fetcher = fetchConfig === undefined ? openFetcher() : { ask: fetchConfig };
    this.#slices = reflect({
      client,
      resource: ENDPOINT_SLICES,
      namespace,
      labelSelector: `kubernetes.io/service-name=${service}`,
      onChange: () => this.#follow(),
      onFault,
    });
  }

  get whenSynced(): Promise<void> {
    return this.#slices.whenSynced;
  }

  get service(): OwnerReference | undefined {
    return serviceOf(this.#slices.objects.values());
  }

  replicas(): readonly Replica[] {
    const replicas = [...this.#members.values()].map(({ probe }) => probe.replica);
    return replicas.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  endpoints(): readonly Endpoint[] {
    return allEndpointsOf(this.#slices.objects.values());
  }

  ask(generation: number): void {
    if (generation === this.#target.generation) return;
    this.#target = { generation, sinceMs: performance.now() };
    for (const member of this.#members.values()) if (member.probe.awaits(this.#target)) this.#enqueue(member);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#slices.close();
    clearTimeout(this.#telling);
    for (const { timer } of this.#members.values()) clearTimeout(timer);
    this.#turn.length = 0;
    await this.#fetcher.close?.();
  }

  #follow(): void {
    const endpoints = new Map(endpointsOf(this.#slices.objects.values()).map((one) => [keyOf(one), one]));
    let isNew = false;
    for (const [key, { timer }] of this.#members) {
      if (endpoints.has(key)) continue;
      clearTimeout(timer);
      this.#members.delete(key);
      isNew = true;
    }
    for (const [key, endpoint] of endpoints) {
      if (this.#members.has(key)) continue;
      const member = { probe: new Probe(endpoint, this.#options.adminPort), timer: undefined, isBusy: false };
      this.#members.set(key, member);
      this.#enqueue(member);
      isNew = true;
    }
    if (isNew) this.#tell();
  }

  #enqueue(member: Member): void {
    clearTimeout(member.timer);
    if (member.isBusy) return;
    member.isBusy = true;
    this.#turn.push(member);
    this.#pump();
  }

  #pump(): void {
    while (this.#asking < AT_ONCE) {
      const member = this.#turn.shift();
      if (member === undefined) return;
      if (this.#isPresent(member)) void this.#ask(member);
    }
  }

  async #ask(member: Member): Promise<void> {
    const { probe } = member;
    this.#asking += 1;
    const isNews = await probe.ask(this.#fetcher.ask);
    this.#asking -= 1;
    member.isBusy = false;
    if (this.#isPresent(member)) {
      if (isNews) this.#tell();
      member.timer = setTimeout(() => this.#enqueue(member), probe.waitMs(this.#target));
    }
    this.#pump();
  }

  #isPresent(member: Member): boolean {
    return !this.#isClosed && this.#members.get(keyOf(member.probe.endpoint)) === member;
  }

  /** Soon, once nobody is awaited any more; what some say meanwhile is passing. */
  #tell(): void {
    const isAwaited = [...this.#members.values()].some(({ probe }) => probe.awaits(this.#target));
    const dueMs = performance.now() + (isAwaited ? GATHER_MS.meanwhile : GATHER_MS.last);
    if (dueMs >= this.#tellingAtMs) return;
    clearTimeout(this.#telling);
    this.#tellingAtMs = dueMs;
    this.#telling = setTimeout(() => {
      this.#tellingAtMs = Number.POSITIVE_INFINITY;
      this.#options.onChange();
    }, dueMs - performance.now());
  }
}

function keyOf(endpoint: Endpoint): string {
  return `${endpoint.name} ${placeOf(endpoint)}`;
}

/**
 * The operator of a cluster: custom resources and Secrets in, snapshot objects, key Secrets, statuses and Events out. Every
 * replica of it follows and compiles everything; only the one that holds the Lease writes.
 */
import { ApiClient } from '#crds/api/api-client.ts';
import { EventRecorder } from '#crds/api/event-recorder.ts';
import { LeaderElection } from '#crds/api/lease.ts';
import { sleep } from '#crds/api/sleep.ts';
import type { Transport } from '#crds/api/transport.ts';
import { API_GROUP } from '#crds/object.ts';
import type { Snapshot, UsageLimitRecord } from '#crds/snapshot/contract.ts';
import { CATALOG } from '#gateway/catalog.ts';
import { eventsOf } from './apply/events.ts';
import { storedProgrammed } from './apply/status-object.ts';
import { type StatusCounts, StatusWriter } from './apply/status-writer.ts';
import type { LastGood } from './compile/elect.ts';
import { newKey } from './compile/new-key.ts';
import { FIELD_MANAGER } from './field-owner.ts';
import { KeyRotation } from './keys/key-rotation.ts';
import { KeyUses } from './keys/key-uses.ts';
import type { Rotated, RotationWish } from './keys/rotation-requests.ts';
import { type Loop, type Pass, type Publication, startLoop } from './loop.ts';
import { Publisher } from './publish/publisher.ts';
import type { FetchConfig } from './replicas/fetch-config.ts';
import type { Replica } from './replicas/replica.ts';
import { type Replicas, startReplicas } from './replicas/replicas.ts';
import { type KubeSource, openKube } from './source/kube/kube.ts';
import { AlertOutlets } from './usage/alert-outlets.ts';
import { AlertWebhook } from './usage/alert-webhook.ts';
import type { FetchUsage } from './usage/fetch-usage.ts';
import { type UsageCounts, UsageFollower } from './usage/follow-usage.ts';
import { identityOf, type Manifest, type Observation, type WorldSettings } from './world.ts';

export interface OperatorOptions {
  readonly transport: Transport;
  /** Where the snapshot's objects, the Lease and the gateways are. */
  readonly namespace: string;
  readonly release: string;
  /** Whose objects are read; none: those of all namespaces. */
  readonly watchNamespaces: readonly string[];
  readonly settings: WorldSettings;
  readonly gatewayService: string;
  readonly gatewayAdminPort: number;
  /** Shards of one kind, at most; a power of two. */
  readonly maxShards: number;
  readonly lease: string;
  /** Unique among the operators of a release. */
  readonly identity: string;
  readonly watcher: Watcher;
  /** Where alerts of budgets are posted; undefined: nowhere. */
  readonly alertWebhook?: string | undefined;
  /** How a gateway is asked what it serves. Default: by HTTP. */
  readonly fetchConfig?: FetchConfig;
  /** How a gateway is asked what it counted. Default: by HTTP. */
  readonly fetchUsage?: FetchUsage;
}

/** Who is told what happens. */
export interface Watcher {
  /** After each pass, and after each change of what replicas say. */
  onPass(pass: Pass): void;
  /** Something outside failed and is tried again. */
  onFault(error: Error): void;
  /** A defect of this program. */
  onDefect(error: unknown): void;
  onLeading(isLeader: boolean): void;
  /** Something new was published. */
  onPublished(publication: Publication): void;
}

export interface Operator {
  isLeader(): boolean;
  replicas(): readonly Replica[];
  statusCounts(): StatusCounts;
  usageCounts(): UsageCounts;
  /** The last one; undefined: there was none. */
  pass(): Pass | undefined;
  /** What is known of the cluster now. */
  observe(): Observation;
  /** See `KeyRotation.rotateNow`. */
  rotateNow(namespace: string, name: string, wish?: RotationWish): Promise<Rotated>;
  /** Ends what it follows, and gives up the Lease. */
  close(): Promise<void>;
}

const HEARING_MS = 2_000;
const LISTEN_MS = 50;

/** Resolves once every collection was listed whole, and compiled; waits for an API server that does not answer. */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const operator = new ClusterOperator(options);
  await operator.start();
  return operator;
}

class ClusterOperator implements Operator {
  readonly #options: OperatorOptions;
  readonly #client: ApiClient;
  readonly #onFault: (error: Error) => void;
  readonly #publisher: Publisher;
  readonly #replicas: Replicas;
  readonly #recorder: EventRecorder;
  readonly #statuses: StatusWriter;
  readonly #webhook: AlertWebhook | undefined;
  readonly #usage: UsageFollower;
  readonly #newKey: () => string;
  readonly #keyUses = new KeyUses();
  /** Leads, and has taken over what the former leader kept. */
  readonly #mayWrite = () => this.#election?.isLeader() === true && this.#election.term === this.#term;
  readonly #closing = new AbortController();
  /** Budgets that hold now. */
  #limits: readonly UsageLimitRecord[] | undefined;
  #source: KubeSource | undefined;
  #rotation: KeyRotation | undefined;
  #loop: Loop | undefined;
  #election: LeaderElection | undefined;
  #pass: Pass | undefined;
  /** Of the leadership for which everything was taken over. */
  #term: number | undefined;

  constructor(options: OperatorOptions) {
    const {
      namespace,
      release,
      maxShards,
      gatewayService: service,
      gatewayAdminPort: adminPort,
      fetchConfig,
    } = options;
    const client = new ApiClient(options.transport);
    const onFault = (error: Error) => options.watcher.onFault(error);
    this.#options = options;
    this.#newKey = () => newKey(options.settings.keyPrefix);
    this.#client = client;
    this.#onFault = onFault;
    const onChange = () => this.#loop?.report();
    this.#replicas = startReplicas({ client, namespace, service, adminPort, onChange, onFault, fetchConfig });
    this.#publisher = new Publisher({
      client,
      namespace,
      release,
      maxShards,
      owner: () => this.#replicas.service,
      mayWrite: this.#mayWrite,
      servedGeneration: () => Math.max(0, ...this.replicas().map(({ generation }) => generation)),
      seen: () => this.#source?.seen() ?? {},
      onDisturbed: () => this.#loop?.wake(),
      onFault,
    });
    this.#recorder = new EventRecorder({
      client,
      fieldManager: FIELD_MANAGER,
      reportingController: `${API_GROUP}/operator`,
      reportingInstance: options.identity,
      onFault,
    });
    this.#statuses = new StatusWriter({
      client,
      stored: (object) => this.#source?.stored(object),
      isLeader: this.#mayWrite,
      onWritten: (written) => {
        for (const event of eventsOf(written)) this.#recorder.record(event);
      },
      onFault,
    });
    const { alertWebhook: url } = options;
    this.#webhook = url === undefined ? undefined : new AlertWebhook({ url, onFault });
    this.#usage = this.#followUsage();
  }

  async start(): Promise<void> {
    const { watchNamespaces: namespaces } = this.#options;
    await this.#publisher.whenSynced;
    const notBefore = this.#publisher.seen();
    const kept = new Map(this.#publisher.accepted().map((manifest) => [identityOf(manifest), manifest]));
    const accepted = (manifest: Manifest) => this.#loop?.accepted(manifest) ?? kept.get(identityOf(manifest));
    this.#source = await openKube({ client: this.#client, namespaces, notBefore, accepted, onFault: this.#onFault });
    this.#rotation = new KeyRotation({
      source: this.#source,
      replicas: () => this.replicas(),
      mayWrite: this.#mayWrite,
      newKey: this.#newKey,
      onFault: this.#onFault,
    });
    this.#loop = await this.#startLoop(this.#source, [...kept.values()]);
    kept.clear();
    this.#election = this.#stand();
  }

  isLeader(): boolean {
    return this.#election?.isLeader() === true;
  }

  replicas(): readonly Replica[] {
    return this.#replicas.replicas();
  }

  statusCounts(): StatusCounts {
    return this.#statuses.counts;
  }

  usageCounts(): UsageCounts {
    return this.#usage.counts;
  }

  pass(): Pass | undefined {
    return this.#pass;
  }

  observe(): Observation {
    if (this.#source === undefined) throw new Error('the operator has not started');
    return this.#source.observe();
  }

  rotateNow(namespace: string, name: string, wish?: RotationWish): Promise<Rotated> {
    if (this.#rotation === undefined) throw new Error('the operator has not started');
    return this.#rotation.rotateNow(namespace, name, wish);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#loop?.close();
    this.#rotation?.close();
    await this.#election?.close();
    await this.#usage.close();
    await this.#webhook?.close();
    this.#statuses.close();
    this.#recorder.close();
    this.#publisher.close();
    await Promise.all([this.#replicas.close(), this.#source?.close()]);
  }

  #startLoop(source: KubeSource, kept: readonly Manifest[]): Promise<Loop> {
    const { settings, watcher } = this.#options;
    return startLoop({
      source,
      sink: {
        replicas: () => this.replicas(),
        publish: (snapshot, accepted) => this.#publish(snapshot, accepted),
      },
      settings,
      tools: { catalog: CATALOG, newKey: this.#newKey },
      mayWrite: this.#mayWrite,
      kept,
      storedProgrammed: (status) => storedProgrammed(source.stored(status), status),
      fieldsOf: [this.#keyUses.fieldsOf, this.#usage.fieldsOf],
      onPass: (pass) => this.#tell(pass),
      onFault: this.#onFault,
      onDefect: (error) => watcher.onDefect(error),
    });
  }

  async #publish(snapshot: Snapshot, accepted: LastGood): Promise<Publication> {
    // Somebody deleted the index: a generation that a gateway has seen must not be given again.
    if (this.#publisher.published() === undefined) await this.#hearReplicas();
    const publication = await this.#publisher.publish(snapshot, accepted);
    this.#replicas.ask(publication.generation);
    if (publication.isNew) this.#options.watcher.onPublished(publication);
    return publication;
  }

  /** Until every gateway has said what it serves, or had the time to. */
  async #hearReplicas(): Promise<void> {
    const untilMs = performance.now() + HEARING_MS;
    await this.#replicas.whenSynced;
    while (this.replicas().some(({ reachable }) => !reachable) && performance.now() < untilMs)
      await sleep(LISTEN_MS, this.#closing.signal);
  }

  #tell(pass: Pass): void {
    this.#pass = pass;
    this.#keyUses.retain(pass.statuses);
    this.#rotation?.consider(pass);
    this.#limits = pass.snapshot.usage_limits;
    if (this.#mayWrite()) this.#statuses.want(this.#usage.warning.told(pass.statuses));
    this.#options.watcher.onPass(pass);
  }

  /** What the former leader kept counts: it may have seen versions that this one never did. */
  async #takeOver(term: number): Promise<void> {
    this.#loop?.adopt(this.#publisher.accepted());
    await this.#source?.reread();
    if (this.#election?.term !== term) return;
    this.#term = term;
    this.#loop?.wake();
  }

  #followUsage(): UsageFollower {
    const { namespace, release, gatewayAdminPort: adminPort, fetchUsage, watcher } = this.#options;
    const stored = (object: Parameters<KubeSource['stored']>[0]) => this.#source?.stored(object);
    const { give, emailsOf } = new AlertOutlets({ recorder: this.#recorder, webhook: this.#webhook, stored });
    return new UsageFollower({
      ...{ client: this.#client, namespace, release, adminPort, fetchUsage, give, emailsOf },
      owner: () => this.#replicas.service,
      mayWrite: this.#mayWrite,
      replicas: () => this.replicas().map(({ name }) => name),
      endpoints: () => this.#replicas.endpoints(),
      limits: () => this.#limits,
      onKeyUses: (uses) => this.#keyUses.note(uses),
      onChange: () => this.#loop?.report(),
      onFault: this.#onFault,
      onDefect: (error) => watcher.onDefect(error),
    });
  }

  #stand(): LeaderElection {
    const { namespace, lease, identity, watcher } = this.#options;
    return new LeaderElection({
      client: this.#client,
      namespace,
      name: lease,
      identity,
      fieldManager: FIELD_MANAGER,
      onStart: (term) => {
        watcher.onLeading(true);
        this.#takeOver(term).catch((error: unknown) => watcher.onDefect(error));
      },
      onStop: () => watcher.onLeading(false),
      onFault: this.#onFault,
    });
  }
}

/** What Prometheus is told: by the names that controllers use, where they have one. Labels hold only words of ours. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ApiError } from '#crds/api/api-error.ts';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import type { StatusCounts } from '../apply/status-writer.ts';
import { conditionOf, type ObjectStatus } from '../compile/status.ts';
import type { Pass } from '../loop.ts';
import type { Replica } from '../replicas/replica.ts';
import type { UsageCounts } from '../usage/follow-usage.ts';
import { ApplyTimes } from './apply-times.ts';

/** What is read only when metrics are asked for. */
export interface MetricSources {
  isLeader(): boolean;
  replicas(): readonly Replica[];
  statusCounts(): StatusCounts;
  usageCounts(): UsageCounts;
}

/** Controllers: the loop as a whole, and the writer of statuses. */
const LOOP = 'modelgateway';
const STATUS = 'status';
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const REPLICA_STATES = ['current', 'behind', 'refused', 'silent'] as const;
const WORD = /^\w{1,64}$/;
const MS_PER_SECOND = 1000;

export class OperatorMetrics {
  readonly #registry = new Registry();
  readonly #lease: string;
  #times = new ApplyTimes();
  readonly #families = makeFamilies(this.#registry);
  #sources: MetricSources | undefined;
  #generation = 0;
  #snapshot: Snapshot | undefined;

  /** `lease`: name of the Lease. */
  constructor(lease: string) {
    this.#lease = lease;
    collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Everything, in the Prometheus text format. */
  text(): Promise<string> {
    this.#read();
    return this.#registry.metrics();
  }

  /** From now on these are read as well. */
  follow(sources: MetricSources): void {
    this.#sources = sources;
  }

  /** After each pass, and after each change of what replicas say. */
  pass(pass: Pass): void {
    const { objects, generation, applied } = this.#families;
    const nowMs = performance.now();
    if (pass.snapshot !== this.#snapshot) this.#reconciled(pass);
    this.#snapshot = pass.snapshot;
    this.#generation = pass.generation;
    generation.set(pass.generation);
    objects.reset();
    for (const { kind, accepted, count } of countObjects(pass.statuses)) objects.set({ kind, accepted }, count);
    // Who does not lead learns too late what is served.
    if (this.#sources?.isLeader() !== true) this.#times = new ApplyTimes();
    for (const ms of this.#times.take(pass.statuses, nowMs - pass.tookMs, nowMs)) applied.observe(ms / MS_PER_SECOND);
  }

  /** Something new was published. */
  published(): void {
    this.#families.publications.inc();
  }

  /** Something outside failed and is tried again. */
  fault(error: Error): void {
    const reason = error instanceof ApiError ? error.reason : error.name;
    this.#families.faults.inc({ reason: WORD.test(reason) ? reason : 'Other' });
  }

  /** An answer of the API server; for `countedTransport`. */
  request(method: string, code: string): void {
    this.#families.requests.inc({ code, method });
  }

  #reconciled(pass: Pass): void {
    const { reconciles, reconcileErrors, reconcileSeconds } = this.#families;
    const isFailed = pass.writeFailures.length > 0 || pass.statuses.some(isNotPublished);
    reconciles.inc({ controller: LOOP, result: isFailed ? 'error' : 'success' });
    if (isFailed) reconcileErrors.inc({ controller: LOOP });
    reconcileSeconds.observe({ controller: LOOP }, pass.tookMs / MS_PER_SECOND);
  }

  #read(): void {
    if (this.#sources === undefined) return;
    const { leader, replicas, depth, adds, retries, statusWrites } = this.#families;
    leader.set({ name: this.#lease }, this.#sources.isLeader() ? 1 : 0);
    const states = this.#sources.replicas().map((replica) => stateOf(replica, this.#generation));
    for (const state of REPLICA_STATES) replicas.set({ state }, states.filter((one) => one === state).length);
    const { alerts, limited, exhausted } = this.#sources.usageCounts();
    catchUp(this.#families.alerts, {}, alerts);
    this.#families.limited.set({ state: 'exhausted' }, exhausted);
    this.#families.limited.set({ state: 'active' }, limited - exhausted);
    const counts = this.#sources.statusCounts();
    const name = { name: STATUS };
    depth.set(name, counts.depth);
    catchUp(adds, name, counts.adds);
    catchUp(retries, name, counts.retries);
    catchUp(statusWrites, { result: 'success' }, counts.writes);
    catchUp(statusWrites, { result: 'error' }, counts.failures);
  }
}

function makeFamilies(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter<L>({ name, help, labelNames: [...labelNames], registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge<L>({ name, help, labelNames: [...labelNames], registers });
  const seconds = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Histogram<L>({ name, help, labelNames: [...labelNames], registers, buckets: SECONDS });
  const own = 'modelgateway_operator';
  return {
    reconciles: counter('controller_runtime_reconcile_total', 'Passes over all objects.', ['controller', 'result']),
    reconcileErrors: counter('controller_runtime_reconcile_errors_total', 'Passes that failed.', ['controller']),
    reconcileSeconds: seconds('controller_runtime_reconcile_time_seconds', 'Time of a pass.', ['controller']),
    depth: gauge('workqueue_depth', 'Objects that wait, or are worked on.', ['name']),
    adds: counter('workqueue_adds_total', 'Objects that were queued.', ['name']),
    retries: counter('workqueue_retries_total', 'Times that an object was queued again after a failure.', ['name']),
    leader: gauge('leader_election_master_status', 'Whether this operator leads.', ['name']),
    requests: counter('rest_client_requests_total', 'Requests to the API server.', ['code', 'method']),
    applied: seconds(`${own}_apply_to_programmed_seconds`, 'From seeing an object to its being served everywhere.'),
    objects: gauge(`${own}_objects`, 'Objects that are known.', ['kind', 'accepted']),
    generation: gauge(`${own}_generation`, 'Generation that is published; 0: none by this operator.'),
    publications: counter(`${own}_publications_total`, 'Snapshots that were published.'),
    replicas: gauge(`${own}_replicas`, 'Gateways that are ready, by what they serve.', ['state']),
    alerts: counter('modelgateway_usage_alerts_total', 'Alerts of budgets that this operator gave.'),
    limited: gauge(`${own}_budgets`, 'Objects with budgets that it knows while it leads, by their state.', ['state']),
    statusWrites: counter(`${own}_status_writes_total`, 'Writes of statuses.', ['result']),
    faults: counter(`${own}_faults_total`, 'Failures of what is outside, such as lists, watches and writes.', [
      'reason',
    ]),
  };
}

/** A counter that is kept elsewhere. */
function catchUp<L extends string>(counter: Counter<L>, labels: Record<L, string>, total: number): void {
  counter.remove(labels);
  counter.inc(labels, total);
}

function stateOf({ reachable, generation, refused }: Replica, published: number): (typeof REPLICA_STATES)[number] {
  if (!reachable) return 'silent';
  if (generation >= published) return 'current';
  return refused !== undefined && refused.generation >= published ? 'refused' : 'behind';
}

function isNotPublished(status: ObjectStatus): boolean {
  return conditionOf(status, 'Programmed')?.reason === 'NotPublished';
}

interface ObjectCount {
  readonly kind: string;
  readonly accepted: 'true' | 'false';
  count: number;
}

function countObjects(statuses: readonly ObjectStatus[]): Iterable<ObjectCount> {
  const counts = new Map<string, ObjectCount>();
  for (const status of statuses) {
    const accepted = conditionOf(status, 'Accepted')?.status === 'True' ? 'true' : 'false';
    const key = `${status.kind} ${accepted}`;
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { kind: status.kind, accepted, count: 1 });
    else known.count += 1;
  }
  return counts.values();
}

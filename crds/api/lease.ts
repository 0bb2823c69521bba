/**
 * Leader election by a Lease. Another's record is judged by this process' monotonic time since it was last seen to change,
 * never by the clock of who wrote it; every write names the version it replaces, so that 409 means that another was faster.
 */
import { ApiClient } from './api-client.ts';
import { ApiError } from './api-error.ts';
import { type ApiObject, LEASES } from './api-object.ts';
import { microTime } from './micro-time.ts';

export interface LeaderElectionOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** Unique among the candidates. */
  readonly identity: string;
  readonly fieldManager: string;
  /** From now on `isLeader()`. `term` grows with each change of leader. */
  readonly onStart: (term: number) => void;
  /** No longer; called as often as onStart. */
  readonly onStop: () => void;
  readonly onFault?: ((error: Error) => void) | undefined;
}

interface Observed {
  readonly lease: ApiObject;
  readonly record: string;
  /** performance.now() when the record was first seen like this. */
  readonly sinceMs: number;
}

interface Leadership {
  readonly term: number;
  /** performance.now() when the last successful renewal was sent. */
  renewedMs: number;
}

/** A candidate takes over what was not renewed for so long. */
const DURATION_SECONDS = 15;
/** A leader that could not renew for so long has lost. */
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
/** Leaves time for a second try before the deadline. */
const REQUEST_MS = 4_000;
/** Of the waits, so that candidates do not keep step. */
const JITTER = 0.2;

export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #client: ApiClient;
  #observed: Observed | undefined;
  #leadership: Leadership | undefined;
  #next: ReturnType<typeof setTimeout> | undefined;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #turn: Promise<void> = Promise.resolve();
  /** performance.now() until which another one may believe that it leads, even where somebody deletes the Lease. */
  #heldUntilMs = 0;
  /** Of any leadership that was seen: terms grow even where somebody deletes the Lease. */
  #newestTerm = -1;
  #isClosed = false;

  /** Starts at once. */
  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#client = new ApiClient(options.client.transport, REQUEST_MS);
    this.#try();
  }

  /** To be asked before every write: false as soon as the deadline has passed, even where this process slept through it. */
  isLeader(): boolean {
    return this.#leadership !== undefined && performance.now() - this.#leadership.renewedMs < RENEW_DEADLINE_MS;
  }

  /** Of the leadership that holds; undefined: not leading. */
  get term(): number | undefined {
    return this.isLeader() ? this.#leadership?.term : undefined;
  }

  /** Stops leading, and gives the Lease up so that another need not wait. Never rejects. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#next);
    this.#stop();
    await this.#turn;
    await this.#release();
  }

  #try(): void {
    this.#turn = this.#attempt()
      .catch((error: Error) => this.#afterFault(error))
      .then(() => {
        if (!this.#isClosed) this.#next = setTimeout(() => this.#try(), RETRY_MS * (1 + JITTER * Math.random()));
      });
  }

  async #attempt(): Promise<void> {
    if (this.#leadership !== undefined && !this.isLeader()) this.#stop();
    if (!this.isLeader()) this.#observe(await this.#read());
    if (this.#isClosed) return;
    const lease = this.#observed?.lease;
    if (this.isLeader() && lease !== undefined) await this.#renew(lease);
    else if (performance.now() < this.#heldUntilMs) return;
    else if (lease === undefined) await this.#create();
    else await this.#acquire(lease);
  }

  #read(): Promise<ApiObject | undefined> {
    return this.#client.read(LEASES, this.#options.namespace, this.#options.name);
  }

  #observe(lease: ApiObject | undefined): void {
    if (lease === undefined) {
      this.#observed = undefined;
      return;
    }
    this.#newestTerm = Math.max(this.#newestTerm, specOf(lease).leaseTransitions ?? 0);
    const record = JSON.stringify([lease.metadata.uid, lease['spec']]);
    const sinceMs = this.#observed?.record === record ? this.#observed.sinceMs : performance.now();
    this.#observed = { lease, record, sinceMs };
    const { holderIdentity = '', leaseDurationSeconds = DURATION_SECONDS } = specOf(lease);
    const isFree = holderIdentity === '' || holderIdentity === this.#options.identity;
    this.#heldUntilMs = isFree ? 0 : sinceMs + leaseDurationSeconds * 1_000;
  }

  async #create(): Promise<void> {
    const { namespace, name, fieldManager } = this.#options;
    const sentMs = performance.now();
    const term = this.#newestTerm + 1;
    const spec = { ...this.#held(), acquireTime: microTime(new Date()), leaseTransitions: term };
    const lease = { apiVersion: LEASES.apiVersion, kind: LEASES.kind, metadata: { namespace, name }, spec };
    this.#observe(await this.#client.create(LEASES, lease, fieldManager));
    this.#start(term, sentMs);
  }

  async #acquire(lease: ApiObject): Promise<void> {
    const sentMs = performance.now();
    const term = this.#newestTerm + 1;
    await this.#replace(lease, { ...this.#held(), acquireTime: microTime(new Date()), leaseTransitions: term });
    this.#start(term, sentMs);
  }

  async #renew(lease: ApiObject): Promise<void> {
    const sentMs = performance.now();
    await this.#replace(lease, this.#held());
    if (this.#leadership === undefined) return;
    this.#leadership.renewedMs = sentMs;
    this.#setDeadline(sentMs);
  }

  async #release(): Promise<void> {
    const lease = this.#observed?.lease;
    if (lease === undefined || specOf(lease).holderIdentity !== this.#options.identity) return;
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(new Date()) };
    await this.#replace(lease, spec).catch((error: Error) => this.#options.onFault?.(error));
  }

  async #replace(lease: ApiObject, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const next = { ...lease, spec: { ...Object(lease['spec']), ...spec } };
    this.#observe(await this.#client.replace(LEASES, next, this.#options.fieldManager));
  }

  #held(): Readonly<Record<string, unknown>> {
    const { identity } = this.#options;
    return { holderIdentity: identity, leaseDurationSeconds: DURATION_SECONDS, renewTime: microTime(new Date()) };
  }

  #start(term: number, sentMs: number): void {
    if (this.#isClosed) return;
    this.#leadership = { term, renewedMs: sentMs };
    this.#setDeadline(sentMs);
    this.#options.onStart(term);
  }

  #setDeadline(renewedMs: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#stop(), Math.max(0, renewedMs + RENEW_DEADLINE_MS - performance.now()));
  }

  #stop(): void {
    clearTimeout(this.#deadline);
    if (this.#leadership === undefined) return;
    this.#leadership = undefined;
    this.#options.onStop();
  }

  async #afterFault(error: Error): Promise<void> {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status !== 409) this.#options.onFault?.(error);
    if (this.#leadership === undefined || (status !== 409 && status !== 404)) return;
    try {
      await this.#lookAgain();
    } catch (again) {
      this.#options.onFault?.(again as Error);
    }
  }

  /** A leader's write was refused. What is stored decides: it may be what an earlier write, whose answer was lost, has done. */
  async #lookAgain(): Promise<void> {
    this.#observe(await this.#read());
    const lease = this.#observed?.lease;
    if (this.#leadership === undefined) return;
    if (lease !== undefined && this.#isOwn(this.#leadership)) await this.#renew(lease);
    else this.#stop();
  }

  #isOwn({ term }: Leadership): boolean {
    const { holderIdentity, leaseTransitions } = specOf(this.#observed?.lease);
    return holderIdentity === this.#options.identity && leaseTransitions === term;
  }
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly leaseTransitions?: number;
}

function specOf(lease: ApiObject | undefined): LeaseSpec {
  return Object(lease?.['spec']);
}

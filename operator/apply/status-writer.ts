/** Writes statuses to the API server: only what differs from what is stored, and of each object only the newest. */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import type { ApiObject } from '#crds/api/api-object.ts';
import { AWAY_MOST_MS, RETRY_AFTER_MOST_MS } from '#crds/api/backoff.ts';
import { compareVersions, isSameVersion } from '#crds/api/resource-version.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import type { Reason } from '../compile/reasons.ts';
import { conditionOf, type ObjectStatus } from '../compile/status.ts';
import { FIELD_MANAGER } from '../field-owner.ts';
import { identityOf } from '../world.ts';
import { type Retry, RetryQueue } from './retry-queue.ts';
import {
  type Difference,
  differenceOf,
  type StoredCondition,
  statusObject,
  storedConditions,
  textOfStatus,
} from './status-object.ts';

export interface StatusWriterOptions {
  readonly client: ApiClient;
  /** The object as the watch told of it last, of whatever uid; undefined: there is none. */
  readonly stored: (object: Named) => ApiObject | undefined;
  /** Asked before each write. */
  readonly isLeader: () => boolean;
  readonly onWritten?: (written: WrittenStatus) => void;
  /** A write failed; it is tried again. */
  readonly onFault?: (error: Error, status: ObjectStatus) => void;
}

type Named = Pick<ObjectStatus, 'kind' | 'namespace' | 'name'>;

export interface WrittenStatus {
  readonly status: ObjectStatus;
  /** As the API server answered it. */
  readonly object: ApiObject;
  /** The conditions that it had before. */
  readonly before: readonly StoredCondition[];
}

export interface StatusCounts {
  readonly writes: number;
  readonly failures: number;
  /** Objects whose status waits to be written, or is being written. */
  readonly depth: number;
  readonly adds: number;
  readonly retries: number;
}

interface LastWrite {
  /** As the API server answered it; once the watch has told of it, the one that the watch brought. */
  readonly object: ApiObject;
  readonly status: ObjectStatus;
  readonly atMs: number;
}

interface Judged {
  readonly status: ObjectStatus;
  readonly observed: ApiObject;
  readonly last: LastWrite | undefined;
  readonly differing: Differing | undefined;
}

interface Differing {
  /** What the status is to be written to. */
  readonly stored: ApiObject;
  readonly difference: Difference;
}

const AT_ONCE = 16;
/**
 * So long a status may be passing before it is written: most objects are served everywhere before it is over. The operator
 * makes the Secrets of new keys itself, thousands of them one after the other.
 */
const PASSING_MS: Readonly<Partial<Record<Reason, number>>> = {
  Pending: 500,
  NotPublished: 500,
  SecretPending: 5_000,
  VersionPending: 5_000,
};
/** Where nothing but fields changed, one status is written so often at most. */
const FIELDS_EVERY_MS = 5_000;
/** What others did to a status is mended so often. */
const REVIEW_MS = 10_000;
const MOST_MS = 1_000_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #queue: RetryQueue;
  readonly #review: NodeJS.Timeout;
  readonly #last = new Map<string, LastWrite>();
  /** By key: the same again of what is the same as before, as most is. */
  readonly #judged = new Map<string, Judged>();
  #wanted: ReadonlyMap<string, ObjectStatus> = new Map();
  #writes = 0;
  #failures = 0;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#queue = new RetryQueue({ limit: AT_ONCE, work: (key) => this.#write(key), retryOf });
    this.#review = setInterval(() => this.#addDiffering(), REVIEW_MS);
    this.#review.unref();
  }

  get counts(): StatusCounts {
    return { writes: this.#writes, failures: this.#failures, ...this.#queue.counts };
  }

  /** All that there is to say; what was wanted before and is not wanted now is forgotten. Objects without uid are left out. */
  want(statuses: readonly ObjectStatus[]): void {
    const before = this.#wanted;
    const wanted = new Map<string, ObjectStatus>();
    for (const status of statuses) if (isWritable(status)) wanted.set(identityOf(status), status);
    this.#wanted = wanted;
    for (const key of before.keys()) if (!wanted.has(key)) this.#forget(key);
    for (const [key, { uid, generation }] of wanted) {
      const old = before.get(key);
      // What failed for another version of the object says nothing of this one.
      if (old !== undefined && (old.uid !== uid || old.generation !== generation)) this.#queue.renew(key);
    }
    this.#addDiffering();
  }

  /** Resolves once nothing waits to be written or tried again. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** What is being written is written. */
  close(): void {
    clearInterval(this.#review);
    this.#queue.close();
  }

  #addDiffering(): void {
    if (!this.#options.isLeader()) return;
    for (const [key, status] of this.#wanted) {
      const differing = this.#differingOf(key, status);
      if (differing === undefined) continue;
      const isFields = differing.difference === 'fields';
      this.#queue.add(key, isFields ? restOf(this.#last.get(key)) : delayOf(status));
    }
  }

  async #write(key: string): Promise<void> {
    const status = this.#wanted.get(key);
    if (status === undefined || !this.#options.isLeader()) return;
    const differing = this.#differingOf(key, status);
    const resource = KIND_RESOURCES.get(status.kind);
    if (differing === undefined || resource === undefined) return;
    const { stored } = differing;
    try {
      const applied = statusObject(status, resource, stored, Date.now());
      const written = await this.#options.client.apply(resource, applied, {
        fieldManager: FIELD_MANAGER,
        subresource: 'status',
      });
      this.#writes += 1;
      this.#last.set(key, { object: written, status, atMs: performance.now() });
      this.#options.onWritten?.({ status, object: written, before: storedConditions(stored) });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return;
      this.#failures += 1;
      this.#options.onFault?.(error as Error, status);
      throw error;
    }
  }

  /** undefined: what is stored says so already, is gone, or is another object by now. */
  #differingOf(key: string, status: ObjectStatus): Differing | undefined {
    const observed = this.#options.stored(status);
    if (observed === undefined || observed.metadata.uid !== status.uid) return undefined;
    const last = this.#lastOf(key, observed);
    const judged = this.#judged.get(key);
    if (judged?.status === status && judged.observed === observed && judged.last === last) return judged.differing;
    const differing = differingOf(status, observed, last);
    this.#judged.set(key, { status, observed, last, differing });
    return differing;
  }

  #lastOf(key: string, observed: ApiObject): LastWrite | undefined {
    const last = this.#last.get(key);
    if (last === undefined || last.object === observed || !isSameVersion(last.object, observed)) return last;
    const told = { ...last, object: observed };
    this.#last.set(key, told);
    return told;
  }

  #forget(key: string): void {
    this.#queue.forget(key);
    this.#last.delete(key);
    this.#judged.delete(key);
  }
}

/** What is stored, where that is not what is wanted. */
function differingOf(status: ObjectStatus, observed: ApiObject, last: LastWrite | undefined): Differing | undefined {
  const stored = last !== undefined && !isNewer(observed, last.object) ? last.object : observed;
  const difference = differenceOf(status, stored);
  if (difference === undefined) return undefined;
  // Somebody else's fields may keep a difference that no write of ours removes.
  const isInVain = stored === last?.object && textOfStatus(last.status) === textOfStatus(status);
  return isInVain ? undefined : { stored, difference };
}

function restOf(last: LastWrite | undefined): number {
  return last === undefined ? 0 : Math.max(0, last.atMs + FIELDS_EVERY_MS - performance.now());
}

function isWritable({ kind, uid, isDuplicate }: ObjectStatus): boolean {
  return uid !== undefined && !isDuplicate && KIND_RESOURCES.has(kind);
}

/** Whether `a` is another version of the object than `b`, and no older one; another object of the name always is. */
function isNewer(a: ApiObject, b: ApiObject): boolean {
  if (a.metadata.uid !== b.metadata.uid) return true;
  return compareVersions(a.metadata.resourceVersion ?? '', b.metadata.resourceVersion ?? '') > 0;
}

function delayOf(status: ObjectStatus): number {
  const reasons = (['ResolvedRefs', 'Programmed'] as const).map((type) => conditionOf(status, type)?.reason);
  return Math.max(...reasons.map((reason) => (reason === undefined ? 0 : (PASSING_MS[reason] ?? 0))));
}

function retryOf(error: unknown): Retry {
  const { status, retryAfterMs = 0 } = error instanceof ApiError ? error : { status: 500 };
  const isSilence = status === 0;
  return {
    mostMs: isSilence ? AWAY_MOST_MS : MOST_MS,
    leastMs: Math.min(retryAfterMs, RETRY_AFTER_MOST_MS) * (1 + 0.1 * Math.random()),
    isSilence,
  };
}

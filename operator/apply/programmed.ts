/**
 * What is said of Programmed over time. An object counts as programmed once every replica has served the publication that
 * its present records came with, and from then on until its own records change: other publications and replicas that come
 * and go are no news of it. Bookkeeping only; no clock, no input or output.
 */
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type Condition, conditionOf, type ObjectStatus, withProgrammed } from '../compile/status.ts';
import type { Replica } from '../replicas/replica.ts';
import { identityOf } from '../world.ts';
import { changedObjects, type ObjectRecords, recordsByObject } from './fingerprints.ts';

export interface Published {
  readonly generation: number;
  readonly hash: string;
  /** false: it was published already when it was about to be, perhaps by an operator before this one. Default true. */
  readonly isNew?: boolean;
}

export interface ProgrammedOptions {
  /** Message of the condition Programmed=True that is stored for exactly this version of the object; undefined: there is none. */
  readonly stored?: (status: ObjectStatus) => string | undefined;
}

/** What is to be told of, and the snapshot that it was compiled with. */
export interface Told {
  readonly snapshot: Snapshot;
  readonly statuses: readonly ObjectStatus[];
}

interface Entry {
  readonly uid: string | undefined;
  /** The publication that the object's records came with, or a later one. */
  readonly since: number;
  /** How it was served when it was served everywhere first. */
  served: string | undefined;
}

const NOTHING: ObjectRecords = new Map();

export class Programmed {
  readonly #stored: NonNullable<ProgrammedOptions['stored']>;
  readonly #entries = new Map<string, Entry>();
  /** The publication that each object's records came with. */
  readonly #since = new Map<string, number>();
  #last: Published | undefined;
  #records = NOTHING;
  /** Whether stored conditions tell of what is published. */
  #believesStored = false;
  #failure: { readonly snapshot: Snapshot; readonly reason: string } | undefined;
  /** What a snapshot would change of what is published. */
  #ahead: { readonly snapshot: Snapshot; readonly objects: ReadonlySet<string> } | undefined;

  constructor({ stored = () => undefined }: ProgrammedOptions = {}) {
    this.#stored = stored;
  }

  /** Published last; 0: nothing yet. */
  get generation(): number {
    return this.#last?.generation ?? 0;
  }

  published(publication: Published, snapshot: Snapshot): void {
    const records = recordsByObject(snapshot);
    const steps = publication.generation - (this.#last?.generation ?? Number.NaN);
    const follows = steps === 0 || steps === 1;
    // The first, or others published in between: nothing is known of what replicas have.
    const changed = follows ? changedObjects(this.#records, records) : records.keys();
    if (!follows) {
      this.#entries.clear();
      this.#since.clear();
    }
    // A publication that failed before may have been new all the same.
    if (steps !== 0) this.#believesStored = !follows && publication.isNew === false && this.#failure === undefined;
    for (const identity of changed) {
      this.#entries.delete(identity);
      if (records.has(identity)) this.#since.set(identity, publication.generation);
      else this.#since.delete(identity);
    }
    this.#records = records;
    this.#last = publication;
    this.#failure = undefined;
    this.#ahead = { snapshot, objects: new Set() };
  }

  /** What is published stays; objects that `snapshot` would have changed wait. `reason`: why. */
  notPublished(snapshot: Snapshot, reason: string): void {
    this.#failure = { snapshot, reason };
  }

  /** Statuses of `compile` with Programmed and Ready. `replicas`: those that are ready. */
  of({ snapshot, statuses }: Told, replicas: readonly Replica[]): readonly ObjectStatus[] {
    const ahead = this.#aheadOf(snapshot);
    const seen = new Set<string>();
    const told = statuses.map((status) => {
      if (status.served === 'none') return withProgrammed(status, notServed(status));
      const identity = identityOf(status);
      seen.add(identity);
      const isAhead = ahead.has(identity);
      const condition = isAhead ? this.#waiting(status, snapshot) : this.#published(status, identity, replicas);
      return withProgrammed(status, status.served === 'current' ? condition : LAST_GOOD);
    });
    for (const identity of this.#entries.keys()) if (!seen.has(identity)) this.#entries.delete(identity);
    return told;
  }

  #aheadOf(snapshot: Snapshot): ReadonlySet<string> {
    if (this.#ahead?.snapshot === snapshot) return this.#ahead.objects;
    const objects = changedObjects(this.#records, recordsByObject(snapshot));
    this.#ahead = { snapshot, objects };
    return objects;
  }

  #waiting(status: ObjectStatus, snapshot: Snapshot): Condition {
    // Before the first publication, what another operator told is the best that is known.
    const served = this.#last === undefined ? this.#stored(status) : undefined;
    if (served !== undefined) return programmed('True', 'Programmed', served);
    const { reason } = this.#failure?.snapshot === snapshot ? this.#failure : { reason: undefined };
    return reason === undefined
      ? programmed('Unknown', 'Pending', 'not published yet')
      : programmed('False', 'NotPublished', reason);
  }

  #published(status: ObjectStatus, identity: string, replicas: readonly Replica[]): Condition {
    const known = this.#entries.get(identity);
    // Another uid: deleted and made anew, so that nothing that was known is true of it.
    if (known !== undefined && known.uid === status.uid) return ackOf(known, replicas);
    const since = known === undefined ? (this.#since.get(identity) ?? this.generation) : this.generation;
    const served = this.#believesStored ? this.#stored(status) : undefined;
    const entry = { uid: status.uid, since, served };
    this.#entries.set(identity, entry);
    return ackOf(entry, replicas);
  }
}

/** Notes in `entry` when it is served everywhere. */
function ackOf(entry: Entry, replicas: readonly Replica[]): Condition {
  if (entry.served !== undefined) return programmed('True', 'Programmed', entry.served);
  if (replicas.length === 0) return programmed('Unknown', 'Pending', 'no gateway replica is ready');
  const lacking = replicas.filter(({ generation }) => generation < entry.since);
  const count = `${replicas.length - lacking.length} of ${replicas.length} ${replicas.length === 1 ? 'replica' : 'replicas'}`;
  if (lacking.length === 0) {
    entry.served = `served by ${count}`;
    return programmed('True', 'Programmed', entry.served);
  }
  for (const { name, refused } of lacking) {
    if (refused === undefined || refused.generation < entry.since) continue;
    return programmed('False', 'RefusedByGateway', `${name}: ${refused.reason}`);
  }
  return programmed('False', 'Pending', `${count} ${replicas.length === 1 ? 'serves' : 'serve'} it`);
}

function notServed(status: ObjectStatus): Condition {
  const isAccepted = conditionOf(status, 'Accepted')?.status === 'True';
  return programmed('False', isAccepted ? 'Incomplete' : 'NotAccepted', '');
}

const LAST_GOOD = programmed('False', 'LastGoodServed', '');

function programmed(status: Condition['status'], reason: Condition['reason'], message: string): Condition {
  return { type: 'Programmed', status, reason, message };
}

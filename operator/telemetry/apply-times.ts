/** How long it takes from a version of an object to its being served by every replica. */
import { conditionOf, type ObjectStatus } from '../compile/status.ts';
import { identityOf } from '../world.ts';

interface Known {
  readonly uid: string | undefined;
  readonly generation: number;
  /** When it was first seen; undefined: it was served, or is told of already. */
  sinceMs: number | undefined;
}

export class ApplyTimes {
  #known = new Map<string, Known>();
  #isFirst = true;

  /**
   * Milliseconds for each object that is served everywhere for the first time since it was written. `seenAtMs`: when what is
   * new in `statuses` was seen. What was there from the start does not count: nobody knows since when.
   */
  take(statuses: readonly ObjectStatus[], seenAtMs: number, nowMs: number): readonly number[] {
    const times: number[] = [];
    const known = new Map<string, Known>();
    for (const status of statuses) {
      if (status.isDuplicate) continue;
      const identity = identityOf(status);
      const entry = this.#entryOf(identity, status, this.#isFirst ? undefined : seenAtMs);
      known.set(identity, entry);
      if (entry.sinceMs === undefined || conditionOf(status, 'Programmed')?.status !== 'True') continue;
      times.push(nowMs - entry.sinceMs);
      entry.sinceMs = undefined;
    }
    this.#known = known;
    this.#isFirst = false;
    return times;
  }

  #entryOf(identity: string, { uid, generation }: ObjectStatus, sinceMs: number | undefined): Known {
    const before = this.#known.get(identity);
    return before?.uid === uid && before?.generation === generation ? before : { uid, generation, sinceMs };
  }
}

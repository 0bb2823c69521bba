/** Whether the server answers, and up to which version it knows what happened. */
import { refused } from './request-faults.ts';
import type { Store } from './store.ts';

/** `refuse`: no connection; `black-hole`: every byte is lost, and nobody is told. */
export type Outage = 'refuse' | 'black-hole';

const NEVER = new Promise<never>(() => {});

export class Availability {
  readonly store: Store;
  #outage: Outage | undefined;
  #paused: PromiseWithResolvers<void> | undefined;
  #pausedAt: number | undefined;
  #olderWorld: number | undefined;

  constructor(store: Store) {
    this.store = store;
  }

  /** Of what is read. */
  get version(): number {
    return this.#olderWorld ?? this.#pausedAt ?? this.store.version;
  }

  /** undefined: reads are current again. */
  setOlderWorld(version: number | undefined): void {
    this.#olderWorld = version;
  }

  setOutage(outage: Outage | undefined): void {
    this.#outage = outage;
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
    this.#pausedAt ??= this.store.version;
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
    this.#pausedAt = undefined;
  }

  /** Waits while it is paused, for ever in a black hole. Rejects where the connection is refused. */
  async admit(): Promise<void> {
    if (this.#outage === 'refuse') throw refused();
    if (this.#outage === 'black-hole') await NEVER;
    await this.#paused?.promise;
  }
}

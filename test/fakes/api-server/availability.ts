/** Whether the server answers, and up to which version it knows what happened. */
import type { Resource } from '#crds/api/api-object.ts';
import type { ReadView } from './reads.ts';
import { refused } from './request-faults.ts';
import type { Store } from './store.ts';

/** `refuse`: no connection; `black-hole`: every byte is lost, and nobody is told. */
export type Outage = 'refuse' | 'black-hole';

export interface OlderWorld {
  readonly version: number;
  /** Of which alone it is; none: of all. */
  readonly kinds?: readonly Resource[] | undefined;
}

const NEVER = new Promise<never>(() => {});

export class Availability {
  readonly store: Store;
  #outage: Outage | undefined;
  #paused: PromiseWithResolvers<void> | undefined;
  #pausedAt: number | undefined;
  #olderWorld: OlderWorld | undefined;

  constructor(store: Store) {
    this.store = store;
  }

  /** What is read of a kind; from one moment to the next, as it is then. */
  of({ apiVersion, plural }: Pick<Resource, 'apiVersion' | 'plural'>): ReadView {
    const versionOf = () => this.#versionOf(apiVersion, plural);
    return {
      store: this.store,
      get version() {
        return versionOf();
      },
    };
  }

  /** undefined: reads are current again. */
  setOlderWorld(olderWorld: OlderWorld | undefined): void {
    this.#olderWorld = olderWorld;
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

  #versionOf(apiVersion: string, plural: string): number {
    const { version, kinds } = this.#olderWorld ?? {};
    const isOlder = kinds?.some((kind) => kind.apiVersion === apiVersion && kind.plural === plural) ?? true;
    return (isOlder ? version : undefined) ?? this.#pausedAt ?? this.store.version;
  }
}

/** A gateway as far as the operator sees it: it serves what is published, or says why it does not. */

import { type DecodedSnapshot, SnapshotRefused } from '#crds/snapshot/decode.ts';
import type { ApiServer } from '../../fakes/api-server/api-server.ts';
import { publishedIn, sharesIn } from './outcome.ts';

export interface PretendGatewayOptions {
  readonly server: ApiServer;
  readonly name: string;
  readonly address: string;
}

/** From a write to the gateway that has seen it. */
const NOTICE_MS = 20;

export class PretendGateway {
  readonly name: string;
  readonly address: string;
  /** Why it refuses whatever comes from now on; undefined: it does not. */
  refuses: string | undefined;
  /** Answers nobody. */
  isDeaf = false;
  /** As its EndpointSlice says. */
  isReady = true;
  /** What it counted since it started; by the counter's key. */
  readonly used = new Map<string, bigint>();
  /** Whether it counts for all, and how its store is. */
  mode: 'own' | 'total' = 'own';
  storeState: 'ok' | 'degraded' = 'ok';
  /** When keys were used, by `namespace/name`. */
  readonly keyUses = new Map<string, number>();
  #starts = 1;
  /** Generations that it served, in order. */
  readonly history: number[] = [];
  #served: DecodedSnapshot | undefined;
  readonly #server: ApiServer;
  readonly #unfollow: () => void;
  #refused: { readonly generation: number; readonly hash: string; readonly reason: string } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ server, name, address }: PretendGatewayOptions) {
    this.name = name;
    this.address = address;
    this.#server = server;
    this.#unfollow = server.onWrite(({ resource }) => {
      if (resource === 'configmaps' || resource === 'secrets') this.#notice();
    });
    this.#notice();
  }

  /** undefined: nothing yet. */
  get served(): DecodedSnapshot | undefined {
    return this.#served;
  }

  /** As its admin port tells it. */
  config(): unknown {
    const { generation = 0, hash = '' } = this.served ?? {};
    return { generation, hash, format: 1, ...(this.#refused === undefined ? {} : { refused: this.#refused }) };
  }

  /** As its admin port tells it. */
  usage(): unknown {
    return {
      incarnation: `${this.name} ${this.#starts}`,
      mode: this.mode,
      store: { state: this.storeState },
      shares_version: sharesIn(this.#server)?.version ?? 0,
      budgets: [...this.used].map(([key, used]) => ({ key, used: String(used) })),
      keys: [...this.keyUses].map(([path, last_used_at_ms]) => {
        const [namespace, name] = path.split('/');
        return { namespace, name, last_used_at_ms };
      }),
    };
  }

  /** Counts so much more. */
  use(key: string, amount: bigint): void {
    this.used.set(key, (this.used.get(key) ?? 0n) + amount);
  }

  /** Another process, which knows nothing of what the former counted. */
  restart(): void {
    this.#starts += 1;
    this.used.clear();
  }

  /** Looks at what is published. */
  look(): void {
    try {
      this.#take(publishedIn(this.#server));
    } catch (error) {
      // Half of a publication: the rest is under way.
      if (!(error instanceof SnapshotRefused)) throw error;
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#unfollow();
  }

  #notice(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.look();
    }, NOTICE_MS);
  }

  #take(published: DecodedSnapshot | undefined): void {
    if (published === undefined || published.generation <= (this.served?.generation ?? 0)) return;
    const { generation, hash } = published;
    if (this.refuses !== undefined) {
      this.#refused = { generation, hash, reason: this.refuses };
      return;
    }
    this.#refused = undefined;
    this.#served = published;
    this.history.push(generation);
  }
}

/** Replicas before one store, in a time that passes when the test says so. */
import { MemoryStore } from '#gateway/limits/memory-store.ts';
import type { Decision, Demand, LimitStore } from '#gateway/limits/store.ts';
import { startTestGateway, type TestGateway } from '../../fakes/gateway.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { NOON_MS } from '../stage.ts';

/** What a dead replica held is free then, at the latest. */
export const LAPSE_MS = 60_000;

interface OpenHold {
  readonly nothing: readonly number[];
  settle(amounts: readonly number[]): void;
}

/** A replica's way to the store that it shares with others. Once it is dead nothing that it says arrives. */
class Line implements LimitStore {
  readonly #store: MemoryStore;
  readonly open = new Set<OpenHold>();
  #isDead = false;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  reserve(demands: readonly Demand[]): Decision {
    const decision = this.#store.reserve(demands);
    if (!decision.ok) return decision;
    const { hold } = decision;
    const open: OpenHold = {
      nothing: demands.map(() => 0),
      settle: (amounts) => {
        this.open.delete(open);
        hold.settle(amounts);
      },
    };
    this.open.add(open);
    const settle: OpenHold['settle'] = (amounts) => {
      if (!this.#isDead) open.settle(amounts);
    };
    return { ...decision, hold: { settle } };
  }

  die(): void {
    this.#isDead = true;
  }

  /** What the store does for a replica that it has not heard of for long enough. */
  lapse(): void {
    for (const { settle, nothing } of [...this.open]) settle(nothing);
  }

  async close(): Promise<void> {}
}

interface Replica {
  readonly gateway: TestGateway;
  readonly line: Line;
}

interface Dead {
  readonly replica: Replica;
  readonly sinceMs: number;
}

export class Fleet {
  /** Unix milliseconds of the store. */
  nowMs = NOON_MS;
  readonly #store = new MemoryStore({ now: () => this.nowMs });
  readonly #skewsMs: readonly number[];
  readonly #replicas: Replica[] = [];
  readonly #dead: Dead[] = [];
  #manifests = '';

  constructor(skewsMs: readonly number[]) {
    this.#skewsMs = skewsMs;
  }

  get size(): number {
    return this.#skewsMs.length;
  }

  async start(): Promise<this> {
    for (let index = 0; index < this.size; index += 1) this.#replicas[index] = await this.#newReplica(index);
    return this;
  }

  at(index: number): TestGateway {
    return this.#replica(index).gateway;
  }

  /** By this replica's own clock. */
  clockOf(index: number): number {
    return this.nowMs + (this.#skewsMs[index] ?? 0);
  }

  /** Replaces all manifests of all replicas. */
  apply(manifests: string): void {
    this.#manifests = manifests;
    for (const { gateway } of this.#replicas) gateway.apply(manifests);
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const { replica, sinceMs } of this.#dead) if (this.nowMs - sinceMs >= LAPSE_MS) replica.line.lapse();
  }

  /** The process is gone with all that it had in hand, and another one takes its place. */
  async crash(index: number): Promise<void> {
    const replica = this.#replica(index);
    replica.line.die();
    this.#dead.push({ replica, sinceMs: this.nowMs });
    this.#replicas[index] = await this.#newReplica(index);
  }

  /** Waits until the living have so many requests under way, all others being settled. */
  async runs(count: number): Promise<void> {
    const running = async () => {
      const each = this.#replicas.map(({ gateway }) => gateway.metric('modelgateway_requests_in_flight'));
      return (await Promise.all(each)).reduce((sum, one) => sum + one, 0);
    };
    await waitFor(async () => (await running()) === count, `${count} requests to be under way`, 20_000);
  }

  /** Lines of requests. */
  async lines(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const replicas = [...this.#replicas, ...this.#dead.map(({ replica }) => replica)];
    const all = await Promise.all(replicas.map(({ gateway }) => gateway.logs()));
    return all.flat().filter(({ msg }) => msg === 'request');
  }

  async close(): Promise<void> {
    const all = [...this.#replicas, ...this.#dead.map(({ replica }) => replica)];
    await Promise.all(all.map(({ gateway }) => gateway.close()));
  }

  #replica(index: number): Replica {
    const replica = this.#replicas[index];
    if (replica === undefined) throw new Error(`there is no replica ${index}`);
    return replica;
  }

  async #newReplica(index: number): Promise<Replica> {
    const line = new Line(this.#store);
    const limitClock = () => this.clockOf(index);
    const manifests = this.#manifests;
    return { line, gateway: await startTestGateway({ store: line, limitClock, manifests, drainMs: 0 }) };
  }
}

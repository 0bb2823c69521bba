/**
 * Replaces keys that are due, or that somebody asks for. Level-triggered: each pass says what every Secret holds, and from
 * that alone follows what is written next; a crash between two writes loses nothing.
 */
import { inParallel } from '../in-parallel.ts';
import type { Pass } from '../loop.ts';
import type { Replica } from '../replicas/replica.ts';
import type { Source } from '../source/source.ts';
import type { SecretObject } from '../world.ts';
import { digestOf } from './key-state.ts';
import { type Rotated, RotationRequests, type RotationWish } from './rotation-requests.ts';
import { type IssuedKey, type SecretChanges, stepOf, wakeAt } from './rotation-step.ts';

export interface KeyRotationOptions {
  readonly source: Pick<Source, 'changeSecret'>;
  /** Those that are ready. */
  readonly replicas: () => readonly Replica[];
  /** Asked before each write. */
  readonly mayWrite: () => boolean;
  readonly newKey: () => string;
  /** A write failed; it is tried again. */
  readonly onFault: (error: Error) => void;
  /** Unix milliseconds. Default: the system's clock. */
  readonly now?: () => number;
}

/** Of a pass, what counts here. */
export type RotationPass = Pick<Pass, 'generation' | 'isPublished' | 'issued'>;

const AT_ONCE = 16;
const RETRY = { firstMs: 250, lastMs: 10_000 };
/** However far away it is: clocks are set. */
const LOOK_EVERY_MS = 60_000;

export class KeyRotation {
  readonly #options: KeyRotationOptions;
  readonly #now: () => number;
  readonly #requests = new RotationRequests();
  /** Next keys that are published, and since which generation; by digest. */
  readonly #published = new Map<string, number>();
  /** What was written already and is not observed yet. */
  readonly #changed = new WeakSet<SecretObject>();
  #issued: readonly IssuedKey[] = [];
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #isAgain = false;
  #isClosed = false;

  constructor(options: KeyRotationOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** After each pass, and after each change of what replicas say. */
  consider({ generation, isPublished, issued }: RotationPass): void {
    if (isPublished) this.#notePublished(issued, generation);
    this.#issued = issued;
    this.#requests.observe(issued);
    this.#run();
  }

  /**
   * Replaces the key now; resolves once callers can use the new one everywhere. `transitionMs`: for how long the former key
   * works; default: as the ApiKey says. A rotation that is under way is waited for. Rejects with RotationFailed.
   */
  rotateNow(namespace: string, name: string, wish: RotationWish = {}): Promise<Rotated> {
    const rotated = this.#requests.add({
      namespace,
      name,
      wish,
      issued: this.#issued,
      leads: this.#options.mayWrite(),
    });
    this.#run();
    return rotated;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#requests.close();
  }

  #notePublished(issued: readonly IssuedKey[], generation: number): void {
    const next = new Set<string>();
    for (const { state } of issued) if (state.next !== undefined) next.add(digestOf(state.next));
    for (const digest of this.#published.keys()) if (!next.has(digest)) this.#published.delete(digest);
    for (const digest of next) {
      const since = this.#published.get(digest);
      // Generations begin anew where the index was lost.
      if (since === undefined || since > generation) this.#published.set(digest, generation);
    }
  }

  #run(): void {
    if (this.#isRunning) {
      this.#isAgain = true;
      return;
    }
    if (this.#isClosed || !this.#options.mayWrite()) return;
    this.#isRunning = true;
    this.#isAgain = false;
    clearTimeout(this.#timer);
    void this.#stepAll().then((isComplete) => {
      this.#failures = isComplete ? 0 : this.#failures + 1;
      this.#isRunning = false;
      if (this.#isAgain) this.#run();
      else this.#arm();
    });
  }

  /** false: a write failed. */
  async #stepAll(): Promise<boolean> {
    let isComplete = true;
    // Of thousands, few have anything to do.
    const due = this.#issued.filter((key) => this.#changesOf(key, () => '') !== undefined);
    await inParallel(due, AT_ONCE, async (key) => {
      isComplete = (await this.#step(key)) && isComplete;
    });
    return isComplete;
  }

  async #step(key: IssuedKey): Promise<boolean> {
    const { secret } = key;
    const changes = this.#changesOf(key, this.#options.newKey);
    if (changes === undefined || this.#isClosed || !this.#options.mayWrite()) return true;
    this.#changed.add(secret);
    try {
      await this.#options.source.changeSecret(secret, changes);
    } catch (error) {
      this.#changed.delete(secret);
      this.#options.onFault(new Error(`ApiKey ${key.namespace}/${key.name}: rotation: ${(error as Error).message}`));
      return false;
    }
    return true;
  }

  /** undefined: nothing is to be done now. */
  #changesOf(key: IssuedKey, newKey: () => string): SecretChanges | undefined {
    if (this.#changed.has(key.secret)) return undefined;
    const isServed = this.#isServed(key.state.next);
    return stepOf(key, { nowMs: this.#now(), isServed, wanted: this.#requests.wishFor(key) }, newKey);
  }

  /** By every replica there is; with none, nobody could use it. */
  #isServed(next: string | undefined): boolean {
    const since = next === undefined ? undefined : this.#published.get(digestOf(next));
    const replicas = this.#options.replicas();
    return since !== undefined && replicas.length > 0 && replicas.every(({ generation }) => generation >= since);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const retryMs = Math.min(RETRY.firstMs * 2 ** (this.#failures - 1), RETRY.lastMs);
    const inMs = this.#failures > 0 ? retryMs : this.#dueInMs();
    if (inMs === undefined) return;
    this.#timer = setTimeout(() => this.#run(), inMs);
    this.#timer.unref();
  }

  /** To what is due first; undefined: nothing ever is. */
  #dueInMs(): number | undefined {
    let first = Number.POSITIVE_INFINITY;
    for (const key of this.#issued) {
      if (!this.#changed.has(key.secret)) first = Math.min(first, wakeAt(key) ?? first);
    }
    return first === Number.POSITIVE_INFINITY ? undefined : Math.min(LOOK_EVERY_MS, Math.max(1, first - this.#now()));
  }
}

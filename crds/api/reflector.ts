/**
 * A collection of an API server, kept current: listed whole once, then watched. Whatever breaks is told and mended, by going
 * on where the watch ended if that can be, by a new list if not; meanwhile what was known stays.
 */
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-error.ts';
import { type ApiObject, keyOf, type Resource } from './api-object.ts';
import { Backoff } from './backoff.ts';
import { KnownObjects } from './known-objects.ts';
import { LineFrames } from './line-frames.ts';
import { compareVersions } from './resource-version.ts';
import { sleep } from './sleep.ts';
import { slimObject } from './slim-object.ts';
import { fault, watchEventOf } from './watch-event.ts';
import { WatchRetry } from './watch-retry.ts';
import { Watchdog } from './watchdog.ts';

/** What is known of a collection. */
export interface Reflection {
  /** By `namespace/name`. The same map from one change to the next; do not change it. */
  readonly objects: ReadonlyMap<string, ApiObject>;
  /** Up to which everything is known: of the last list, event or bookmark. */
  readonly resourceVersion: string | undefined;
  /** Whether the collection has been listed whole at least once. */
  readonly synced: boolean;
  close(): void;
}

export interface ReflectOptions {
  readonly client: ApiClient;
  readonly resource: Resource;
  /** None: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Nothing but the objects' metadata is asked for, and kept. */
  readonly metadataOnly?: boolean | undefined;
  /** A list that is older is not believed. */
  readonly notBefore?: string | undefined;
  /**
   * After the first list, then once for all the events that came together. `changed`: `namespace/name` of the objects that are
   * other than before; undefined, after a list: any may be.
   */
  readonly onChange: (changed?: ReadonlySet<string>) => void;
  /** Each failure; `reason` and `status` of an ApiError say which: see `watch-event.ts`, and `OlderList`, `Silent`. */
  readonly onFault?: ((error: Error) => void) | undefined;
  readonly pageSize?: number | undefined;
  readonly backoff?: Backoff | undefined;
}

/** Starts at once. `whenSynced` rejects where it is closed before. */
export function reflect(options: ReflectOptions): Reflection & { readonly whenSynced: Promise<void> } {
  return new Reflector(options);
}

/** Less than SILENCE_MS: the server ends a watch in which nothing happened, so that silence means that nobody is there. */
const WATCH_SECONDS = { least: 45, most: 55 };
const SILENCE_MS = 60_000;
/** Until a watch begins. */
const BEGIN_MS = 5_000;
/** A watch that lasted this long was a success, even if nothing happened in it. */
const LIVED_MS = 5_000;
const DEFAULT_PAGE_SIZE = 500;

class Reflector {
  readonly #options: ReflectOptions;
  readonly #metadataOnly: boolean;
  readonly #retry: WatchRetry;
  readonly #known = new KnownObjects();
  readonly #closing = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  /** Whether the next turn begins with a list. */
  #mustList = true;
  #pageSize: number;

  constructor(options: ReflectOptions) {
    this.#options = options;
    this.#metadataOnly = options.metadataOnly ?? false;
    this.#retry = new WatchRetry(options.backoff ?? new Backoff());
    this.#pageSize = options.pageSize ?? DEFAULT_PAGE_SIZE;
    // Who closes it early need not wait for it.
    this.#synced.promise.catch(() => {});
    this.#run();
  }

  get objects(): ReadonlyMap<string, ApiObject> {
    return this.#known.objects;
  }

  get resourceVersion(): string | undefined {
    return this.#known.version;
  }

  get synced(): boolean {
    return this.#isSynced;
  }

  get whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  close(): void {
    this.#closing.abort(new Error('closed'));
    this.#synced.reject(new Error(`closed before the ${this.#options.resource.plural} were listed`));
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) await sleep(await this.#turn(), this.#closing.signal);
  }

  /** Milliseconds until the next one. */
  async #turn(): Promise<number> {
    try {
      if (this.#mustList) await this.#list();
      return await this.#watch();
    } catch (error) {
      return this.#closing.signal.aborted ? 0 : this.#afterFault(error as Error);
    }
  }

  async #list(): Promise<void> {
    const { client, resource, namespace } = this.#options;
    const options = { metadataOnly: this.#metadataOnly, signal: this.#closing.signal };
    const address = { namespace, query: this.#selectors() };
    const { metadata, items } = await client.listAll(resource, address, this.#pageSize, options);
    const objects = items.map((item) => slimObject(resource, item, options));
    const isWhole = objects.every((object) => object !== undefined);
    if (!isWhole) throw fault('BrokenList', `the list of ${resource.plural} has an item without metadata.name`);
    this.#believe(metadata.resourceVersion, objects);
  }

  #believe(version: string | undefined, objects: readonly ApiObject[]): void {
    const { resource, onChange } = this.#options;
    if (version === undefined) throw fault('BrokenList', `the list of ${resource.plural} has no resourceVersion`);
    const newest = newerOf(this.#known.version, this.#options.notBefore);
    if (newest !== undefined && compareVersions(version, newest) < 0) {
      throw fault('OlderList', `the list of ${resource.plural} is of ${version}, older than ${newest} that was seen`);
    }
    if (this.#closing.signal.aborted) return;
    const isNews = this.#known.replaceAll(version, objects) || !this.#isSynced;
    this.#mustList = false;
    this.#isSynced = true;
    this.#synced.resolve();
    if (isNews) onChange();
  }

  /** Until the server ends it. Milliseconds until the next one. */
  async #watch(): Promise<number> {
    const watchdog = new Watchdog(this.#closing.signal);
    const before = this.#known.version;
    let beganAt = Number.POSITIVE_INFINITY;
    watchdog.within(BEGIN_MS);
    try {
      const body = await this.#open(watchdog);
      beganAt = performance.now();
      await this.#follow(body, watchdog);
    } catch (error) {
      throw watchdog.expiredMs === undefined ? error : this.#tooLate(watchdog.expiredMs, beganAt);
    } finally {
      watchdog.end();
      if (before !== this.#known.version || performance.now() - beganAt >= LIVED_MS) this.#retry.succeeded();
      else this.#retry.endedEmpty();
    }
    return this.#retry.afterEnd();
  }

  #open(watchdog: Watchdog): Promise<AsyncIterable<Uint8Array>> {
    const { client, resource, namespace } = this.#options;
    const query = {
      ...this.#selectors(),
      resourceVersion: this.#known.version,
      allowWatchBookmarks: true,
      timeoutSeconds: watchSeconds(),
    };
    return client.watch(resource, { namespace, query }, watchdog, { metadataOnly: this.#metadataOnly });
  }

  async #follow(body: AsyncIterable<Uint8Array>, watchdog: Watchdog): Promise<void> {
    const frames = new LineFrames();
    watchdog.within(SILENCE_MS);
    try {
      for await (const chunk of body) {
        if (this.#closing.signal.aborted) return;
        watchdog.within(SILENCE_MS);
        this.#take(frames.push(chunk));
      }
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      throw fault(
        'NoAnswer',
        `the watch of ${this.#options.resource.plural} broke: ${(cause as Error).message}`,
        cause,
      );
    }
    if (frames.isInside) throw fault('BrokenLine', 'the watch ended within an event');
  }

  /** Tells of what was whole even where a later line is broken. */
  #take(lines: Iterable<string>): void {
    const { resource, onChange } = this.#options;
    const changed = new Set<string>();
    try {
      for (const line of lines) {
        const event = watchEventOf(line, resource, this.#metadataOnly);
        if (this.#known.apply(event) && event.type !== 'bookmark') changed.add(keyOf(event.object));
      }
    } finally {
      if (changed.size > 0) onChange(changed);
    }
  }

  #tooLate(expiredMs: number, beganAt: number): ApiError {
    const { plural } = this.#options.resource;
    return Number.isFinite(beganAt)
      ? fault('Silent', `the watch of ${plural} was silent for ${expiredMs} ms`)
      : fault('NoAnswer', `the watch of ${plural} did not begin within ${expiredMs} ms`);
  }

  /** Milliseconds until the next try. */
  #afterFault(error: Error): number {
    const { waitMs, mustList } = this.#retry.afterFault(error);
    this.#mustList ||= mustList;
    // Objects larger than foreseen: fewer at once.
    if (error instanceof ApiError && error.reason === 'TooLarge') this.#pageSize = Math.max(1, this.#pageSize >> 2);
    this.#options.onFault?.(error);
    return waitMs;
  }

  #selectors(): Readonly<Record<string, string | undefined>> {
    const { labelSelector, fieldSelector } = this.#options;
    return { labelSelector, fieldSelector };
  }
}

function watchSeconds(): number {
  const { least, most } = WATCH_SECONDS;
  return least + Math.floor(Math.random() * (most - least + 1));
}

function newerOf(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareVersions(a, b) < 0 ? b : a;
}

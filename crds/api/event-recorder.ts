/**
 * Tells what happens to objects by Events. An Event is a courtesy: at most so many wait, and go out at a bounded rate; what
 * repeats counts up the same one; what fails is dropped and counted, never tried again.
 */
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-error.ts';
import { EVENTS } from './api-object.ts';
import { eventObject, type Occurrence, occurrenceKey, type Reporter } from './event-object.ts';
import { microTime } from './micro-time.ts';

export interface EventRecorderOptions extends Reporter {
  readonly client: ApiClient;
  readonly fieldManager: string;
  /** Each Event that was dropped because it could not be written. */
  readonly onFault?: ((error: Error) => void) | undefined;
}

/** What was told once, and may be told again. */
interface Told {
  readonly occurrence: Occurrence;
  /** undefined: not written yet. */
  name: string | undefined;
  /** Times that it happened, and how many of them are written. */
  count: number;
  written: number;
  lastAt: number;
}

const MAX_WAITING = 256;
const MAX_TOLD = 2_048;
/** What happens again within this time is a repetition. */
const SERIES_MS = 6 * 60_000;
/** So many at once, then one each EVERY_MS. */
const BURST = 25;
const EVERY_MS = 500;
/** From one count of a series to the next. */
const COUNT_EVERY_MS = 10_000;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** The longest silent first. */
  readonly #told = new Map<string, Told>();
  readonly #waiting = new Set<Told>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #allowance = BURST;
  #allowedAt = performance.now();
  #isSending = false;
  #isClosed = false;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Happenings that no Event tells of: there were too many, or it could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Returns at once. */
  record(occurrence: Occurrence): void {
    if (this.#isClosed) return;
    const told = this.#find(occurrence);
    told.count += 1;
    told.lastAt = Date.now();
    if (told.count === 1) this.#enqueue(told);
    else if (told.count === told.written + 1 && told.name !== undefined) {
      this.#later(COUNT_EVERY_MS, () => this.#enqueue(told));
    }
  }

  /** What waits is dropped. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const told of this.#waiting) this.#drop(told);
    this.#waiting.clear();
  }

  /** Moves it to the end: it is the one that was told last. */
  #find(occurrence: Occurrence): Told {
    const key = occurrenceKey(occurrence);
    const before = this.#told.get(key);
    this.#told.delete(key);
    const isSeries = before !== undefined && Date.now() - before.lastAt < SERIES_MS;
    const told = isSeries ? before : { occurrence, name: undefined, count: 0, written: 0, lastAt: 0 };
    this.#told.set(key, told);
    const [oldest] = this.#told.keys();
    if (this.#told.size > MAX_TOLD && oldest !== undefined) this.#told.delete(oldest);
    return told;
  }

  #enqueue(told: Told): void {
    if (this.#waiting.size >= MAX_WAITING) {
      this.#drop(told);
      return;
    }
    this.#waiting.add(told);
    this.#send();
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    for (const told of this.#waiting) {
      if (!this.#mayWrite()) break;
      this.#waiting.delete(told);
      await this.#write(told);
    }
    if (this.#waiting.size === 0) this.#isSending = false;
    else this.#later(EVERY_MS, () => this.#sendOn());
  }

  #sendOn(): void {
    this.#isSending = false;
    this.#send();
  }

  #mayWrite(): boolean {
    const now = performance.now();
    this.#allowance = Math.min(BURST, this.#allowance + (now - this.#allowedAt) / EVERY_MS);
    this.#allowedAt = now;
    if (this.#allowance < 1 || this.#isClosed) return false;
    this.#allowance -= 1;
    return true;
  }

  async #write(told: Told): Promise<void> {
    try {
      if (told.name === undefined) await this.#create(told);
      else await this.#countUp(told, told.name);
    } catch (error) {
      this.#drop(told);
      const isTold = told.occurrence.id !== undefined && error instanceof ApiError && error.status === 409;
      if (!isTold) this.#options.onFault?.(error as Error);
    }
    if (told.count > told.written) this.#later(COUNT_EVERY_MS, () => this.#enqueue(told));
  }

  async #create(told: Told): Promise<void> {
    const { client, fieldManager } = this.#options;
    const { count } = told;
    const event = eventObject(told.occurrence, this.#options, new Date(told.lastAt));
    await client.create(EVENTS, count > 1 ? { ...event, series: seriesOf(told) } : event, fieldManager);
    told.name = event.metadata.name;
    told.written = count;
  }

  async #countUp(told: Told, name: string): Promise<void> {
    const { client, fieldManager } = this.#options;
    const { namespace = 'default' } = told.occurrence.regarding.metadata;
    const { count } = told;
    try {
      await client.patchMerge(EVENTS, { namespace, name }, { series: seriesOf(told) }, { fieldManager });
      told.written = count;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      // The Event outlived its time in the cluster: another begins.
      told.count -= told.written;
      told.written = 0;
      await this.#create(told);
    }
  }

  #drop(told: Told): void {
    this.#dropped += told.count - told.written;
    told.written = told.count;
    const key = occurrenceKey(told.occurrence);
    if (told.name === undefined && this.#told.get(key) === told) this.#told.delete(key);
  }

  #later(waitMs: number, act: () => void): void {
    if (this.#isClosed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, waitMs);
    this.#timers.add(timer);
  }
}

/** The server takes a series from two on. */
function seriesOf({ count, lastAt }: Told): { readonly count: number; readonly lastObservedTime: string } {
  return { count, lastObservedTime: microTime(new Date(lastAt)) };
}

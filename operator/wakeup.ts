/** Turns many calls into few runs: one at a time, soon after the first call, and never two within `everyMs`. */

export interface WakeupOptions {
  /** From a call to its run: what comes in between is part of it. */
  readonly delayMs: number;
  /** From the start of one run to the start of the next. */
  readonly everyMs: number;
  readonly onDefect: (error: unknown) => void;
}

export class Wakeup {
  readonly #run: () => Promise<void>;
  readonly #options: WakeupOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #startedMs = Number.NEGATIVE_INFINITY;
  #running = false;
  #closed = false;

  constructor(run: () => Promise<void>, options: WakeupOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** `delayMs`: at the latest then; a run that is due sooner stays. */
  wake(delayMs: number = this.#options.delayMs): void {
    const nowMs = performance.now();
    const dueMs = Math.max(nowMs + delayMs, this.#startedMs + this.#options.everyMs);
    if (this.#closed || dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    if (!this.#running) this.#arm();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#start(), Math.max(0, this.#dueMs - performance.now()));
  }

  #start(): void {
    this.#running = true;
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#startedMs = performance.now();
    this.#run()
      .catch(this.#options.onDefect)
      .finally(() => {
        this.#running = false;
        if (this.#dueMs !== Number.POSITIVE_INFINITY && !this.#closed) this.#arm();
      });
  }
}

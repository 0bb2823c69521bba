/** A signal that aborts unless what is waited for comes in time. */

export class Watchdog {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #giveUp = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expiredMs: number | undefined;

  /** `outer`: aborts this one too. */
  constructor(outer?: AbortSignal) {
    this.#outer = outer;
    if (outer?.aborted) this.#giveUp();
    else outer?.addEventListener('abort', this.#giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds that were waited in vain; undefined: it did not come to that. */
  get expiredMs(): number | undefined {
    return this.#expiredMs;
  }

  /** From now on; replaces the limit before. */
  within(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#expiredMs = timeoutMs;
      this.#controller.abort(new Error(`no answer within ${timeoutMs} ms`));
    }, timeoutMs);
  }

  /** Nothing is waited for any more: leaves no timer and no listener. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#giveUp);
  }
}

/** Looks after every hint, never twice at once: hints that come during a look lead to one more. */
export class Rounds {
  readonly #look: () => Promise<void>;
  #isDue = false;
  #isClosed = false;
  #running: Promise<void> | undefined;

  /** `look` never rejects. */
  constructor(look: () => Promise<void>) {
    this.#look = look;
  }

  hint(): void {
    this.#isDue = true;
    this.#running ??= this.#run();
  }

  /** Resolves when no look is under way. */
  idle(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Hints are no longer heard; resolves when the last look is over. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.idle();
  }

  async #run(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      await this.#look();
    }
    this.#running = undefined;
  }
}

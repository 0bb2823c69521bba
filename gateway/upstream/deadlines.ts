/**
 * One coarse clock for all time limits: a limit costs a place in a set instead of a timer. A limit expires within
 * `TICK_MS` after its time.
 */
const TICK_MS = 25;

export class Deadline {
  /** `performance.now()` milliseconds; Infinity while nothing is awaited. */
  at: number;
  readonly expire: () => void;

  constructor(at: number, expire: () => void) {
    this.at = at;
    this.expire = expire;
  }
}

export class Deadlines {
  private readonly pending = new Set<Deadline>();
  private timer: NodeJS.Timeout | undefined;

  add(deadline: Deadline): void {
    this.pending.add(deadline);
    if (this.timer === undefined) this.timer = setInterval(this.sweep, TICK_MS).unref();
  }

  delete(deadline: Deadline): void {
    this.pending.delete(deadline);
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.pending.clear();
  }

  private readonly sweep = (): void => {
    const now = performance.now();
    for (const deadline of this.pending) {
      if (deadline.at > now) continue;
      this.pending.delete(deadline);
      deadline.expire();
    }
  };
}

/**
 * One coarse clock for all time limits: a limit costs a place in a roster instead of a timer. A limit expires within
 * `TICK_MS` after its time.
 */
import { Roster, type Rostered } from '../roster.ts';

const TICK_MS = 25;

export class Deadline implements Rostered {
  place = -1;
  /** `performance.now()` milliseconds; Infinity while nothing is awaited. */
  at: number;
  readonly expire: () => void;

  constructor(at: number, expire: () => void) {
    this.at = at;
    this.expire = expire;
  }
}

export class Deadlines {
  private readonly pending = new Roster<Deadline>();
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
  }

  private readonly sweep = (): void => {
    const now = performance.now();
    for (const deadline of this.pending.takeWhere(({ at }) => at <= now)) deadline.expire();
  };
}

/** What is wrong, said once: a server that is away for an hour must not fill the log. */
import type { Log } from './log.ts';
import type { LogFields } from './log-text.ts';

const AGAIN_AFTER_MS = 300_000;
const MAX_KNOWN = 50;

export class Complaints {
  readonly #log: Pick<Log, 'event'>;
  /** By what was said, then by what tells two of them apart. */
  readonly #toldAtMs = new Map<string, Map<string, number>>();

  constructor(log: Pick<Log, 'event'>) {
    this.#log = log;
  }

  /** The same again is said after five minutes. `sameness`: what is the same has it in common; default all fields. */
  tell(level: 'info' | 'warn', message: string, fields: LogFields, sameness: string = JSON.stringify(fields)): void {
    const nowMs = performance.now();
    const told = this.#toldAtMs.get(message) ?? new Map<string, number>();
    const toldAtMs = told.get(sameness);
    if (toldAtMs !== undefined && nowMs - toldAtMs < AGAIN_AFTER_MS) return;
    if (told.size >= MAX_KNOWN) told.clear();
    this.#toldAtMs.set(message, told.set(sameness, nowMs));
    this.#log.event(level, message, fields);
  }

  /** It is over: if it happens again, that is news. */
  forget(message: string): void {
    this.#toldAtMs.delete(message);
  }
}

/** Gives each alert once: for a budget, a group and a period, over restarts too. */
import { alertOf, isAlertDue, type UsageAlert } from './alert.ts';
import type { BudgetState } from './budget-status.ts';

export interface AlertsOptions {
  /** Tells whoever shall know. Resolves when that is done, or given up: the alert counts as given then. */
  readonly give: (alert: UsageAlert) => Promise<void>;
  readonly emailsOf: (state: BudgetState) => readonly string[];
}

/** More wait until some are given. */
const AT_ONCE = 64;

export class Alerts {
  readonly #options: AlertsOptions;
  readonly #given = new Set<string>();
  readonly #giving = new Set<string>();
  #count = 0;

  constructor(options: AlertsOptions) {
    this.#options = options;
  }

  /** Given by this process. */
  get count(): number {
    return this.#count;
  }

  /** Keys of the budgets whose alert of this period is given, and shall not be given again after a restart. */
  get given(): ReadonlySet<string> {
    return this.#given;
  }

  /** Given before, by whomever. */
  restore(keys: Iterable<string>): void {
    for (const key of keys) this.#given.add(key);
  }

  /** Given, or about to be. */
  isAlerted(key: string): boolean {
    return this.#given.has(key) || this.#giving.has(key);
  }

  check(states: Iterable<BudgetState>): void {
    for (const state of states) {
      if (!isAlertDue(state) || this.isAlerted(state.key)) continue;
      if (this.#giving.size >= AT_ONCE) return;
      void this.#give(state);
    }
  }

  /** Forgets what cannot come again. */
  keepOnly(isKept: (key: string) => boolean): void {
    for (const key of this.#given) if (!isKept(key)) this.#given.delete(key);
  }

  async #give(state: BudgetState): Promise<void> {
    const { give, emailsOf } = this.#options;
    this.#giving.add(state.key);
    this.#count += 1;
    await give(alertOf(state, emailsOf(state)));
    this.#given.add(state.key);
    this.#giving.delete(state.key);
  }
}

/** What statuses say of budgets: the same object again until it is time for another. */
import type { ObjectStatus, StatusFields } from '../compile/status.ts';
import { identityOf } from '../world.ts';
import { type BudgetState, type UsageFields, usageFields } from './budget-status.ts';

interface Shown {
  readonly fields: UsageFields;
  /** Equal where the fields would be. */
  readonly signature: string;
  readonly atMs: number;
}

const HAVE_BUDGETS: ReadonlySet<string> = new Set(['UsageLimitPolicy', 'ApiKey', 'Integration', 'Workspace']);
/** Takes away what was said before. */
const NO_BUDGET: StatusFields = { usage: undefined, state: undefined };
/** From one change of a status to the next. */
const EVERY_MS = 10_000;
/** Statuses that change at one time: the API server has other work too. */
const AT_ONCE = 100;

export class ShownUsage {
  /** The longest unchanged first. */
  readonly #shown = new Map<string, Shown>();

  /** Objects that have budgets; undefined: that is not known. */
  #limited: ReadonlySet<string> | undefined;

  /** undefined: what is stored of the object may stay. */
  fieldsOf(status: ObjectStatus): StatusFields | undefined {
    if (!HAVE_BUDGETS.has(status.kind) || this.#limited === undefined) return undefined;
    const identity = identityOf(status);
    const shown = this.#shown.get(identity);
    if (shown !== undefined) return shown.fields as unknown as StatusFields;
    return this.#limited.has(identity) ? undefined : NO_BUDGET;
  }

  /** Of all budgets, how many are spent. */
  get exhausted(): number {
    let count = 0;
    for (const { fields } of this.#shown.values()) if (fields.state === 'exhausted') count += 1;
    return count;
  }

  get size(): number {
    return this.#shown.size;
  }

  /** Whether any is shown otherwise now. What is too much for now comes later. */
  update(
    states: ReadonlyMap<string, readonly BudgetState[]>,
    isAlerted: (key: string) => boolean,
    nowMs: number,
  ): boolean {
    this.#limited = new Set(states.keys());
    const gone = [...this.#shown.keys()].filter((identity) => !states.has(identity));
    for (const identity of gone) this.#shown.delete(identity);
    const due = this.#due(states, isAlerted, nowMs);
    for (const identity of due) this.#show(identity, states.get(identity) ?? [], isAlerted, nowMs);
    return gone.length + due.length > 0;
  }

  /** Changed since they were shown, the longest ago first; then those that never were. */
  #due(
    states: ReadonlyMap<string, readonly BudgetState[]>,
    isAlerted: (key: string) => boolean,
    nowMs: number,
  ): readonly string[] {
    const due: string[] = [];
    for (const [identity, { atMs, signature }] of this.#shown) {
      if (nowMs - atMs < EVERY_MS || due.length >= AT_ONCE) break;
      if (signatureOf(states.get(identity) ?? [], isAlerted) !== signature) due.push(identity);
    }
    for (const identity of states.keys()) {
      if (due.length >= AT_ONCE) break;
      if (!this.#shown.has(identity)) due.push(identity);
    }
    return due;
  }

  #show(identity: string, states: readonly BudgetState[], isAlerted: (key: string) => boolean, atMs: number): void {
    this.#shown.delete(identity);
    const fields = usageFields(states, isAlerted);
    this.#shown.set(identity, { fields, signature: signatureOf(states, isAlerted), atMs });
  }
}

function signatureOf(states: readonly BudgetState[], isAlerted: (key: string) => boolean): string {
  return states
    .map(({ record, key, used }) => {
      const { path, type, credit_limit: limit, alert_threshold: threshold, reset } = record;
      return `${key} ${used} ${isAlerted(key)} ${path} ${type} ${limit} ${threshold} ${JSON.stringify(reset)}`;
    })
    .join('\n');
}

/** What policies say while the store of their counts is away. */
import type { Condition, ObjectStatus } from '../compile/status.ts';

const POLICIES: ReadonlySet<string> = new Set(['RateLimitPolicy', 'UsageLimitPolicy']);
const MESSAGE = 'the store of the counts is away: each gateway counts by itself, and keeps to its share';
/** What passes sooner is not told. */
const AFTER_MS = 10_000;

export class StoreWarning {
  #isDegraded = false;
  #otherSinceMs: number | undefined;
  readonly #warned = new WeakMap<ObjectStatus, ObjectStatus>();

  /** `isDegraded`: some gateway says so now. Whether another thing is to be told from now on. */
  heard(isDegraded: boolean, nowMs: number): boolean {
    if (isDegraded === this.#isDegraded) {
      this.#otherSinceMs = undefined;
      return false;
    }
    this.#otherSinceMs ??= nowMs;
    if (nowMs - this.#otherSinceMs < AFTER_MS) return false;
    this.#isDegraded = isDegraded;
    this.#otherSinceMs = undefined;
    return true;
  }

  /** The same again where nothing is to be added. */
  told(statuses: readonly ObjectStatus[]): readonly ObjectStatus[] {
    if (!this.#isDegraded) return statuses;
    return statuses.map((status) => (POLICIES.has(status.kind) ? this.#warn(status) : status));
  }

  #warn(status: ObjectStatus): ObjectStatus {
    const known = this.#warned.get(status);
    if (known !== undefined) return known;
    const warned = { ...status, conditions: withWarning(status.conditions) };
    this.#warned.set(status, warned);
    return warned;
  }
}

function withWarning(conditions: readonly Condition[]): readonly Condition[] {
  const others = conditions.filter(({ type }) => type !== 'Warning');
  const before = conditions.find(({ type }) => type === 'Warning');
  const warning: Condition =
    before === undefined
      ? { type: 'Warning', status: 'True', reason: 'StoreDegraded', message: MESSAGE }
      : { ...before, message: `${before.message}; ${MESSAGE}` };
  return [...others, warning];
}

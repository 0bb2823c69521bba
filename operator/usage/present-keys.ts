/** Which counts are still of use. */
import { budgetKey, readBudgetKey } from '#crds/limits/counter-key.ts';
import { periodAt } from '#crds/limits/period.ts';
import type { UsageLimitRecord } from '#crds/snapshot/contract.ts';
import type { BudgetShare } from '#crds/snapshot/shares.ts';

/** Gateways' clocks may be ahead, and their snapshots behind. */
const AHEAD_MS = 60_000;

/**
 * Keys of budgets that hold now, in their present period or the one that is about to begin. A limit that is gone, or that counts
 * anew, takes its counts along.
 */
export function presentKeys(records: readonly UsageLimitRecord[], nowMs: number): (key: string) => boolean {
  const byId = new Map(records.map((record) => [record.id, record]));
  return (key) => {
    const read = readBudgetKey(key);
    const record = read && byId.get(read.id);
    if (read === undefined || record === undefined) return false;
    return [nowMs, nowMs + AHEAD_MS].some(
      (timeMs) => budgetKey(record, periodAt(record.reset, timeMs).startMs, read.group) === key,
    );
  };
}

/** At most so many: those of the oldest periods go first, and of those the least used. */
export function fitted(budgets: readonly BudgetShare[], most: number): readonly BudgetShare[] {
  if (budgets.length <= most) return budgets;
  const startOf = ({ key }: BudgetShare) => readBudgetKey(key)?.periodStartMs ?? 0;
  const byNeed = [...budgets].sort((a, b) => startOf(b) - startOf(a) || compareAmounts(b.used, a.used));
  return byNeed.slice(0, most).sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Decimal digits without leading zeros. */
function compareAmounts(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

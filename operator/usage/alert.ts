/** What is told when a budget has used as much as its owner wants to hear of. */
import { createHash } from 'node:crypto';
import { amountOf, type BudgetState, picosOf, timeOf } from './budget-status.ts';

/** As the webhook gets it. */
export interface UsageAlert {
  readonly type: 'usage_alert';
  /** The same for one budget, group and period, however often it is told: who gets it twice can tell. */
  readonly id: string;
  readonly object: { readonly kind: string; readonly namespace: string; readonly name: string; readonly limit: string };
  readonly label: string;
  /** Whose requests the budget is about: a namespace, or `*` for all. */
  readonly workspace: string;
  /** Values by the keys of `group_by`; null: nothing is grouped. */
  readonly group: Readonly<Record<string, string>> | null;
  /** `cost`: US dollars. */
  readonly unit: 'cost' | 'tokens';
  readonly used: number;
  readonly credit_limit: number;
  readonly alert_threshold: number;
  /** RFC 3339; null: the period has none. */
  readonly period_start: string | null;
  readonly period_end: string | null;
  readonly alert_emails: readonly string[];
}

/** Whether so much was used that an alert is due. */
export function isAlertDue({ record: { type, alert_threshold: threshold }, used }: BudgetState): boolean {
  if (threshold === undefined || used === 0n) return false;
  return used >= (type === 'tokens' ? BigInt(Math.ceil(threshold)) : picosOf(threshold));
}

export function alertOf(state: BudgetState, emails: readonly string[]): UsageAlert {
  const { record, key, group, period, used } = state;
  const { kind, namespace, name, path, label, workspace, type, credit_limit, alert_threshold = 0 } = record;
  const groups = record.group_by.map((groupKey, index) => [groupKey, group[index] ?? ''] as const);
  return {
    type: 'usage_alert',
    id: createHash('sha256').update(key).digest('hex').slice(0, 32),
    object: { kind, namespace, name, limit: path },
    label,
    workspace,
    group: groups.length === 0 ? null : Object.fromEntries(groups),
    unit: type,
    used: amountOf(type, used),
    credit_limit,
    alert_threshold,
    period_start: period.endMs === undefined ? null : timeOf(period.startMs),
    period_end: period.endMs === undefined ? null : timeOf(period.endMs),
    alert_emails: emails,
  };
}

/** One line for people. */
export function alertNote({
  label,
  group,
  unit,
  used,
  credit_limit: limit,
  alert_threshold: threshold,
}: UsageAlert): string {
  const of =
    group === null
      ? ''
      : ` by ${Object.entries(group)
          .map(([key, value]) => `${key} ${value}`)
          .join(', ')}`;
  const shown = (amount: number) => (unit === 'cost' ? `${amount} USD` : `${amount} tokens`);
  return `${label}: ${shown(used)} of ${shown(limit)} used${of}; the alert is at ${shown(threshold)}`;
}

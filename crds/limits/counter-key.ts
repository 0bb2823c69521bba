/**
 * What names the counts of a limit: which limit, which period, which reset, which group. Replicas, restarts and the operator find
 * the same text. Parts are divided by "|"; what would be taken for a divider, or cannot be printed, is written as %XX.
 */
import { createHash } from 'node:crypto';

/** Of a record of the snapshot. */
interface Resettable {
  readonly id: string;
  readonly reset_token: string;
  readonly group_reset_tokens: Readonly<Record<string, string>>;
}

export interface BudgetKey {
  /** Of the limit's record. */
  readonly id: string;
  /** Unix milliseconds; 0: of a period that never ends. */
  readonly periodStartMs: number;
  readonly resetToken: string;
  /** Values in order of `group_by`. */
  readonly group: readonly string[];
}

/** Names one group of a limit where its values cannot stand, such as in the name of an annotation: 16 hex digits. */
export function groupIdOf(values: readonly string[]): string {
  return createHash('sha256').update(values.map(escaped).join('|')).digest('hex').slice(0, 16);
}

/** Key of a budget's counter: another one for each period, each reset and each group. `group`: values in order of `group_by`. */
export function budgetKey(record: Resettable, periodStartMs: number, group: readonly string[]): string {
  return joined([record.id, String(periodStartMs), resetTokenOf(record, group), ...group]);
}

/** Key of a rate limit's counter; a limit of another unit counts anew. */
export function rateKey(record: { readonly id: string; readonly unit: string }, group: readonly string[]): string {
  return joined([record.id, record.unit, '', ...group]);
}

/** Changes with each reset of all groups, and with each of this one. */
export function resetTokenOf(record: Resettable, group: readonly string[]): string {
  const { group_reset_tokens: tokens } = record;
  const own = Object.keys(tokens).length === 0 ? undefined : tokens[groupIdOf(group)];
  return own === undefined ? record.reset_token : `${record.reset_token}+${own}`;
}

/** undefined: it is no key of a budget. */
export function readBudgetKey(key: string): BudgetKey | undefined {
  const [id, start, resetToken, ...group] = key.split('|').map(unescaped);
  if (id === undefined || resetToken === undefined || start === undefined || !/^-?\d{1,16}$/.test(start))
    return undefined;
  return { id, periodStartMs: Number(start), resetToken, group };
}

function joined(parts: readonly string[]): string {
  return parts.map(escaped).join('|');
}

const DIVIDING = /[%|\p{Cc}]/gu;

function escaped(part: string): string {
  const text = part.toWellFormed();
  return text.replace(DIVIDING, (found) => `%${found.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function unescaped(part: string): string {
  return part.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

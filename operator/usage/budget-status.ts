/** What was used of each budget -> what the statuses of their objects say. Pure; all times Unix milliseconds. */
import { budgetKey, groupIdOf, readBudgetKey } from '#crds/limits/counter-key.ts';
import { type Period, periodAt } from '#crds/limits/period.ts';
import { MAX_USAGE_ENTRIES, type UsageEntry } from '#crds/limits/usage-status.ts';
import type { UsageLimitRecord } from '#crds/snapshot/contract.ts';
import { identityOf } from '../world.ts';

/** One budget of one group in its present period. */
export interface BudgetState {
  readonly record: UsageLimitRecord;
  readonly key: string;
  readonly group: readonly string[];
  readonly period: Period;
  /** Tokens, or 1e-12 US dollars. */
  readonly used: bigint;
}

/** Of a status; named as in the manifests. */
export interface UsageFields {
  readonly usage: readonly UsageEntry[];
  readonly state: 'active' | 'exhausted';
}

const DECIMALS = 12;
const UNIT = 10n ** BigInt(DECIMALS);

/** Keys of present periods, by the object that they belong to; what is of another period, reset or object is left out. */
export function budgetStates(
  records: readonly UsageLimitRecord[],
  keys: Iterable<string>,
  usedOf: (key: string) => bigint,
  nowMs: number,
): ReadonlyMap<string, readonly BudgetState[]> {
  const states = new Map<string, BudgetState[]>();
  const byId = new Map<string, { record: UsageLimitRecord; period: Period; list: BudgetState[] }>();
  for (const record of records) {
    const identity = identityOf({ kind: record.kind, namespace: record.namespace, name: record.name });
    const list = states.get(identity) ?? [];
    states.set(identity, list);
    const period = periodAt(record.reset, nowMs);
    byId.set(record.id, { record, period, list });
    if (record.group_by.length > 0) continue;
    const key = budgetKey(record, period.startMs, []);
    list.push({ record, key, group: [], period, used: usedOf(key) });
  }
  for (const key of keys) {
    const read = readBudgetKey(key);
    const known = read && byId.get(read.id);
    if (known === undefined || read === undefined || known.record.group_by.length === 0) continue;
    const { record, period, list } = known;
    if (budgetKey(record, period.startMs, read.group) !== key) continue;
    list.push({ record, key, group: read.group, period, used: usedOf(key) });
  }
  return states;
}

/** `isAlerted`: whether the alert of this key was given. */
export function usageFields(states: readonly BudgetState[], isAlerted: (key: string) => boolean): UsageFields {
  const entries = states.map((state) => entryOf(state, isAlerted(state.key)));
  const isSpent = entries.some(({ remaining }) => remaining <= 0);
  const shown = entries.length > MAX_USAGE_ENTRIES ? entries.sort(byPart).slice(0, MAX_USAGE_ENTRIES) : entries;
  return { usage: shown.sort(byName), state: isSpent ? 'exhausted' : 'active' };
}

/** US dollars or tokens, as people count them. */
export function amountOf(type: UsageLimitRecord['type'], used: bigint): number {
  return type === 'tokens' ? Number(used) : Number(decimalOf(used));
}

/** When the period began: by its own reckoning, or by a reset whose word is a time. */
export function resetAt({ record, period, key }: Pick<BudgetState, 'record' | 'period' | 'key'>): string | undefined {
  const token = readBudgetKey(key)?.resetToken ?? '';
  const words =
    token === record.reset_token ? [token] : [record.reset_token, token.slice(record.reset_token.length + 1)];
  const times = words.map((word) => (/^\d{4}-\d\d-\d\dT/.test(word) ? Date.parse(word) : Number.NaN));
  const startMs = Math.max(period.endMs === undefined ? 0 : period.startMs, ...times.filter((ms) => !Number.isNaN(ms)));
  return startMs === 0 ? undefined : timeOf(startMs);
}

/** RFC 3339, to the second. */
export function timeOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

function entryOf(state: BudgetState, alerted: boolean): UsageEntry {
  const { record, group, period, used } = state;
  const amount = amountOf(record.type, used);
  const limit = record.type === 'tokens' ? BigInt(Math.floor(record.credit_limit)) : picosOf(record.credit_limit);
  const left = limit - used;
  const beganAt = resetAt(state);
  return {
    limit: record.path,
    ...(record.group_by.length === 0 ? {} : { group: group.join(', ').slice(0, 4_096), group_id: groupIdOf(group) }),
    type: record.type,
    used: amount,
    remaining: left <= 0n ? 0 : amountOf(record.type, left),
    credit_limit: record.credit_limit,
    ...(record.alert_threshold === undefined ? {} : { alerted }),
    ...(beganAt === undefined ? {} : { last_reset_at: beganAt }),
    ...(period.endMs === undefined ? {} : { next_usage_reset_at: timeOf(period.endMs) }),
  };
}

/** Whole units of 1e-12 US dollars. */
export function picosOf(dollars: number): bigint {
  const [whole = '0', fraction = ''] = dollars.toFixed(DECIMALS).split('.');
  return BigInt(whole) * UNIT + BigInt(fraction.padEnd(DECIMALS, '0'));
}

function decimalOf(picos: bigint): string {
  return `${picos / UNIT}.${String(picos % UNIT).padStart(DECIMALS, '0')}`;
}

/** Nearest to their end first. */
function byPart(a: UsageEntry, b: UsageEntry): number {
  return partOf(b) - partOf(a);
}

function partOf({ used, credit_limit: limit }: UsageEntry): number {
  return limit === 0 ? Number.POSITIVE_INFINITY : used / limit;
}

function byName(a: UsageEntry, b: UsageEntry): number {
  const [one, other] = [`${a.limit}\n${a.group ?? ''}`, `${b.limit}\n${b.group ?? ''}`];
  return one < other ? -1 : one > other ? 1 : 0;
}

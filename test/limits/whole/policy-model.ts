/** What policies mean, said a second time: which requests they are about, and how much of them. Knows nothing of how it is done. */

import type { Reset } from '#crds/limits/period.ts';
import { periodAt } from '#crds/limits/period.ts';

/** A request as policies see it. */
export interface Traits {
  readonly api_key: string;
  readonly model: string;
  readonly team: string | undefined;
}

export interface Condition {
  readonly key: string;
  readonly value: string | readonly string[];
  readonly excludes?: string | readonly string[];
}

interface Scope {
  readonly name: string;
  readonly conditions: readonly Condition[];
  readonly groupBy: readonly string[];
}

export interface RatePolicy extends Scope {
  readonly kind: 'RateLimitPolicy';
  readonly type: 'requests' | 'tokens';
  readonly unit: keyof typeof WINDOW_MS;
  readonly value: number;
}

export interface UsagePolicy extends Scope {
  readonly kind: 'UsageLimitPolicy';
  readonly type: 'cost' | 'tokens';
  /** Tokens, or 1e-12 US dollars. */
  readonly limit: number;
  readonly reset: 'never' | 'weekly' | 'monthly' | number;
}

export type Policy = RatePolicy | UsagePolicy;

/** What one request took. */
export interface Amounts {
  readonly requests: number;
  readonly tokens: number;
  /** 1e-12 US dollars. */
  readonly cost: number;
}

/** One that was let in. */
export interface Taken {
  readonly traits: Traits;
  /** Of the store. */
  readonly atMs: number;
  /** Of the replica. */
  readonly clockMs: number;
  /** Policies of its snapshot, by name. */
  readonly policies: ReadonlySet<string>;
  readonly amounts: Amounts;
  /** What could be known before. */
  readonly reserved: Amounts;
}

export const WINDOW_MS = { rpm: 60_000, rph: 3_600_000, rpd: 86_400_000, rpw: 604_800_000 } as const;
export const PICO = 1e12;

function traitOf({ api_key, model, team }: Traits, key: string): string | undefined {
  const known: Readonly<Record<string, string | undefined>> = {
    api_key,
    model,
    'metadata.team': team,
    workspace_id: 'default',
    endpoint_type: 'chatComplete',
    provider: 'openai',
  };
  return known[key];
}

const many = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** The values of its group; undefined: it is not about this request. */
export function groupOf({ conditions, groupBy }: Policy, traits: Traits): string | undefined {
  for (const { key, value, excludes } of conditions) {
    const trait = traitOf(traits, key);
    if (trait === undefined || many(excludes).includes(trait)) return undefined;
    if (!many(value).some((wanted) => wanted === '*' || wanted === trait)) return undefined;
  }
  const values = groupBy.map((key) => traitOf(traits, key));
  return values.includes(undefined) ? undefined : JSON.stringify(values);
}

/** All that counts together: of one policy, one group, and of a budget one period. */
export function countersOf(policy: Policy, taken: readonly Taken[]): ReadonlyMap<string, readonly Taken[]> {
  const found = new Map<string, Taken[]>();
  for (const one of taken) {
    const group = one.policies.has(policy.name) ? groupOf(policy, one.traits) : undefined;
    if (group === undefined) continue;
    const counter = `${group} ${policy.kind === 'UsageLimitPolicy' ? periodOf(policy, one.clockMs) : ''}`;
    const list = found.get(counter) ?? [];
    list.push(one);
    found.set(counter, list);
  }
  return found;
}

function periodOf({ reset }: UsagePolicy, clockMs: number): number {
  const every: Reset = typeof reset === 'number' ? { every: 'days', days: reset, anchor_ms: 0 } : { every: reset };
  return periodAt(every, clockMs).startMs;
}

/** The most that was let in within any span of the window, beyond the value; not above 0: it was kept. */
export function rateExcess({ type, unit, value }: RatePolicy, taken: readonly Taken[]): number {
  let most = 0;
  for (const { atMs: fromMs } of taken) {
    const within = taken.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + WINDOW_MS[unit]);
    most = Math.max(most, sumOf(within, type) - errorOf(within, type));
  }
  return most - value;
}

export function budgetExcess({ type, limit }: UsagePolicy, taken: readonly Taken[]): number {
  return sumOf(taken, type) - errorOf(taken, type) - limit;
}

/** Whether a request that needs `need` had to be refused, after all these and nothing under way. */
export function isFull(policy: Policy, taken: readonly Taken[], asked: Omit<Taken, 'amounts'>): boolean {
  const group = groupOf(policy, asked.traits);
  if (group === undefined || !asked.policies.has(policy.name)) return false;
  const counter = `${group} ${policy.kind === 'UsageLimitPolicy' ? periodOf(policy, asked.clockMs) : ''}`;
  const counted = countersOf(policy, taken).get(counter) ?? [];
  const need = asked.reserved[policy.type];
  if (policy.kind === 'UsageLimitPolicy') return sumOf(counted, policy.type) + need > policy.limit;
  const recent = counted.filter(({ atMs }) => atMs > asked.atMs - WINDOW_MS[policy.unit]);
  return sumOf(recent, policy.type) + need > policy.value;
}

function sumOf(taken: readonly Taken[], type: keyof Amounts): number {
  return taken.reduce((sum, { amounts }) => sum + amounts[type], 0);
}

/** What upstreams served beyond what they were asked for: nobody could reserve it. */
function errorOf(taken: readonly Taken[], type: keyof Amounts): number {
  return taken.reduce((sum, { amounts, reserved }) => sum + Math.max(0, amounts[type] - reserved[type]), 0);
}

/** As a manifest has it. */
export function specOf(policy: Policy): object {
  const about = { conditions: policy.conditions, group_by: policy.groupBy.map((key) => ({ key })) };
  if (policy.kind === 'RateLimitPolicy') {
    const { type, unit, value } = policy;
    return { ...about, type, unit, value };
  }
  const { type, limit, reset } = policy;
  const periodic = typeof reset === 'number' ? { periodic_reset_days: reset } : { periodic_reset: reset };
  return {
    ...about,
    type,
    credit_limit: type === 'cost' ? limit / PICO : limit,
    ...(reset === 'never' ? {} : periodic),
  };
}

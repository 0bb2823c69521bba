/** What `/usage` of the admin port says: how much was used of each budget, and when each key was used last. */
import { readBudgetKey } from '#crds/limits/counter-key.ts';

export interface UsageStore {
  /** `own`: what this process used since it started. `total`: what all replicas used. Default `own`. */
  readonly mode?: 'own' | 'total';
  /** Default `ok`. */
  state?(): 'ok' | 'degraded';
  /** Amounts that are settled, by the counter's key. */
  usage?(): Iterable<BudgetUse> | Promise<Iterable<BudgetUse>>;
}

export interface BudgetUse {
  readonly key: string;
  /** Tokens, or 1e-12 US dollars. */
  readonly used: bigint;
}

export interface KeyUse {
  readonly namespace: string;
  readonly name: string;
  readonly last_used_at_ms: number;
}

export interface UsageSources {
  /** Of this process. */
  readonly incarnation: string;
  readonly store: UsageStore;
  readonly sharesVersion: number;
  readonly lastUsed: Iterable<KeyUse> | undefined;
}

export interface UsagePage {
  readonly incarnation: string;
  readonly mode: 'own' | 'total';
  readonly store: { readonly state: 'ok' | 'degraded' };
  /** Version of the shares that it goes by; 0: none. */
  readonly shares_version: number;
  readonly budgets: readonly PageBudget[];
  readonly keys?: readonly KeyUse[];
}

export interface PageBudget {
  readonly key: string;
  /** Of the limit's record. */
  readonly id: string;
  readonly group: readonly string[];
  readonly period_start_ms: number;
  /** Decimal digits. */
  readonly used: string;
}

export async function usagePage({ incarnation, store, sharesVersion, lastUsed }: UsageSources): Promise<UsagePage> {
  const used = (await store.usage?.()) ?? [];
  return {
    incarnation,
    mode: store.mode ?? 'own',
    store: { state: store.state?.() ?? 'ok' },
    shares_version: sharesVersion,
    budgets: budgetsOf(used),
    ...(lastUsed === undefined ? {} : { keys: [...lastUsed] }),
  };
}

function budgetsOf(uses: Iterable<BudgetUse>): readonly PageBudget[] {
  const budgets: PageBudget[] = [];
  for (const { key, used } of uses) {
    const read = readBudgetKey(key);
    if (read === undefined) continue;
    const { id, group, periodStartMs } = read;
    budgets.push({ key, id, group, period_start_ms: periodStartMs, used: String(used) });
  }
  return budgets;
}

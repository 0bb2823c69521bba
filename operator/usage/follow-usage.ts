/**
 * Asks the gateways what they counted, again and again; tells them of one another, the owners of budgets what was used, and
 * whoever wants to hear of it when that is much. Only the operator that leads does any of it.
 */
import type { ApiClient } from '#crds/api/api-client.ts';
import type { UsageLimitRecord } from '#crds/snapshot/contract.ts';
import { SHARES_FORMAT, type Shares } from '#crds/snapshot/shares.ts';
import type { ObjectStatus, StatusFields } from '../compile/status.ts';
import type { Owner, Place } from '../publish/snapshot-objects.ts';
import type { Endpoint } from '../replicas/endpoints.ts';
import { Wakeup } from '../wakeup.ts';
import type { UsageAlert } from './alert.ts';
import { Alerts } from './alerts.ts';
import { type BudgetState, budgetStates } from './budget-status.ts';
import { type FetchUsage, type Heard, hearAll, openUsageFetcher } from './fetch-usage.ts';
import { isOvertaken, KeptShares, SharesTooLarge } from './kept-shares.ts';
import { fitted, presentKeys } from './present-keys.ts';
import { ShownUsage } from './shown-usage.ts';
import { StoreWarning } from './store-warning.ts';
import { UsageSums } from './sums.ts';
import type { UsagePage } from './usage-page.ts';

export interface FollowUsageOptions extends Place {
  readonly client: ApiClient;
  readonly owner: () => Owner;
  /** Asked before each write. */
  readonly mayWrite: () => boolean;
  /** Names of those that are ready, in order. */
  readonly replicas: () => readonly string[];
  /** All gateways that there are. */
  readonly endpoints: () => readonly Endpoint[];
  /** Where an endpoint has no port of its own. */
  readonly adminPort: number;
  /** Budgets that hold now; undefined: not known yet. */
  readonly limits: () => readonly UsageLimitRecord[] | undefined;
  /** See `Alerts`. */
  readonly give: (alert: UsageAlert) => Promise<void>;
  readonly emailsOf: (state: BudgetState) => readonly string[];
  /** When keys were used last, as the gateways tell. true: what is said of one is another thing. */
  readonly onKeyUses: (uses: NonNullable<UsagePage['keys']>) => boolean;
  /** What is said of objects is another thing. */
  readonly onChange: () => void;
  readonly onFault: (error: Error) => void;
  readonly onDefect: (error: unknown) => void;
  /** Default: by HTTP. */
  readonly fetchUsage?: FetchUsage | undefined;
}

export interface UsageCounts {
  /** Alerts that this process gave. */
  readonly alerts: number;
  /** Objects with budgets, and those of which a budget is spent. */
  readonly limited: number;
  readonly exhausted: number;
}

const EVERY_MS = 2_000;
/** What others did to the shares is found, and mended. */
const REVIEW_MS = 60_000;
const TOO_LARGE_FACTOR = 0.75;
const MAX_BUDGETS = 20_000;

export class UsageFollower {
  readonly warning = new StoreWarning();
  readonly #options: FollowUsageOptions;
  readonly #fetcher: { readonly ask: FetchUsage; close?(): Promise<void> };
  readonly #wakeup: Wakeup;
  readonly #kept: KeptShares;
  readonly #alerts: Alerts;
  readonly #shown = new ShownUsage();
  #sums = new UsageSums();
  /** As a shared store says. */
  #totals: ReadonlyMap<string, bigint> | undefined;
  /** Whether it goes on from what is stored. */
  #isRestored = false;
  #reviewedMs = 0;
  #version = 0;
  /** What is stored, without its version. */
  #published = '';
  #mostBudgets = MAX_BUDGETS;

  constructor(options: FollowUsageOptions) {
    const { fetchUsage, give, emailsOf, onDefect } = options;
    this.#options = options;
    this.#fetcher = fetchUsage === undefined ? openUsageFetcher() : { ask: fetchUsage };
    this.#kept = new KeptShares(options);
    this.#alerts = new Alerts({ give, emailsOf });
    this.#wakeup = new Wakeup(() => this.#turn(), { delayMs: 0, everyMs: EVERY_MS, onDefect });
    this.#wakeup.wake();
  }

  get counts(): UsageCounts {
    return { alerts: this.#alerts.count, limited: this.#shown.size, exhausted: this.#shown.exhausted };
  }

  /** For the status of an object; undefined: nothing is known. */
  readonly fieldsOf = (status: ObjectStatus): StatusFields | undefined => this.#shown.fieldsOf(status);

  async close(): Promise<void> {
    this.#wakeup.close();
    await this.#fetcher.close?.();
  }

  async #turn(): Promise<void> {
    const startedMs = performance.now();
    try {
      if (this.#options.mayWrite()) await this.#follow();
      else this.#isRestored = false;
    } catch (error) {
      if (isOvertaken(error)) this.#isRestored = false;
      this.#options.onFault(error as Error);
    }
    this.#wakeup.wake(Math.max(0, EVERY_MS - (performance.now() - startedMs)));
  }

  async #follow(): Promise<void> {
    const limits = this.#options.limits();
    if (limits === undefined) return;
    const nowMs = Date.now();
    await this.#restore(nowMs);
    const { endpoints, adminPort, mayWrite, onChange } = this.#options;
    const all = endpoints();
    const heard = await hearAll(all, adminPort, this.#fetcher.ask);
    if (!mayWrite()) return;
    this.#sum(heard, new Set(all.map(({ name }) => name)), nowMs);
    const states = this.#statesOf(limits, nowMs);
    this.#alerts.check([...states.values()].flat());
    const isWarned = this.warning.heard(
      heard.some(({ page }) => page.store.state === 'degraded'),
      nowMs,
    );
    const isShown = this.#shown.update(states, (key) => this.#alerts.isAlerted(key), nowMs);
    const isUsed = this.#options.onKeyUses(heard.flatMap(({ page }) => page.keys ?? []));
    if (isWarned || isShown || isUsed) onChange();
    await this.#publish();
  }

  /** From what is stored: when this operator begins to lead, when somebody else wrote, and now and then. */
  async #restore(nowMs: number): Promise<void> {
    if (this.#isRestored && nowMs - this.#reviewedMs < REVIEW_MS) return;
    const stored = await this.#kept.read();
    this.#reviewedMs = nowMs;
    const text = stored === undefined ? '' : textOf(stored);
    if (this.#isRestored && text === this.#published) return;
    this.#published = text;
    this.#version = Math.max(this.#version, stored?.version ?? 0);
    // What this operator knows while it leads is more than what somebody else left of it.
    if (this.#isRestored) return;
    this.#sums = new UsageSums();
    if (stored !== undefined) {
      this.#sums.restore(stored, nowMs);
      this.#alerts.restore(stored.budgets.flatMap(({ key, alerted }) => (alerted === true ? [key] : [])));
    }
    this.#isRestored = true;
  }

  #sum(heard: readonly Heard[], pods: ReadonlySet<string>, nowMs: number): void {
    const totals = heard.filter(({ page }) => page.mode === 'total' && page.store.state === 'ok');
    for (const { pod, page } of heard) {
      this.#version = Math.max(this.#version, page.shares_version);
      if (page.mode === 'own') this.#sums.heard(pod, page.incarnation, page.budgets, nowMs);
    }
    this.#sums.present(pods, nowMs);
    if (totals.length > 0) this.#totals = largestOf(totals);
    else if (heard.some(({ page }) => page.mode === 'own')) this.#totals = undefined;
  }

  #statesOf(limits: readonly UsageLimitRecord[], nowMs: number): ReadonlyMap<string, readonly BudgetState[]> {
    const isPresent = presentKeys(limits, nowMs);
    this.#sums.keepOnly(isPresent);
    this.#alerts.keepOnly(isPresent);
    const totals = this.#totals;
    return totals === undefined
      ? budgetStates(limits, this.#sums.keys(), (key) => this.#sums.used(key), nowMs)
      : budgetStates(limits, totals.keys(), (key) => totals.get(key) ?? 0n, nowMs);
  }

  async #publish(): Promise<void> {
    const { replicas, mayWrite } = this.#options;
    const { processes, budgets } = this.#totals === undefined ? this.#sums.published() : totalsOf(this.#totals);
    const marked = budgets.map((budget) =>
      this.#alerts.given.has(budget.key) ? { ...budget, alerted: true as const } : budget,
    );
    const rest = { replicas: [...replicas()], processes, budgets: fitted(marked, this.#mostBudgets) };
    const text = textOf(rest);
    if (text === this.#published || !mayWrite()) return;
    try {
      await this.#kept.write({ format: SHARES_FORMAT, version: this.#version + 1, ...rest });
    } catch (error) {
      if (error instanceof SharesTooLarge) this.#mostBudgets = Math.floor(rest.budgets.length * TOO_LARGE_FACTOR);
      throw error;
    }
    this.#version += 1;
    this.#published = text;
  }
}

function textOf({ replicas, processes, budgets }: Pick<Shares, 'replicas' | 'processes' | 'budgets'>): string {
  return JSON.stringify([replicas, processes, budgets]);
}

/** All ask the same store, one a little later than the other. */
function largestOf(heard: readonly Heard[]): ReadonlyMap<string, bigint> {
  const totals = new Map<string, bigint>();
  for (const { page } of heard) {
    for (const { key, used } of page.budgets) {
      const amount = BigInt(used);
      if (amount > (totals.get(key) ?? 0n)) totals.set(key, amount);
    }
  }
  return totals;
}

function totalsOf(totals: ReadonlyMap<string, bigint>): Pick<Shares, 'processes' | 'budgets'> {
  const budgets = [...totals].map(([key, used]) => ({ key, used: String(used) }));
  return { processes: [], budgets: budgets.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

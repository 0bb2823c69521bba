/**
 * One of several replicas that share a store: takes what it can get, and tells on standard output what it got and when. Arguments:
 * URL of the store, prefix, value and window of a rate limit, limit of a budget.
 */
import { writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { budget, rate, take } from './counters.ts';
import { openShared } from './shared-store.ts';

/** Unix milliseconds. Of an admission both; it happened between them. */
export interface Told {
  readonly kind: 'admitted' | 'settled' | 'refused';
  readonly sentMs: number;
  readonly gotMs: number;
  /** Of the rate limit, and of the budget. */
  readonly amount: number;
  readonly cost: number;
}

const LANES = 8;

function tell(told: Told): void {
  writeSync(1, `${JSON.stringify(told)}\n`);
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

const nowMs = (): number => performance.timeOrigin + performance.now();

async function replica([
  url = '',
  prefix = '',
  value = '',
  windowMs = '',
  limit = '',
]: readonly string[]): Promise<void> {
  const store = await openShared({ url, caFile: undefined }, { prefix });
  const counters = [rate('rate', Number(value), Number(windowMs)), budget('money', BigInt(limit))] as const;
  const lane = async () => {
    for (;;) {
      const [amount, cost] = [1 + below(10), 1 + below(1_000)];
      const sentMs = nowMs();
      const decision = await take(store, counters[0], amount, counters[1], cost);
      tell({ kind: decision.ok ? 'admitted' : 'refused', sentMs, gotMs: nowMs(), amount, cost });
      await wait(below(20));
      if (!decision.ok) continue;
      const used = [below(amount + 1), below(cost + 1)] as const;
      decision.hold.settle(used);
      tell({ kind: 'settled', sentMs, gotMs: nowMs(), amount: used[0], cost: used[1] });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

if (process.argv[1] === import.meta.filename) await replica(process.argv.slice(2));

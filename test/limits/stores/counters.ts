/** Counters and demands of a test. */
import type { BudgetRule, Counter, Decision, Demand, LimitStore, RateRule, Taken } from '#gateway/limits/store.ts';

export function rate(key: string, value: number, windowMs = 60_000): Counter {
  const rule: RateRule = { kind: 'rate', windowMs, value };
  return { key, rule, state: undefined };
}

export function budget(key: string, limit: bigint, more: Partial<BudgetRule> = {}): Counter {
  const rule: BudgetRule = { kind: 'budget', limit, endsMs: undefined, onUnavailable: 'allow', ...more };
  return { key, rule, state: undefined };
}

/** `counter, amount, counter, amount, ...`. */
export function demands(...parts: readonly (Counter | number)[]): Demand[] {
  const found: Demand[] = [];
  for (let at = 0; at < parts.length; at += 2)
    found.push({ counter: parts[at] as Counter, amount: parts[at + 1] as number });
  return found;
}

export async function take(store: LimitStore, ...parts: readonly (Counter | number)[]): Promise<Decision> {
  return store.reserve(demands(...parts));
}

/** Throws where it is refused. */
export async function mustTake(store: LimitStore, ...parts: readonly (Counter | number)[]): Promise<Taken> {
  const decision = await take(store, ...parts);
  if (!decision.ok) throw new Error(`refused: ${JSON.stringify(decision)}`);
  return decision;
}

/** Budgets on the stage, and what is said of them. */
import { budgetKey } from '#crds/limits/counter-key.ts';
import { periodAt } from '#crds/limits/period.ts';
import type { UsageEntry } from '#crds/limits/usage-status.ts';
import { pass } from '../../crds/api/virtual-time.ts';
import { objectIn, published } from '../faults/outcome.ts';
import { type OperatorRun, openStage, type Stage, type StageOptions } from '../faults/stage.ts';
import { apiKey, policy } from '../faults/workload.ts';

export const POLICY = 'UsageLimitPolicy team-a/money';
export const KEY = 'ApiKey team-a/app';
/** 1e-12 of them are one. */
export const USD = 10n ** 12n;

/** A budget of money by key, and one of tokens of a key. */
export const BUDGETS = [
  policy('UsageLimitPolicy', 'team-a/money', { type: 'cost', credit_limit: 10, alert_threshold: 8 }),
  apiKey('team-a/app', { usage_limits: { type: 'tokens', credit_limit: 1000, periodic_reset: 'weekly' } }),
];

export async function budgetStage(options: StageOptions = {}): Promise<{ stage: Stage; run: OperatorRun }> {
  const stage = openStage({ gateways: 3, ...options });
  stage.server.apply(BUDGETS);
  const run = stage.start();
  await stage.settle();
  return { stage, run };
}

/** Key of the counter that a gateway counts with now. */
export function keyOf({ server }: Stage, object: string, group: readonly string[] = [], path = ''): string {
  const records = published(server).snapshot.usage_limits;
  const record = records.find(
    (one) => `${one.kind} ${one.namespace}/${one.name}` === object && one.path.startsWith(path),
  );
  if (record === undefined) throw new Error(`${object} has no budget`);
  return budgetKey(record, periodAt(record.reset, Date.now()).startMs, group);
}

interface UsageStatus {
  readonly usage?: readonly UsageEntry[];
  readonly state?: string;
}

export function statusOf({ server }: Stage, object: string): UsageStatus {
  return (objectIn(server, object)['status'] ?? {}) as UsageStatus;
}

/** By group, or place in the spec where nothing is grouped. */
export function usedOf(stage: Stage, object: string): Readonly<Record<string, number>> {
  const { usage = [] } = statusOf(stage, object);
  return Object.fromEntries(usage.map(({ group, limit, used }) => [group ?? limit, used]));
}

/** Until gateways were asked, and what they said was told. */
export async function told(): Promise<void> {
  await pass(14_000);
}

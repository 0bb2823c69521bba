/** What of budgets is used, as the status of their object says. */
import { listed } from '#crds/limits/conditions.ts';
import { periodAt } from '#crds/limits/period.ts';
import type { UsageLimit } from '#crds/limits/usage-limit.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import { resetOf } from '../../compile/limits.ts';
import { randomWord } from '../new-name.ts';
import type { Annotations, StoredObject } from '../stored-object.ts';

/** One budget, or one group of it. */
export interface Usage {
  /** Values of the group, joined; '' where there are no groups. */
  readonly group: string;
  readonly groupId: string;
  /** US dollars or tokens. */
  readonly used: number;
  readonly creditLimit: number;
  readonly lastResetAt: string | undefined;
}

export function usageOf({ status }: StoredObject): readonly Usage[] {
  return listed(status['usage'] as Record<string, unknown>[] | undefined).map((entry) => ({
    group: String(entry['group'] ?? ''),
    groupId: String(entry['group_id'] ?? ''),
    used: Number(entry['used'] ?? 0),
    creditLimit: Number(entry['credit_limit'] ?? Number.POSITIVE_INFINITY),
    lastResetAt: typeof entry['last_reset_at'] === 'string' ? entry['last_reset_at'] : undefined,
  }));
}

export function isExhausted({ used, creditLimit }: Usage): boolean {
  return used >= creditLimit;
}

/** `next_usage_reset_at` and `last_reset_at`; null where there is none. */
export function resetTimes(object: StoredObject, limit: UsageLimit): object {
  const reset = resetOf(limit, object.createdAt);
  const { endMs } = periodAt(reset, Date.now());
  const last = usageOf(object)
    .flatMap(({ lastResetAt }) => lastResetAt ?? [])
    .sort()
    .at(-1);
  return {
    next_usage_reset_at: endMs === undefined ? null : new Date(endMs).toISOString(),
    last_reset_at: last ?? null,
  };
}

/** Has budgets of the object start anew; `groupId` undefined: all of them. */
export function resetAnnotation(groupId?: string): Annotations {
  const name = groupId === undefined ? ANNOTATIONS.resetUsage : `${ANNOTATIONS.resetUsage}.${groupId}`;
  return { [name]: `${new Date().toISOString()}-${randomWord(6)}` };
}

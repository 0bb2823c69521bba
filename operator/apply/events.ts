/** Events of an object: one for each condition whose status or reason was written anew. */
import type { Occurrence } from '#crds/api/event-object.ts';
import { REASONS, type Reason } from '../compile/reasons.ts';
import type { Condition, ConditionType } from '../compile/status.ts';
import type { StoredCondition } from './status-object.ts';
import type { WrittenStatus } from './status-writer.ts';

/** What was done when the condition was judged. */
const ACTIONS: Readonly<Partial<Record<ConditionType, string>>> = {
  Accepted: 'Check',
  ResolvedRefs: 'ResolveRefs',
  Programmed: 'Program',
  Ready: 'Judge',
};
const TOLD_FROM_THE_START: ReadonlySet<ConditionType> = new Set(['Accepted', 'Programmed']);
/** These say that something takes its time, or that another condition tells more. */
const HARMLESS: ReadonlySet<Reason> = new Set(['Pending', 'NotReady']);

/** Of a status that was written: what was stored before was told before, over restarts too. */
export function eventsOf({ status, object, before }: WrittenStatus): readonly Occurrence[] {
  const stored = new Map(before.map((condition) => [condition.type, condition]));
  return status.conditions.flatMap((condition): Occurrence[] => {
    const action = ACTIONS[condition.type];
    if (action === undefined || !isNews(condition, stored.get(condition.type))) return [];
    const isBad = condition.status === 'False' && !HARMLESS.has(condition.reason);
    const { reason } = condition;
    return [{ regarding: object, type: isBad ? 'Warning' : 'Normal', reason, action, note: noteOf(condition) }];
  });
}

/** That nothing was ever the matter is told by Accepted and Programmed alone. */
function isNews({ type, status, reason }: Condition, stored: StoredCondition | undefined): boolean {
  if (stored === undefined) return status !== 'True' || TOLD_FROM_THE_START.has(type);
  return stored.status !== status || stored.reason !== reason;
}

function noteOf({ type, status, reason, message }: Condition): string {
  return `${type}=${status}: ${message === '' ? REASONS[reason] : message}`;
}

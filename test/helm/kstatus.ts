/**
 * Health of an object as kstatus has it for kinds that it does not know (sigs.k8s.io/cli-utils, `status.Compute`): what Flux,
 * `helm --wait` and `kubectl` plugins go by.
 */
import { at } from './manifest.ts';

export type Health = 'Current' | 'InProgress' | 'Failed' | 'Terminating';

interface Condition {
  readonly type: string;
  readonly status: string;
}

/** The first rule that says something holds. */
const RULES: readonly ((object: object) => Health | undefined)[] = [
  (object) => (at(object, 'metadata.deletionTimestamp') === undefined ? undefined : 'Terminating'),
  (object) => {
    const observed = at<number>(object, 'status.observedGeneration');
    return observed === undefined || observed === at(object, 'metadata.generation') ? undefined : 'InProgress';
  },
  (object) => (statusOf(object, 'Reconciling') === 'True' ? 'InProgress' : undefined),
  (object) => (statusOf(object, 'Stalled') === 'True' ? 'Failed' : undefined),
  (object) => {
    const ready = statusOf(object, 'Ready');
    return ready === undefined ? undefined : ready === 'True' ? 'Current' : 'InProgress';
  },
];

/** An object about which no rule says anything is Current. */
export function kstatusOf(object: object): Health {
  for (const rule of RULES) {
    const health = rule(object);
    if (health !== undefined) return health;
  }
  return 'Current';
}

function statusOf(object: object, type: string): string | undefined {
  return at<readonly Condition[]>(object, 'status.conditions')?.find((condition) => condition.type === type)?.status;
}

/** Records of a snapshot, as the compiler writes them. */
import type { KeyRecord, RateLimitRecord } from '#crds/snapshot/contract.ts';
import type { Caller } from '#gateway/exchange.ts';

/** One request a minute in the workspace `default`, unless told otherwise. */
export function rateRecord(name: string, over: Partial<RateLimitRecord> = {}): RateLimitRecord {
  return {
    kind: 'RateLimitPolicy',
    namespace: 'default',
    name,
    path: '',
    id: `RateLimitPolicy default/${name}`,
    label: `RateLimitPolicy ${name}`,
    workspace: 'default',
    conditions: [],
    group_by: [],
    type: 'requests',
    unit: 'rpm',
    value: 1,
    ...over,
  };
}

export function caller(name: string, namespace = 'default'): Caller {
  const key = { namespace, name, metadata: {}, disabled: false } as unknown as KeyRecord;
  return { name, namespace, key };
}

/** Which objects a snapshot tells of, and which of them are told of otherwise in another. */
import { isDeepStrictEqual } from 'node:util';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import type { RecordField } from '#crds/snapshot/records.ts';
import { identityOf } from '../world.ts';

/** Everything that a snapshot says of each object, credentials and keys included; by identity. */
export type ObjectRecords = ReadonlyMap<string, readonly object[]>;

/** Kind of the object that a record belongs to; undefined: the record says it. */
const KIND_OF: Readonly<Record<RecordField, string | undefined>> = {
  configs: 'GatewayConfig',
  integrations: 'Integration',
  keys: 'ApiKey',
  workspaces: 'Workspace',
  guardrails: 'Guardrail',
  prompts: undefined,
  prompt_versions: 'PromptVersion',
  credentials: undefined,
  rate_limits: undefined,
  usage_limits: undefined,
  refused: undefined,
};

interface Owned {
  readonly kind?: string;
  readonly namespace: string;
  readonly name: string;
}

export function recordsByObject(snapshot: Snapshot): ObjectRecords {
  const records = new Map<string, object[]>();
  for (const [field, kind] of Object.entries(KIND_OF) as [RecordField, string | undefined][]) {
    for (const record of snapshot[field] as readonly Owned[]) {
      const identity = identityOfRecord(record, kind ?? record.kind ?? '');
      const others = records.get(identity);
      if (others === undefined) records.set(identity, [record]);
      else others.push(record);
    }
  }
  return records;
}

/** Most records are the same from one snapshot to the next. */
const knownIdentities = new WeakMap<Owned, string>();

function identityOfRecord(record: Owned, kind: string): string {
  const known = knownIdentities.get(record);
  if (known !== undefined) return known;
  const { namespace, name } = record;
  const identity = identityOf({ kind, namespace, name });
  knownIdentities.set(record, identity);
  return identity;
}

/** Identities of objects that appeared, disappeared or have other records. */
export function changedObjects(before: ObjectRecords, after: ObjectRecords): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const identity of before.keys()) if (!after.has(identity)) changed.add(identity);
  for (const [identity, records] of after) {
    if (!isEqual(before.get(identity), records)) changed.add(identity);
  }
  return changed;
}

function isEqual(before: readonly object[] | undefined, after: readonly object[]): boolean {
  const isSame = before?.length === after.length && before.every((record, index) => record === after[index]);
  return isSame || isDeepStrictEqual(before, after);
}

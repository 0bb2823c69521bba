/** Who calls the control plane: by the digests of the keys that were compiled last, whoever serves them already. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { DEFAULT_KEY_PREFIX, isMisspelt } from '#crds/keys/key-form.ts';
import { digestOf, isInForce, presentedKey } from '#crds/keys/presented-key.ts';
import { DEFAULT_SCOPE } from '#crds/kinds/scopes.ts';
import type { KeyRecord, Snapshot } from '#crds/snapshot/contract.ts';
import { ControlError } from './control-error.ts';

export interface ControlCaller {
  readonly name: string;
  /** Its workspace. */
  readonly namespace: string;
  readonly type: KeyRecord['type'];
  /** A key without scopes may do inference alone. */
  holds(scope: string): boolean;
}

/** Of an open installation: whatever a key of its workspace could. */
const ANYBODY: ControlCaller = {
  name: 'anonymous',
  namespace: 'default',
  type: 'workspace-service',
  holds: () => true,
};
const NO_DIGEST = Buffer.alloc(32);

const known = new WeakMap<Snapshot, ReadonlyMap<string, KeyRecord>>();

function keysOf(snapshot: Snapshot): ReadonlyMap<string, KeyRecord> {
  const keys = known.get(snapshot) ?? new Map(snapshot.keys.map((key) => [key.digest, key]));
  known.set(snapshot, keys);
  return keys;
}

/** Throws `invalid_api_key`: the same words for every reason. `open`: no key is asked for. */
export function callerOf(headers: IncomingHttpHeaders, snapshot: Snapshot, open: boolean): ControlCaller {
  const presented = presentedKey(headers);
  if (open && presented === '') return ANYBODY;
  const digest = digestOf(presented);
  const prefix = snapshot.settings.key_prefix ?? DEFAULT_KEY_PREFIX;
  const record = isMisspelt(presented, prefix) ? undefined : keysOf(snapshot).get(digest);
  const isEqual = timingSafeEqual(
    Buffer.from(digest, 'hex'),
    record === undefined ? NO_DIGEST : Buffer.from(record.digest, 'hex'),
  );
  if (!isEqual || record === undefined || presented === '' || !isInForce(record, Date.now()))
    throw new ControlError('invalid_api_key', 'The gateway key is missing or not valid.');
  const { name, namespace, type, scopes = [DEFAULT_SCOPE] } = record;
  const held = new Set(scopes);
  return { name, namespace, type, holds: (scope) => held.has(scope) };
}

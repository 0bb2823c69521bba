/** Which fields a change is about, and whether whoever asks for it may. */
import { isDeepStrictEqual } from 'node:util';
import { ControlError } from './control-error.ts';
import type { Change, StoredObject } from './stored-object.ts';

/** Names of the fields that differ. */
export function changedFields(before: Change['spec'], after: Change['spec']): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}

export function isSame(object: StoredObject, { spec, annotations }: Change): boolean {
  return changedFields(object.spec, spec).length === 0 && isDeepStrictEqual(object.annotations, annotations);
}

/** Throws `owned_elsewhere`. An annotation of ours is nobody else's. */
export function assertChangeable(object: StoredObject, { spec }: Change): void {
  const fields = changedFields(object.spec, spec);
  if (fields.length > 0) refuseOwned(object, object.ownerOf(fields));
}

/** Throws `owned_elsewhere` where anybody else has a say in the object. */
export function assertRemovable(object: StoredObject): void {
  refuseOwned(object, object.ownerOf());
}

export function refuseOwned({ kind, namespace, name }: StoredObject, owner: string | undefined): void {
  if (owner === undefined) return;
  throw new ControlError('owned_elsewhere', `${kind} ${namespace}/${name} is kept by ${owner}: change it there.`);
}

export function goneMeanwhile({ kind, namespace, name }: StoredObject): ControlError {
  return new ControlError('unknown_object', `${kind} ${namespace}/${name} is gone.`);
}

import type { ApiObject } from '#crds/api/api-object.ts';
import type { Reflection } from '#crds/api/reflector.ts';

/** The object of this `namespace/name` in the first collection that has one. */
export function findIn(followed: readonly Reflection[], key: string): ApiObject | undefined {
  for (const { objects } of followed) {
    const object = objects.get(key);
    if (object !== undefined) return object;
  }
  return undefined;
}

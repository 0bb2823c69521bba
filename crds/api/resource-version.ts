/** Resource versions are decimal numbers of any length: longer is newer, and of equal length the text decides. */
import type { ApiObject } from './api-object.ts';

/** Negative: `a` is older. Zero: the same. */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Whether both are one version of one object. */
export function isSameVersion({ metadata: a }: ApiObject, { metadata: b }: ApiObject): boolean {
  return a.uid === b.uid && a.resourceVersion !== undefined && a.resourceVersion === b.resourceVersion;
}

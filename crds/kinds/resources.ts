import type { Resource } from '../api/api-object.ts';
import { KINDS } from './kinds.ts';

/** How each kind of ours is addressed in an API server. */
export const KIND_RESOURCES: ReadonlyMap<string, Resource> = new Map(
  KINDS.map(({ kind, plural, group, version }) => [kind, { apiVersion: `${group}/${version}`, kind, plural }]),
);

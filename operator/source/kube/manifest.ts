/** An object of the API server -> a manifest of the world. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { API_GROUP } from '#crds/object.ts';
import type { Manifest } from '../../world.ts';

/** Without its status, which would be kept for as long as the manifest stands. */
export function manifestOf(object: ApiObject): Manifest {
  const { name, namespace = '', uid, generation = 1 } = object.metadata;
  const { status: _, ...raw } = object;
  return { kind: object.kind, namespace, name, uid, generation, raw, place: undefined };
}

/** Equal for two versions of an object that are judged alike: its status, labels and so on do not matter. */
export function judgedVersion({ metadata }: ApiObject): string {
  const own = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith(`${API_GROUP}/`));
  return JSON.stringify([metadata.uid, metadata.generation, own.sort()]);
}

/** Being deleted: it only waits for somebody's finalizer. */
export function isLeaving({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

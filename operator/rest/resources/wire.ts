/** What the answers about every object have in common. */
import { z } from '#crds/config/words.ts';
import { findKind } from '#crds/kinds/kinds.ts';
import { API_GROUP, API_VERSION } from '#crds/object.ts';
import type { ControlWorld } from '../control-world.ts';
import type { Spec, StoredObject } from '../stored-object.ts';

/** Fields of a creation that say where the object is: an installation is one organisation, whatever it is called elsewhere. */
export const PLACE = { workspace_id: z.string().min(1).max(253), organisation_id: z.uuid() };

export function placeFields(object: StoredObject, { organisationId }: ControlWorld): object {
  return {
    workspace_id: object.namespace,
    organisation_id: organisationId,
    created_at: object.createdAt,
    last_updated_at: object.updatedAt,
  };
}

/** With the defaults of its kind; as it was written where that is refused. */
export function wholeSpec({ kind, spec }: StoredObject): Spec {
  const parsed = findKind(`${API_GROUP}/${API_VERSION}`, kind)?.specSchema.safeParse(spec);
  return parsed?.success === true ? (parsed.data as Spec) : spec;
}

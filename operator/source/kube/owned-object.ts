/** One of the program's wishes -> an object that goes with its owner. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { API_GROUP, API_VERSION } from '#crds/object.ts';
import type { Manifest } from '../../world.ts';
import type { GeneratedObject } from '../source.ts';

export function ownedObject(object: GeneratedObject, owner: Manifest): ApiObject {
  const { kind, namespace, name, labels, annotations, spec } = object;
  const apiVersion = `${API_GROUP}/${API_VERSION}`;
  // Every object of an API server has one.
  const { uid = '' } = owner;
  const ownerReferences = [{ apiVersion, kind: owner.kind, name: owner.name, uid, controller: true }];
  return { apiVersion, kind, metadata: { name, namespace, labels, annotations, ownerReferences }, spec };
}

/** Objects of the control plane as custom resources of an API server, which is asked each time: whoever wrote sees what was written. */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import type { ApiObject, OwnerReference, Resource } from '#crds/api/api-object.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import { assertChangeable, assertRemovable, goneMeanwhile, isSame } from './changed-fields.ts';
import { ControlError } from './control-error.ts';
import { CONTROL_MANAGER, isOurs, ownerOf, writtenAt } from './managed-fields.ts';
import type { Change, ControlKind, Draft, ObjectStore, Selection, Spec, StoredObject } from './stored-object.ts';

export interface KubeObjectsOptions {
  readonly client: ApiClient;
  /** That are served; none: all. */
  readonly namespaces: readonly string[];
}

interface KubeObject extends StoredObject {
  readonly raw: ApiObject;
}

const TRIES = 5;

export class KubeObjects implements ObjectStore {
  readonly #client: ApiClient;
  readonly #namespaces: readonly string[];

  constructor({ client, namespaces }: KubeObjectsOptions) {
    this.#client = client;
    this.#namespaces = namespaces;
  }

  async list(kind: ControlKind, namespace: string | undefined, selection?: Selection): Promise<readonly KubeObject[]> {
    const query = queryOf(selection ?? {});
    const lists = await Promise.all(
      this.#scopes(namespace).map((one) => this.#client.listAll(resourceOf(kind), { namespace: one, query })),
    );
    return lists
      .flatMap(({ items }) => items)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((raw) => storedObject(kind, raw));
  }

  async create({ kind, namespace, name, labels, owner, spec }: Draft): Promise<KubeObject | undefined> {
    const [served] = this.#scopes(namespace);
    if (served === undefined) throw notServed(namespace);
    const resource = resourceOf(kind);
    const { apiVersion } = resource;
    try {
      const owned = owner === undefined ? {} : { ownerReferences: [referenceTo(owner)] };
      const metadata = { name, namespace, ...(labels && { labels }), ...owned };
      const object = { apiVersion, kind, metadata, spec };
      return storedObject(kind, await this.#client.create(resource, object, CONTROL_MANAGER));
    } catch (error) {
      if (isRefusal(error, 409, 'AlreadyExists')) return undefined;
      if (isRefusal(error, 404)) throw unknownWorkspace(namespace);
      throw error;
    }
  }

  async change(object: StoredObject, next: (current: StoredObject) => Change): Promise<StoredObject> {
    for (let current = object as KubeObject, tries = 1; ; tries += 1) {
      const change = next(current);
      if (isSame(current, change)) return current;
      assertChangeable(current, change);
      const replaced = await this.#replace(current, change);
      if (replaced !== undefined) return replaced;
      if (tries === TRIES) throw new ControlError('conflict', 'The object is being changed by others all the time.');
      current = await this.#current(object);
    }
  }

  async remove(object: StoredObject): Promise<void> {
    assertRemovable(object);
    const { kind, namespace, name, id: uid } = object;
    await this.#client.delete(resourceOf(kind), namespace, name, { uid }).catch((error: unknown) => {
      // Another object of the name: ours is gone.
      if (!isRefusal(error, 409)) throw error;
    });
  }

  /** undefined: somebody else was quicker. */
  async #replace({ kind, raw }: KubeObject, { spec, annotations }: Change): Promise<KubeObject | undefined> {
    const resource = resourceOf(kind);
    const { managedFields: _, ...metadata } = raw.metadata;
    const object = { ...raw, metadata: { ...metadata, annotations }, spec };
    try {
      return storedObject(kind, await this.#client.replace(resource, object, CONTROL_MANAGER));
    } catch (error) {
      if (isRefusal(error, 409) || isRefusal(error, 404)) return undefined;
      throw error;
    }
  }

  async #current(object: StoredObject): Promise<KubeObject> {
    const found = await this.list(object.kind, object.namespace, { name: object.name });
    const same = found.find(({ id }) => id === object.id);
    if (same === undefined) throw goneMeanwhile(object);
    return same;
  }

  /** Namespaces to ask; undefined: all at once. */
  #scopes(namespace: string | undefined): readonly (string | undefined)[] {
    if (this.#namespaces.length === 0) return [namespace];
    return namespace === undefined ? this.#namespaces : this.#namespaces.filter((one) => one === namespace);
  }
}

function resourceOf(kind: ControlKind): Resource {
  const resource = KIND_RESOURCES.get(kind);
  if (resource === undefined) throw new Error(`there is no kind ${kind}`);
  return resource;
}

function queryOf({ name, label }: Selection): Readonly<Record<string, string>> {
  return {
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
    ...(label === undefined ? {} : { labelSelector: label.join('=') }),
  };
}

function referenceTo({ kind, name, id: uid }: StoredObject): OwnerReference {
  return { apiVersion: resourceOf(kind).apiVersion, kind, name, uid, controller: true };
}

function storedObject(kind: ControlKind, raw: ApiObject): KubeObject {
  const { name, namespace = '', uid = '', creationTimestamp = '', annotations = {} } = raw.metadata;
  return {
    raw,
    kind,
    namespace,
    name,
    id: uid,
    spec: Object(raw['spec']) as Spec,
    annotations,
    ownerId: raw.metadata.ownerReferences?.[0]?.uid,
    status: judged(raw),
    createdAt: creationTimestamp,
    updatedAt: writtenAt(raw) ?? creationTimestamp,
    isOurs: isOurs(raw),
    ownerOf: (fields) => ownerOf(raw, fields),
  };
}

/** What is said of another version of the object is not said of this one. */
function judged({ metadata: { generation }, status }: ApiObject): Spec {
  const { conditions, ...fields } = Object(status) as {
    readonly conditions?: readonly { observedGeneration?: number }[];
  };
  return { ...fields, conditions: conditions?.filter((one) => one.observedGeneration === generation) };
}

function isRefusal(error: unknown, status: number, reason?: string): boolean {
  return error instanceof ApiError && error.status === status && (reason === undefined || error.reason === reason);
}

function notServed(namespace: string): ControlError {
  const message = `This installation does not serve the workspace "${namespace}".`;
  return new ControlError('workspace_not_allowed', message, { param: 'workspace_id' });
}

function unknownWorkspace(namespace: string): ControlError {
  return new ControlError('invalid_value', `workspace_id: there is no workspace "${namespace}".`, {
    param: 'workspace_id',
  });
}

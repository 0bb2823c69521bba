/** POST, PUT, PATCH and DELETE: what they make of what is stored. */
import { isDeepStrictEqual } from 'node:util';
import { type ApiObject, keyOf } from '#crds/api/api-object.ts';
import type { ApiRequest } from '#crds/api/transport.ts';
import { admitted, refuseUndeclared, validate } from './admission.ts';
import { type Applied, applied } from './apply.ts';
import { addressed, appliedObject, jsonOf, mergePatch, writtenObject } from './body.ts';
import * as failures from './failure.ts';
import { compared } from './field-sets.ts';
import { type Fields, fieldsOf, mergePatched } from './fields.ts';
import {
  afterUpdate,
  type Managed,
  managedFieldsOf,
  managersOf,
  ownable,
  ownedPart,
  ownedSchema,
  type Writer,
} from './managers.ts';
import { counted, deletionStatus, dying, heir, isHeld, named, newborn } from './object-lives.ts';
import { causeOf, type ResourceRow } from './resource-row.ts';
import { NAMESPACES, type ResourceTable } from './resources.ts';
import type { Store } from './store.ts';
import { type Target, targetKey } from './target.ts';
import { checkPatchedUid, checkPreconditions, checkReplacedUid, checkVersion, refuseUnknown } from './write-checks.ts';

export interface Written {
  readonly status: 200 | 201;
  readonly document: Fields;
  readonly verb: WriteVerb;
  readonly before: ApiObject | undefined;
  /** undefined: it is gone. */
  readonly after: ApiObject | undefined;
  /** false: nothing was changed, there is no new version. */
  readonly isChange: boolean;
  /** Fields that were left out. */
  readonly unknown: readonly string[];
}

export type WriteVerb = 'create' | 'replace' | 'patch' | 'apply' | 'delete';

type Handler = (target: Target, request: ApiRequest) => Written;

const APPLY_TYPE = 'application/apply-patch+yaml';
/** Beginning of the clients' User-Agent, which names a manager that does not name itself. */
const USER_AGENT = 'model-gateway';
const MERGE_TYPE = 'application/merge-patch+json';

export class Writes {
  readonly #store: Store;
  readonly #namespaces: ResourceRow;
  readonly #handlers: Readonly<Record<string, Handler>> = {
    POST: (target, request) => this.#create(target, request),
    PUT: (target, request) => this.#replace(target, request),
    PATCH: (target, request) => this.#patch(target, request),
    DELETE: (target, request) => this.#delete(target, request),
  };

  constructor(store: Store, table: ResourceTable) {
    this.#store = store;
    this.#namespaces = table.ofKind(NAMESPACES);
  }

  /** Stores it all, or nothing. Throws Failure. */
  write(target: Target, request: ApiRequest): Written {
    const handler = this.#handlers[request.method];
    checkContentType(request);
    const isCollection = target.name === undefined;
    const isPlaced = target.namespace !== undefined || !target.row.isNamespaced;
    if (handler === undefined || isCollection !== (request.method === 'POST') || !isPlaced) {
      throw failures.methodNotAllowed();
    }
    return handler(target, request);
  }

  #create(target: Target, { body }: ApiRequest): Written {
    return this.#storeNew(target, named(writtenObject(body, target)), 'create');
  }

  #storeNew(target: Target, given: ApiObject, verb: WriteVerb): Written {
    const { row } = target;
    const fresh = admitted(row, newborn(row, given));
    refuseUnknown(target, fresh.unknown);
    this.#checkNamespace(target, given.metadata.name);
    const managers = afterUpdate([], writerOf(target, 'Update'), ownChanges(row, undefined, fresh.object));
    validate(row, fresh.object, undefined);
    const known = this.#store.get(row, keyOf(fresh.object));
    if (known !== undefined) {
      throw failures.alreadyExists(row, given.metadata.name, known.metadata.deletionTimestamp !== undefined);
    }
    if (verb === 'create' && given.metadata.resourceVersion) {
      throw failures.internal('resourceVersion should not be set on objects to be created');
    }
    const after = this.#store.put(row, withManagers(fresh.object, managers, []));
    return { status: 201, document: after, verb, before: undefined, after, isChange: true, unknown: fresh.unknown };
  }

  #replace(target: Target, { body }: ApiRequest): Written {
    const { row, subresource } = target;
    const given = writtenObject(body, target);
    const before = this.#store.get(row, targetKey(target));
    if (before === undefined) {
      if (row.createsOnReplace && subresource === undefined) return this.#storeNew(target, given, 'replace');
      throw failures.notFound(row, given.metadata.name);
    }
    checkReplacedUid(row, given, before);
    checkVersion(row, given, before, !row.replacesUnconditionally);
    return this.#update(target, before, given, 'replace');
  }

  #patch(target: Target, request: ApiRequest): Written {
    if (request.contentType === APPLY_TYPE) return this.#apply(target, request);
    if (request.contentType !== MERGE_TYPE) throw failures.unsupportedMediaType([MERGE_TYPE, APPLY_TYPE]);
    const patch = mergePatch(request.body);
    const before = this.#existing(target);
    const given = addressed(fieldsOf(mergePatched(before, patch)) as ApiObject, target);
    checkVersion(target.row, given, before, false);
    checkPatchedUid(target, given, before);
    try {
      return this.#update(target, before, given, 'patch');
    } catch (error) {
      throw failures.unreadable(error);
    }
  }

  #update(target: Target, before: ApiObject, given: ApiObject, verb: WriteVerb): Written {
    const { row, subresource } = target;
    const fresh = admitted(row, heir(row, before, given, subresource));
    refuseUnknown(target, fresh.unknown);
    const change = ownChanges(row, before, fresh.object, subresource);
    const known = managersOf(before);
    // What nobody owned when it was made stays so.
    const managers = known.length === 0 ? [] : afterUpdate(known, writerOf(target, 'Update'), change);
    return this.#commit(target, before, { object: fresh.object, managers }, verb, fresh.unknown);
  }

  #apply(target: Target, { body }: ApiRequest): Written {
    const { row, subresource, query } = target;
    const writer = writerOf(target, 'Apply');
    if (!query.has('fieldManager')) throw noManager();
    const config = appliedObject(body, target);
    refuseUndeclared(row, config);
    const live = this.#store.get(row, targetKey(target));
    if (live === undefined && subresource !== undefined) throw failures.notFound(row, config.metadata.name);
    if (live === undefined) return this.#applyNew(target, config);
    checkVersion(row, config, live, false);
    checkPatchedUid(target, config, live);
    const isForced = query.get('force') === 'true';
    const next = applied({ row, base: live, live, config, writer, isForced });
    const fresh = admitted(row, next.object);
    return this.#commit(target, live, { object: fresh.object, managers: next.managers }, 'apply', []);
  }

  #applyNew(target: Target, config: ApiObject): Written {
    const { row } = target;
    const { name, uid } = config.metadata;
    if (uid) {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw failures.conflict(row, name, why);
    }
    this.#checkNamespace(target, name);
    const base = newborn(row, config);
    const next = applied({ row, base, live: undefined, config, writer: writerOf(target, 'Apply'), isForced: true });
    const { object } = admitted(row, next.object);
    validate(row, object, undefined);
    const after = this.#store.put(row, withManagers(object, next.managers, []));
    return { status: 201, document: after, verb: 'apply', before: undefined, after, isChange: true, unknown: [] };
  }

  /** Nothing new makes no version; what is being deleted goes with its last finalizer. */
  #commit(target: Target, before: ApiObject, next: Applied, verb: WriteVerb, unknown: readonly string[]): Written {
    const { row } = target;
    const fresh = counted(row, before, next.object);
    validate(row, fresh, before);
    const object = withManagers(fresh, next.managers, managersOf(before));
    const told = { status: 200, verb, before, unknown } as const;
    if (isDeepStrictEqual(object, before)) return { ...told, document: before, after: before, isChange: false };
    if (object.metadata.deletionTimestamp !== undefined && !isHeld(row, object)) {
      this.#store.remove(row, before);
      return { ...told, document: object, after: undefined, isChange: true };
    }
    const after = this.#store.put(row, object);
    return { ...told, document: after, after, isChange: true };
  }

  #delete(target: Target, { body }: ApiRequest): Written {
    const { row } = target;
    const options = body === undefined ? {} : fieldsOf(jsonOf(body, "couldn't get version/kind; json parse error"));
    const { propagationPolicy = 'Background' } = options;
    if (propagationPolicy !== 'Background') {
      throw failures.badRequest('this server knows no propagationPolicy but Background');
    }
    const before = this.#existing(target);
    checkPreconditions(row, before, fieldsOf(options['preconditions']));
    const told = { status: 200, verb: 'delete', before, unknown: [] } as const;
    if (!isHeld(row, before)) {
      this.#store.remove(row, before);
      return { ...told, document: deletionStatus(row, before), after: undefined, isChange: true };
    }
    if (before.metadata.deletionTimestamp !== undefined) {
      return { ...told, document: before, after: before, isChange: false };
    }
    const after = this.#store.put(row, dying(row, before));
    return { ...told, document: after, after, isChange: true };
  }

  #existing(target: Target): ApiObject {
    const found = this.#store.get(target.row, targetKey(target));
    if (found === undefined) throw failures.notFound(target.row, target.name ?? '');
    return found;
  }

  #checkNamespace({ row, namespace }: Target, name: string): void {
    if (namespace === undefined) return;
    const found = this.#store.get(this.#namespaces, namespace);
    if (found === undefined) throw failures.notFound(this.#namespaces, namespace);
    if (found.metadata.deletionTimestamp !== undefined) throw failures.terminating(row, name, namespace);
  }
}

const WRITTEN_TYPES = ['application/json', 'application/yaml'];

function checkContentType({ method, contentType = 'application/json' }: ApiRequest): void {
  if (method === 'PATCH' || WRITTEN_TYPES.includes(contentType)) return;
  throw failures.unsupportedMediaType(WRITTEN_TYPES);
}

function noManager(): failures.Failure {
  const cause = causeOf('fieldManager', 'Required value: is required for apply patch', 'FieldValueRequired');
  return failures.invalid({ kind: 'PatchOptions', group: 'meta.k8s.io', plural: '' }, '', [cause]);
}

function writerOf({ row, subresource, query }: Target, operation: Writer['operation']): Writer {
  return { manager: query.get('fieldManager') || USER_AGENT, operation, apiVersion: row.apiVersion, subresource };
}

function ownChanges(row: ResourceRow, before: ApiObject | undefined, after: ApiObject, subresource?: 'status') {
  const schema = ownedSchema(row);
  const change = compared(ownedPart(row, before, subresource), ownedPart(row, after, subresource), schema);
  const there = new Set((row.alwaysThere ?? []).map((field) => `f:${field}`));
  return { ...change, added: new Set(ownable(change.added).difference(there)) };
}

function withManagers(object: ApiObject, managers: readonly Managed[], before: readonly Managed[]): ApiObject {
  const managedFields = managedFieldsOf(managers, before);
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

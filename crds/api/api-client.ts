/** Requests to an API server as raw JSON: one answer each. For lists that are kept current there is the reflector. */
import { documentOf, failureOf, noAnswer } from './answer.ts';
import { ApiError } from './api-error.ts';
import { type Address, type ApiObject, pathOf, type Resource } from './api-object.ts';
import type { ApiRequest, Transport } from './transport.ts';
import { Watchdog } from './watchdog.ts';

export interface ApplyOptions {
  readonly fieldManager: string;
  readonly subresource?: 'status';
  /** Takes fields over that another manager owns. Default true: what the operator writes is its own. */
  readonly force?: boolean;
}

export interface DeleteOptions {
  /** Deletes only the object that is meant: another of the same name answers 409. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface PatchOptions {
  readonly fieldManager: string;
  readonly subresource?: 'status';
}

export interface ReadOptions {
  /** Asks for the metadata alone. A server that cannot sends the whole object all the same. */
  readonly metadataOnly?: boolean | undefined;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** One page, or with listAll the whole. */
export interface ApiList {
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
  };
  readonly items: readonly ApiObject[];
}

const APPLY_TYPE = 'application/apply-patch+yaml';
const MERGE_TYPE = 'application/merge-patch+json';
const JSON_TYPE = 'application/json';
const METADATA = 'v=v1;g=meta.k8s.io';
const METADATA_LIST = `${JSON_TYPE};as=PartialObjectMetadataList;${METADATA},${JSON_TYPE}`;
const METADATA_OBJECT = `${JSON_TYPE};as=PartialObjectMetadata;${METADATA},${JSON_TYPE}`;
const DEFAULT_TIMEOUT_MS = 15_000;

export class ApiClient {
  readonly transport: Transport;
  readonly #timeoutMs: number;

  /** `timeoutMs`: of a request and its whole answer, watches excepted. */
  constructor(transport: Transport, timeoutMs: number = DEFAULT_TIMEOUT_MS) {
    this.transport = transport;
    this.#timeoutMs = timeoutMs;
  }

  /** undefined: there is none of the name. Throws ApiError. */
  async read(resource: Resource, namespace: string, name: string): Promise<ApiObject | undefined> {
    try {
      return await this.#object('GET', pathOf(resource, { namespace, name }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Throws ApiError; 409 `AlreadyExists` where one of the name exists. */
  create(resource: Resource, object: ApiObject, fieldManager: string): Promise<ApiObject> {
    const { namespace } = object.metadata;
    return this.#object('POST', pathOf(resource, { namespace, query: { fieldManager } }), JSON_TYPE, object);
  }

  /** `object.metadata.resourceVersion` must be current: throws ApiError 409 `Conflict` otherwise. */
  replace(resource: Resource, object: ApiObject, fieldManager: string): Promise<ApiObject> {
    const { namespace, name } = object.metadata;
    return this.#object('PUT', pathOf(resource, { namespace, name, query: { fieldManager } }), JSON_TYPE, object);
  }

  /** Server-side apply: creates, or sets exactly the fields that are given. Throws ApiError. */
  apply(resource: Resource, object: ApiObject, options: ApplyOptions): Promise<ApiObject> {
    const { namespace, name } = object.metadata;
    const { fieldManager, subresource, force = true } = options;
    const path = pathOf(resource, { namespace, name, subresource, query: { fieldManager, force } });
    return this.#object('PATCH', path, APPLY_TYPE, object);
  }

  /** JSON merge patch: null takes a field away, a list replaces a list. Throws ApiError; 404 where there is none. */
  patchMerge(
    resource: Resource,
    { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
    patch: object,
    { fieldManager, subresource }: PatchOptions,
  ): Promise<ApiObject> {
    const path = pathOf(resource, { namespace, name, subresource, query: { fieldManager } });
    return this.#object('PATCH', path, MERGE_TYPE, patch);
  }

  /** Gone already is success. Throws ApiError. */
  async delete(resource: Resource, namespace: string, name: string, options: DeleteOptions = {}): Promise<void> {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: options, propagationPolicy: 'Background' };
    try {
      await this.#object('DELETE', pathOf(resource, { namespace, name }), JSON_TYPE, body);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
  }

  /** A page of a list, its items with their apiVersion and kind. Throws ApiError. */
  async list(resource: Resource, address: Address, { metadataOnly, signal }: ReadOptions = {}): Promise<ApiList> {
    const { apiVersion, kind } = resource;
    const accept = metadataOnly ? METADATA_LIST : JSON_TYPE;
    const page = await this.#json({ method: 'GET', path: pathOf(resource, address), accept }, signal);
    const { metadata, items } = Object(page) as Partial<ApiList>;
    return { metadata: metadata ?? {}, items: (items ?? []).map((item) => ({ ...item, apiVersion, kind })) };
  }

  /** The whole list, page by page, as it was at one moment; begun anew once if it expired meanwhile. Throws ApiError. */
  async listAll(resource: Resource, address: Address, pageSize = 500, options: ReadOptions = {}): Promise<ApiList> {
    try {
      return await this.#pages(resource, address, pageSize, options);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      return this.#pages(resource, address, pageSize, options);
    }
  }

  /**
   * The bytes of a watch: a JSON event per line. `watchdog` bounds the wait for its beginning, then for each further byte,
   * as the caller sets it. Throws ApiError where it does not begin.
   */
  async watch(
    resource: Resource,
    address: Address,
    watchdog: Watchdog,
    { metadataOnly }: Pick<ReadOptions, 'metadataOnly'> = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    const request: ApiRequest = {
      method: 'GET',
      path: pathOf(resource, { ...address, query: { ...address.query, watch: true } }),
      accept: metadataOnly ? METADATA_OBJECT : JSON_TYPE,
      signal: watchdog.signal,
    };
    try {
      const response = await this.transport.send(request);
      if (response.status >= 300) throw await failureOf(request, response);
      return response.body;
    } catch (error) {
      throw noAnswer(request, error);
    }
  }

  async #pages(resource: Resource, address: Address, pageSize: number, options: ReadOptions): Promise<ApiList> {
    const items: ApiObject[] = [];
    let next: string | undefined;
    for (;;) {
      const query = { ...address.query, limit: pageSize, continue: next };
      const page = await this.list(resource, { ...address, query }, options);
      for (const item of page.items) items.push(item);
      next = page.metadata.continue;
      if (next === undefined || next === '') return { metadata: page.metadata, items };
    }
  }

  async #object(method: ApiRequest['method'], path: string, contentType?: string, body?: unknown): Promise<ApiObject> {
    const sent = contentType === undefined ? {} : { contentType, body: JSON.stringify(body) };
    return (await this.#json({ method, path, ...sent })) as ApiObject;
  }

  async #json(asked: ApiRequest, outer?: AbortSignal): Promise<unknown> {
    const watchdog = new Watchdog(outer);
    const request = { ...asked, signal: watchdog.signal };
    watchdog.within(this.#timeoutMs);
    try {
      return await documentOf(request, await this.transport.send(request));
    } catch (error) {
      const cause = watchdog.expiredMs === undefined ? error : watchdog.signal.reason;
      throw noAnswer(request, cause);
    } finally {
      watchdog.end();
    }
  }
}

/**
 * An API server in memory: the rules of the real one as far as this project uses them, and whatever may go wrong with it.
 * All its timers are global ones, so that a test's virtual time drives it.
 */
import { parseAllDocuments } from 'yaml';
import { type ApiObject, pathOf, type Resource } from '#crds/api/api-object.ts';
import type { ApiRequest } from '#crds/api/transport.ts';
import { Availability, type Outage } from './availability.ts';
import { ClientTransport } from './client-transport.ts';
import { EventFaults } from './event-faults.ts';
import { Faults } from './faults.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { FrontDoor } from './front-door.ts';
import { Garbage } from './garbage.ts';
import { Journal, type RequestEntry, type WriteEntry, type WriteMatch } from './journal.ts';
import { RequestFaults } from './request-faults.ts';
import { answerTo, type ServerParts } from './requests.ts';
import { NAMESPACES, type ResourceTable, resourceTable } from './resources.ts';
import { Store } from './store.ts';
import { Watches } from './watches.ts';
import { Writes } from './writes.ts';

export interface ApiServerOptions {
  /** Until each answer begins. Default 0. */
  readonly latencyMs?: number;
  /** false: takes any spec, as a cluster does whose CRDs are older than the operator. Default true. */
  readonly validatesSpecs?: boolean;
  /** That there are from the start, besides default. */
  readonly namespaces?: readonly string[];
  /** resourceVersion before the first write. Default 1,000. */
  readonly firstVersion?: number;
  /** Until what has lost its owner is deleted. Default 0. */
  readonly collectsAfterMs?: number;
}

export interface RestartOptions {
  /** Reads are of this version, until `catchUp()`; writes are of what is really stored. */
  readonly olderWorld?: number;
  /** Of which alone that holds; none: of all. */
  readonly olderKinds?: readonly Resource[];
}

/** Who writes by the methods of the server itself. */
const TEST = 'test';
const COLLECTOR = 'garbage-collector';

export class ApiServer {
  /** What may go wrong. */
  readonly faults: Faults;
  readonly #table: ResourceTable;
  readonly #store: Store;
  readonly #availability: Availability;
  readonly #journal = new Journal();
  readonly #garbage: Garbage;
  readonly #parts: ServerParts;
  readonly #door: FrontDoor;

  constructor(options: ApiServerOptions) {
    const {
      latencyMs = 0,
      validatesSpecs = true,
      namespaces = [],
      firstVersion = 1_000,
      collectsAfterMs = 0,
    } = options;
    this.#table = resourceTable(validatesSpecs);
    this.#store = new Store(firstVersion);
    this.#availability = new Availability(this.#store);
    const eventFaults = new EventFaults();
    const watches = new Watches(this.#availability, eventFaults);
    const writes = new Writes(this.#store, this.#table);
    this.#parts = { table: this.#table, view: this.#availability, writes, watches, journal: this.#journal };
    const [parts, availability, faults] = [this.#parts, this.#availability, new RequestFaults()];
    this.#door = new FrontDoor({ parts, availability, faults, latencyMs });
    this.faults = new Faults(faults, eventFaults, watches);
    this.#garbage = new Garbage(this.#store, this.#table, {
      afterMs: collectsAfterMs,
      remove: (row, object) => this.#collect(row, object),
    });
    for (const name of ['default', ...namespaces]) this.#ensureNamespace(name);
  }

  /** Until each answer begins. */
  get latencyMs(): number {
    return this.#door.latencyMs;
  }

  set latencyMs(latencyMs: number) {
    this.#door.latencyMs = latencyMs;
  }

  /** A client of its own. `identity`: how the journal names it. */
  transport(identity = 'client'): ClientTransport {
    return new ClientTransport(identity, (who, request) => this.#door.serve(who, request));
  }

  /** Every write that was taken, in order. */
  get journal(): readonly WriteEntry[] {
    return this.#journal.writes;
  }

  /** Every request that was answered, or refused. */
  get requests(): readonly RequestEntry[] {
    return this.#journal.requests;
  }

  /** Of the newest write. */
  get version(): number {
    return this.#store.version;
  }

  get openWatches(): number {
    return this.#parts.watches.matching().length;
  }

  /** Those of the journal that match. */
  writes(match: WriteMatch = {}): WriteEntry[] {
    return this.#journal.matching(match);
  }

  /** Called after each write, before it is answered: to close the writer's transport here is to crash it after this write. Gives back what ends it. */
  onWrite(listener: (entry: WriteEntry) => void): () => void {
    return this.#journal.onWrite(listener);
  }

  /** Like `kubectl apply`, with what of `status` there is; makes their namespaces. Throws where one is refused. */
  apply(given: string | ApiObject | readonly ApiObject[]): ApiObject[] {
    return objectsIn(given).map((object) => this.#applyOne(object));
  }

  /** What is stored, whatever of it can be read. */
  get(resource: Resource, namespace: string | undefined, name: string): ApiObject | undefined {
    return this.#store.get(this.#table.ofKind(resource), namespace === undefined ? name : `${namespace}/${name}`);
  }

  /** Throws where there is none. */
  find(resource: Resource, namespace: string | undefined, name: string): ApiObject {
    const found = this.get(resource, namespace, name);
    if (found === undefined) throw new Error(`there is no ${resource.kind} ${namespace ?? ''}/${name}`);
    return found;
  }

  /** In the order of their names. None: all namespaces. */
  list(resource: Resource, namespace?: string): ApiObject[] {
    const all = this.#store.all(this.#table.ofKind(resource));
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** JSON merge patch, as somebody else would write. `subresource`: of the status. */
  patch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    patch: Fields,
    subresource?: 'status',
  ): ApiObject {
    const path = pathOf(resource, { namespace, name, subresource, query: { fieldManager: TEST } });
    return this.#do({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify(patch),
    });
  }

  /** Gone, or marked where it has finalizers. Throws where there is none. */
  delete(resource: Resource, namespace: string | undefined, name: string): void {
    this.#do({ method: 'DELETE', path: pathOf(resource, { namespace, name }) });
  }

  /** Forgets what happened: older versions answer 410. Watches that are open go on. */
  compact(): void {
    this.#store.compact(this.#store.version);
  }

  /** Compacts, and keeps neither the journal nor older worlds: for tests that last long. */
  forget(): void {
    this.#store.forget();
    this.#journal.requests.length = 0;
    this.#journal.writes.length = 0;
  }

  /** Cuts every connection. */
  restart({ olderWorld: version, olderKinds: kinds }: RestartOptions = {}): void {
    this.#availability.setOlderWorld(version === undefined ? undefined : { version, kinds });
    this.#door.cutAll();
  }

  /** Reads are current again; open watches tell what they missed. */
  catchUp(): void {
    this.#availability.setOlderWorld(undefined);
    this.#parts.watches.advance();
  }

  /** Nothing is answered or told until `resume()`; connections stay. */
  pause(): void {
    this.#availability.pause();
  }

  resume(): void {
    this.#availability.resume();
    this.#parts.watches.advance();
  }

  /** Until `recover()`. `refuse` cuts what is open; in a `black-hole` it stays open, without a byte, for ever. */
  outage(kind: Outage): void {
    this.#availability.setOutage(kind);
    if (kind === 'refuse') this.#door.cutAll();
    else for (const watch of this.#parts.watches.matching()) watch.lose();
  }

  recover(): void {
    this.#availability.setOutage(undefined);
  }

  /** Cuts every connection and leaves no timer; later requests are refused. */
  close(): void {
    this.#garbage.close();
    this.outage('refuse');
  }

  /** A write of the test's own: whatever the faults are. */
  #do(request: ApiRequest, who = TEST): ApiObject {
    const { status, body } = answerTo(this.#parts, who, request);
    if (status >= 300) throw new Error(`${request.method} ${request.path}: ${fieldsOf(body)['message']}`);
    return body as unknown as ApiObject;
  }

  #collect(resource: Resource, { metadata: { namespace, name } }: ApiObject): void {
    this.#do({ method: 'DELETE', path: pathOf(resource, { namespace, name }) }, COLLECTOR);
  }

  #ensureNamespace(name: string): void {
    if (this.get(NAMESPACES, undefined, name) !== undefined) return;
    const { apiVersion, kind } = NAMESPACES;
    this.#do({
      method: 'POST',
      path: pathOf(NAMESPACES, {}),
      body: JSON.stringify({ apiVersion, kind, metadata: { name } }),
    });
  }

  #applyOne(object: ApiObject): ApiObject {
    const row = this.#table.ofKind(object);
    const { name } = object.metadata;
    const namespace = row.isNamespaced ? (object.metadata.namespace ?? 'default') : undefined;
    if (namespace !== undefined) this.#ensureNamespace(namespace);
    const send = (subresource: 'status' | undefined) => {
      const path = pathOf(row, { namespace, name, subresource, query: { fieldManager: TEST, force: true } });
      const body = JSON.stringify(row.prepare?.(object) ?? object);
      return this.#do({ method: 'PATCH', path, contentType: 'application/apply-patch+yaml', body });
    };
    const stored = send(undefined);
    return row.hasStatus && object['status'] !== undefined ? send('status') : stored;
  }
}

function objectsIn(given: string | ApiObject | readonly ApiObject[]): readonly ApiObject[] {
  if (typeof given !== 'string') return Array.isArray(given) ? given : [given as ApiObject];
  return parseAllDocuments(given)
    .map((document) => document.toJS() as ApiObject | null)
    .filter((object) => object !== null);
}

/** Starts at once. */
export function startApiServer(options: ApiServerOptions = {}): ApiServer {
  return new ApiServer(options);
}

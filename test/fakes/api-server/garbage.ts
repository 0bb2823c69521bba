/** What the controllers of a cluster delete: dependents whose owners are gone, and what is in a namespace that ends. */
import { type ApiObject, keyOf } from '#crds/api/api-object.ts';
import { fieldsOf } from './fields.ts';
import type { ResourceRow } from './resource-row.ts';
import { NAMESPACES, type ResourceTable } from './resources.ts';
import type { Change, Store } from './store.ts';

interface Place {
  readonly row: ResourceRow;
  readonly key: string;
}

export interface Collecting {
  /** From the end of an owner. */
  readonly afterMs: number;
  /** Deletes, or marks for deletion what has finalizers. */
  readonly remove: (row: ResourceRow, object: ApiObject) => void;
}

export class Garbage {
  readonly #store: Store;
  readonly #namespaces: ResourceRow;
  readonly #table: ResourceTable;
  readonly #collecting: Collecting;
  readonly #alive = new Set<string>();
  readonly #dependents = new Map<string, Map<string, Place>>();
  #due: Place[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: Store, table: ResourceTable, collecting: Collecting) {
    this.#store = store;
    this.#table = table;
    this.#namespaces = table.ofKind(NAMESPACES);
    this.#collecting = collecting;
    store.onChange((change) => this.#see(change));
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #see({ row, after, isDeletion }: Change): void {
    const { uid = '', namespace, deletionTimestamp } = after.metadata;
    const place = { row, key: keyOf(after) };
    if (isDeletion) {
      this.#alive.delete(uid);
      for (const dependent of this.#dependents.get(uid)?.values() ?? []) this.#look(dependent);
      this.#dependents.delete(uid);
      if (namespace !== undefined) this.#lookAtNamespace(namespace);
      return;
    }
    this.#alive.add(uid);
    for (const owner of ownersOf(after)) this.#depend(owner, place);
    if (row === this.#namespaces && deletionTimestamp !== undefined) this.#look(place);
  }

  #depend(owner: string, place: Place): void {
    const known = this.#dependents.get(owner) ?? new Map<string, Place>();
    this.#dependents.set(owner, known.set(`${place.row.apiVersion}/${place.row.plural}/${place.key}`, place));
    if (!this.#alive.has(owner)) this.#look(place);
  }

  #lookAtNamespace(name: string): void {
    const found = this.#store.get(this.#namespaces, name);
    if (found?.metadata.deletionTimestamp !== undefined) this.#look({ row: this.#namespaces, key: name });
  }

  /** Soon, as controllers do. */
  #look(place: Place): void {
    this.#due.push(place);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const due = this.#due;
      this.#due = [];
      for (const { row, key } of due) this.#judge(row, this.#store.get(row, key));
    }, this.#collecting.afterMs);
  }

  #judge(row: ResourceRow, object: ApiObject | undefined): void {
    if (object === undefined) return;
    if (row === this.#namespaces) this.#endNamespace(object);
    else if (this.#isOrphan(object) && object.metadata.deletionTimestamp === undefined)
      this.#collecting.remove(row, object);
  }

  #isOrphan(object: ApiObject): boolean {
    const owners = ownersOf(object);
    return owners.length > 0 && !owners.some((uid) => this.#alive.has(uid));
  }

  #endNamespace(namespace: ApiObject): void {
    if (namespace.metadata.deletionTimestamp === undefined) return;
    const { name } = namespace.metadata;
    const inside = this.#table.rows.flatMap((row) =>
      this.#store
        .all(row)
        .filter((object) => object.metadata.namespace === name)
        .map((object) => ({ row, object })),
    );
    for (const { row, object } of inside) {
      if (object.metadata.deletionTimestamp === undefined) this.#collecting.remove(row, object);
    }
    if (inside.length === 0) this.#store.remove(this.#namespaces, namespace);
  }
}

function ownersOf({ metadata: { ownerReferences = [] } }: ApiObject): string[] {
  return ownerReferences.map((reference) => String(fieldsOf(reference)['uid']));
}

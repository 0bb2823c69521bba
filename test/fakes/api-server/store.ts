/** What is stored, and all that ever happened to it: one version per change, increasing by one. */
import type { ApiObject } from '#crds/api/api-object.ts';
import { keyOf } from '#crds/api/api-object.ts';
import type { ResourceRow } from './resource-row.ts';

export interface Change {
  readonly version: number;
  readonly row: ResourceRow;
  /** undefined: it was created. */
  readonly before: ApiObject | undefined;
  /** As stored, or as it was last, with the version of its deletion. */
  readonly after: ApiObject;
  readonly isDeletion: boolean;
}

export class Store {
  readonly #objects = new Map<string, Map<string, ApiObject>>();
  readonly #changes: Change[] = [];
  readonly #listeners: ((change: Change) => void)[] = [];
  /** Before the first change that is kept. */
  #first: number;
  #version: number;
  #compacted: number;

  /** Nothing before `firstVersion` is known. */
  constructor(firstVersion: number) {
    this.#first = firstVersion;
    this.#version = firstVersion;
    this.#compacted = firstVersion;
  }

  /** Of the newest change. */
  get version(): number {
    return this.#version;
  }

  /** What happened before is forgotten. */
  get compactedVersion(): number {
    return this.#compacted;
  }

  /** Forgets what happened until `version`. */
  compact(version: number): void {
    this.#compacted = Math.max(this.#compacted, Math.min(version, this.#version));
  }

  /** Compacts everything, and keeps nothing of it: no older world can be read any more. */
  forget(): void {
    this.compact(this.#version);
    this.#changes.length = 0;
    this.#first = this.#version;
  }

  /** In the order of the changes; throws nothing. */
  onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  get(row: ResourceRow, key: string): ApiObject | undefined {
    return this.#table(row).get(key);
  }

  /** In the order of their keys. */
  all(row: ResourceRow): ApiObject[] {
    return inOrder(this.#table(row));
  }

  put(row: ResourceRow, object: ApiObject): ApiObject {
    const before = this.#table(row).get(keyOf(object));
    const after = withVersion(object, ++this.#version);
    this.#table(row).set(keyOf(after), after);
    this.#tell({ version: this.#version, row, before, after, isDeletion: false });
    return after;
  }

  /** `object`: what it was last. */
  remove(row: ResourceRow, object: ApiObject): ApiObject {
    const before = this.#table(row).get(keyOf(object));
    const after = withVersion(object, ++this.#version);
    this.#table(row).delete(keyOf(object));
    this.#tell({ version: this.#version, row, before, after, isDeletion: true });
    return after;
  }

  /** After `from`, up to and including `to`. */
  changes(from: number, to: number): readonly Change[] {
    return this.#changes.slice(Math.max(0, from - this.#first), Math.max(0, to - this.#first));
  }

  /** What there was at a version, in the order of the keys. */
  allAt(row: ResourceRow, version: number): ApiObject[] {
    if (version >= this.#version) return this.all(row);
    const table = new Map(this.#table(row));
    for (const change of this.changes(version, this.#version).toReversed()) {
      if (change.row !== row) continue;
      if (change.before === undefined) table.delete(keyOf(change.after));
      else table.set(keyOf(change.before), change.before);
    }
    return inOrder(table);
  }

  #table(row: ResourceRow): Map<string, ApiObject> {
    const name = `${row.apiVersion}/${row.plural}`;
    const known = this.#objects.get(name);
    if (known !== undefined) return known;
    const table = new Map<string, ApiObject>();
    this.#objects.set(name, table);
    return table;
  }

  #tell(change: Change): void {
    this.#changes.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

function withVersion(object: ApiObject, version: number): ApiObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

function inOrder(table: ReadonlyMap<string, ApiObject>): ApiObject[] {
  return [...table].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

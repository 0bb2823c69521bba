/** What a collection holds, as far as lists and events have told; what they tell late changes nothing. */
import { type ApiObject, keyOf } from './api-object.ts';
import { compareVersions, isSameVersion } from './resource-version.ts';
import type { WatchEvent } from './watch-event.ts';

/** Deletions that are remembered so that an older event does not bring back what was deleted. */
const MAX_DELETIONS = 4_096;

export class KnownObjects {
  #objects = new Map<string, ApiObject>();
  /** By key, the version that deleted it: since the last list. */
  readonly #deletions = new Map<string, string>();
  /** Of the last list: it told of everything up to here. */
  #listed: string | undefined;
  #version: string | undefined;

  get objects(): ReadonlyMap<string, ApiObject> {
    return this.#objects;
  }

  /** The newest that a list, event or bookmark has told of. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Whether anything is other than before. What did not change stays the same object. */
  replaceAll(version: string, objects: readonly ApiObject[]): boolean {
    const next = new Map<string, ApiObject>();
    let isChanged = false;
    for (const object of objects) {
      const key = keyOf(object);
      const known = this.#objects.get(key);
      const isSame = known !== undefined && isSameVersion(known, object);
      next.set(key, isSame ? known : object);
      isChanged ||= !isSame;
    }
    isChanged ||= next.size !== this.#objects.size;
    if (isChanged) this.#objects = next;
    this.#deletions.clear();
    this.#listed = version;
    this.#version = version;
    return isChanged;
  }

  /** Whether anything is other than before. */
  apply(event: WatchEvent): boolean {
    const isChanged = event.type !== 'bookmark' && this.#change(event.type, event.object, event.version);
    if (isNewer(event.version, this.#version)) this.#version = event.version;
    return isChanged;
  }

  #change(type: 'set' | 'delete', object: ApiObject, version: string): boolean {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (type === 'delete') return this.#delete(key, known, version);
    const since = known?.metadata.resourceVersion ?? this.#deletions.get(key) ?? this.#listed;
    if (!isNewer(version, since)) return false;
    this.#deletions.delete(key);
    this.#objects.set(key, object);
    return true;
  }

  /** Of what is not known too: its creation may yet come. */
  #delete(key: string, known: ApiObject | undefined, version: string): boolean {
    const since = known?.metadata.resourceVersion ?? this.#deletions.get(key) ?? this.#listed;
    if (!isNewer(version, since) && version !== known?.metadata.resourceVersion) return false;
    this.#deletions.delete(key);
    this.#deletions.set(key, version);
    const [oldest] = this.#deletions.keys();
    if (this.#deletions.size > MAX_DELETIONS && oldest !== undefined) this.#deletions.delete(oldest);
    return this.#objects.delete(key);
  }
}

function isNewer(version: string, than: string | undefined): boolean {
  return than === undefined || compareVersions(version, than) > 0;
}

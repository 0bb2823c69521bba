/** The manifests of one kind, read anew only where something happened: most of what happens is a status of our own. */
import { keyOf } from '#crds/api/api-object.ts';
import type { Reflection } from '#crds/api/reflector.ts';
import type { Manifest } from '../../world.ts';
import { findIn } from './find-in.ts';
import { isLeaving, judgedVersion, manifestOf } from './manifest.ts';

export type Followed = Reflection & { readonly whenSynced: Promise<void> };
/** `changed`: `namespace/name` of the objects that are other than before; undefined: any may be. */
export type OnChange = (changed: ReadonlySet<string> | undefined) => void;

interface Known {
  /** See `judgedVersion`. */
  readonly version: string;
  readonly manifest: Manifest;
}

export class KindManifests {
  /** Collections without a name in common. */
  readonly followed: readonly Followed[];
  /** By `namespace/name`. */
  readonly #known = new Map<string, Known>();
  /** To be read anew; undefined: all. */
  #stale: Set<string> | undefined;
  #manifests: readonly Manifest[] = [];

  constructor(follow: (onChange: OnChange) => readonly Followed[]) {
    this.followed = follow((changed) => {
      if (changed === undefined) this.#stale = undefined;
      else for (const key of changed) this.#stale?.add(key);
    });
  }

  /** As they were read last. */
  get manifests(): readonly Manifest[] {
    return this.#manifests;
  }

  /** The same list as before where nothing changed that is judged. */
  read(): readonly Manifest[] {
    const keys = this.#stale ?? this.#allKeys();
    this.#stale = new Set();
    let isNews = false;
    for (const key of keys) isNews = this.#readOne(key) || isNews;
    if (isNews) this.#manifests = Array.from(this.#known.values(), ({ manifest }) => manifest);
    return this.#manifests;
  }

  /** As it was read last. */
  get(key: string): Manifest | undefined {
    return this.#known.get(key)?.manifest;
  }

  #readOne(key: string): boolean {
    const object = findIn(this.followed, key);
    if (object === undefined || isLeaving(object)) return this.#known.delete(key);
    const version = judgedVersion(object);
    if (this.#known.get(key)?.version === version) return false;
    this.#known.set(key, { version, manifest: manifestOf(object) });
    return true;
  }

  #allKeys(): ReadonlySet<string> {
    const present = this.followed.flatMap(({ objects }) => Array.from(objects.values(), keyOf));
    return new Set([...this.#known.keys(), ...present]);
  }
}

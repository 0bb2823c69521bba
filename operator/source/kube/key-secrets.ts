/** The Secrets that the operator wrote for ApiKeys, its last writes included; read anew only where something happened. */
import { type ApiObject, keyOf } from '#crds/api/api-object.ts';
import { isSameVersion } from '#crds/api/resource-version.ts';
import { Stored } from '../../publish/stored.ts';
import type { Manifest, SecretObject } from '../../world.ts';
import type { Followed, KindManifests, OnChange } from './kind-manifests.ts';
import { isLeaving } from './manifest.ts';
import { type Owner, ownerOf, secretObjectOf } from './secret-object.ts';

interface Read {
  readonly object: ApiObject;
  readonly secret: SecretObject;
  readonly owner: Owner | undefined;
}

export class KeySecrets {
  readonly followed: Followed;
  readonly #owners: KindManifests;
  readonly #stored: Stored;
  /** By `namespace/name`. */
  readonly #read = new Map<string, Read>();
  /** What was written and the watch has not told of, which it never will where that is gone by then. */
  readonly #untold = new Set<string>();
  /** To be read anew; undefined: all. */
  #stale: Set<string> | undefined;
  #secrets: readonly SecretObject[] = [];
  /** The ApiKeys that there were then. */
  #readFor: readonly Manifest[] | undefined;

  /** `owners`: the ApiKeys. */
  constructor(owners: KindManifests, follow: (onChange: OnChange) => Followed) {
    this.#owners = owners;
    this.followed = follow((changed) => {
      if (changed === undefined) this.#stale = undefined;
      else for (const key of changed) this.#stale?.add(key);
    });
    this.#stored = new Stored(this.followed);
  }

  /** The answer to a write of this program. */
  wrote(object: ApiObject): void {
    this.#stored.wrote(object);
    this.#untold.add(keyOf(object));
  }

  /** What stands behind a Secret of `read()`; undefined: something else by now. */
  objectOf(secret: SecretObject): ApiObject | undefined {
    const read = this.#read.get(`${secret.namespace}/${secret.name}`);
    return read?.secret === secret ? read.object : undefined;
  }

  /** Without those of ApiKeys that are gone; the same list as before where nothing changed. */
  read(): readonly SecretObject[] {
    const { manifests } = this.#owners;
    const isNews = this.#readStale();
    if (!isNews && manifests === this.#readFor) return this.#secrets;
    this.#readFor = manifests;
    const secrets: SecretObject[] = [];
    for (const { owner, secret } of this.#read.values()) if (!this.#isGone(owner)) secrets.push(secret);
    if (!isSame(this.#secrets, secrets)) this.#secrets = secrets;
    return this.#secrets;
  }

  /** Another may have its name: the Secret only waits to be collected. */
  #isGone(owner: Owner | undefined): boolean {
    return owner !== undefined && this.#owners.get(owner.key)?.uid !== owner.uid;
  }

  #readStale(): boolean {
    const keys = this.#stale ?? [...this.#read.keys(), ...Array.from(this.#stored.values(), keyOf)];
    const all = new Set([...keys, ...this.#untold]);
    this.#stale = new Set();
    for (const key of all) this.#readOne(key);
    return all.size > 0;
  }

  /** What was written comes again by the watch. */
  #isRead(key: string, object: ApiObject): boolean {
    const read = this.#read.get(key);
    return read !== undefined && isSameVersion(read.object, object);
  }

  #readOne(key: string): void {
    const object = this.#stored.get(key);
    if (object === this.followed.objects.get(key)) this.#untold.delete(key);
    if (object === undefined || isLeaving(object)) this.#read.delete(key);
    else if (!this.#isRead(key, object)) {
      this.#read.set(key, { object, secret: secretObjectOf(object), owner: ownerOf(object) });
    }
  }
}

function isSame<T>(before: readonly T[], now: readonly T[]): boolean {
  return before.length === now.length && before.every((one, at) => one === now[at]);
}

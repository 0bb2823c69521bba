/** What is stored under the watched collections, own writes included before the watch has told of them. */
import { type ApiObject, keyOf } from '#crds/api/api-object.ts';
import type { Reflection } from '#crds/api/reflector.ts';
import { compareVersions } from '#crds/api/resource-version.ts';

export class Stored {
  readonly #reflection: Reflection;
  readonly #written = new Map<string, ApiObject>();

  constructor(reflection: Reflection) {
    this.#reflection = reflection;
  }

  /** `key`: `namespace/name`. */
  get(key: string): ApiObject | undefined {
    const written = this.#written.get(key);
    if (written === undefined || !this.#isNews(written)) {
      this.#written.delete(key);
      return this.#reflection.objects.get(key);
    }
    return written;
  }

  *values(): Generator<ApiObject> {
    for (const key of new Set([...this.#reflection.objects.keys(), ...this.#written.keys()])) {
      const object = this.get(key);
      if (object !== undefined) yield object;
    }
  }

  /** The answer to a write of this program. */
  wrote(object: ApiObject): void {
    this.#written.set(keyOf(object), object);
  }

  /** A write of this program deleted it; the watch will say so too. */
  deleted(key: string): void {
    this.#written.delete(key);
  }

  #isNews({ metadata: { resourceVersion } }: ApiObject): boolean {
    const known = this.#reflection.resourceVersion;
    return known === undefined || resourceVersion === undefined || compareVersions(known, resourceVersion) < 0;
  }
}

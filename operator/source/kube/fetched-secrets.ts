/**
 * Secrets that objects name, read in full one by one; of all others only their metadata is ever seen. What was read stays
 * while the API server does not answer, and goes as soon as the Secret is known to be gone.
 */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { type ApiObject, SECRETS } from '#crds/api/api-object.ts';
import { inParallel } from '../../in-parallel.ts';
import type { SecretObject } from '../../world.ts';
import { secretObjectOf, unreadableSecret } from './secret-object.ts';

interface Fetched {
  /** Of the metadata that it was read for. */
  readonly uid: string | undefined;
  readonly version: string | undefined;
  /** undefined: never read, and the last try failed. */
  readonly secret: SecretObject | undefined;
}

export interface FetchedSecretsOptions {
  readonly client: ApiClient;
  readonly onFault: (error: Error) => void;
}

const AT_ONCE = 16;

export class FetchedSecrets {
  readonly #options: FetchedSecretsOptions;
  readonly #fetched = new Map<string, Fetched>();
  #secrets: readonly SecretObject[] | undefined;

  constructor(options: FetchedSecretsOptions) {
    this.#options = options;
  }

  /** Those of the last `follow`, as far as they exist and could be read; the same list as before where nothing changed. */
  secrets(): readonly SecretObject[] {
    this.#secrets ??= Array.from(this.#fetched.values()).flatMap(({ secret }) => secret ?? []);
    return this.#secrets;
  }

  /** Takes out at once what is gone or no longer named; returns what is to be read. */
  follow(named: ReadonlyMap<string, ApiObject>): readonly ApiObject[] {
    for (const [key, { uid }] of this.#fetched) if (named.get(key)?.metadata.uid !== uid) this.#forget(key);
    return [...named].filter(([key, object]) => isNews(this.#fetched.get(key), object)).map(([, object]) => object);
  }

  /** false: the API server did not answer for some, which are to be tried again. */
  async read(objects: readonly ApiObject[]): Promise<boolean> {
    let isComplete = true;
    await inParallel(objects, AT_ONCE, async (object) => {
      isComplete = (await this.#readOne(object)) && isComplete;
    });
    return isComplete;
  }

  async #readOne({ metadata }: ApiObject): Promise<boolean> {
    const { namespace = '', name, uid, resourceVersion: version } = metadata;
    const key = `${namespace}/${name}`;
    try {
      const object = await this.#options.client.read(SECRETS, namespace, name);
      // Gone, or made anew since: the watch will tell.
      if (object?.metadata.uid === uid) this.#keep(key, { uid, version, secret: object && secretObjectOf(object) });
      return true;
    } catch (error) {
      this.#options.onFault(error as Error);
      if (!(error instanceof ApiError) || error.isPassing) return false;
      this.#keep(key, { uid, version: undefined, secret: unreadableSecret(namespace, name, error.message) });
      return false;
    }
  }

  #keep(key: string, fetched: Fetched): void {
    this.#fetched.set(key, fetched);
    this.#secrets = undefined;
  }

  #forget(key: string): void {
    this.#fetched.delete(key);
    this.#secrets = undefined;
  }
}

function isNews(fetched: Fetched | undefined, { metadata }: ApiObject): boolean {
  return fetched === undefined || fetched.version !== metadata.resourceVersion;
}

/** Manifests and Secrets of an API server, live. */
import type { ApiClient } from '#crds/api/api-client.ts';
import { type ApiObject, keyOf, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { type Reflection, reflect } from '#crds/api/reflector.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import { FIELD_MANAGER } from '../../field-owner.ts';
import { Stored } from '../../publish/stored.ts';
import { Wakeup } from '../../wakeup.ts';
import type { Manifest, Observation, SecretObject } from '../../world.ts';
import type { GeneratedSecret, Source } from '../source.ts';
import { FetchedSecrets } from './fetched-secrets.ts';
import { isLeaving, judgedVersion, manifestOf } from './manifest.ts';
import { namedSecrets } from './named-secrets.ts';
import { API_KEY_LABEL, secretFor, secretObjectOf } from './secret-object.ts';

export interface KubeOptions {
  readonly client: ApiClient;
  /** Whose objects are read; none: those of all namespaces. */
  readonly namespaces: readonly string[];
  /** Collections are not believed before they are as new as this (see `seen`). */
  readonly notBefore: Readonly<Record<string, string>>;
  readonly onFault: (error: Error) => void;
}

export interface KubeSource extends Source {
  /** Version up to which each collection is known. */
  seen(): Readonly<Record<string, string>>;
  /** The object behind a manifest, with the status that is stored. */
  stored(manifest: { readonly kind: string; readonly namespace: string; readonly name: string }): ApiObject | undefined;
}

interface Known {
  object: ApiObject;
  readonly version: string;
  readonly manifest: Manifest;
}

type Followed = Reflection & { readonly whenSynced: Promise<void> };

/** From the first event to the refresh, and from one refresh to the next. */
const REFRESH = { delayMs: 5, everyMs: 50 };
const RETRY_MS = 2_000;

/** Resolves once everything was listed whole, and what it names was read. */
export async function openKube(options: KubeOptions): Promise<KubeSource> {
  const source = new Kube(options);
  await source.open();
  return source;
}

class Kube implements KubeSource {
  readonly #client: ApiClient;
  readonly #options: KubeOptions;
  readonly #kinds = new Map<string, readonly Followed[]>();
  readonly #keySecrets: readonly Followed[];
  readonly #otherSecrets: readonly Followed[];
  readonly #ownSecrets: readonly Stored[];
  readonly #fetched: FetchedSecrets;
  /** By identity. */
  readonly #manifests = new Map<string, Known>();
  readonly #readSecrets = new WeakMap<ApiObject, SecretObject>();
  readonly #refreshing: Wakeup;
  /** Secrets of our own that are not observed yet. */
  #hasWritten = false;
  #observation: Observation = { manifests: [], secrets: [], problems: [] };
  #listener: () => void = () => {};

  constructor(options: KubeOptions) {
    this.#options = options;
    this.#client = options.client;
    this.#refreshing = new Wakeup(() => this.#refresh(), {
      ...REFRESH,
      onDefect: (error) => options.onFault(error as Error),
    });
    for (const { kind, plural, group, version } of KINDS) {
      this.#kinds.set(kind, this.#follow({ apiVersion: `${group}/${version}`, kind, plural }));
    }
    this.#keySecrets = this.#follow(SECRETS, { labelSelector: API_KEY_LABEL });
    this.#otherSecrets = this.#follow(SECRETS, { labelSelector: `!${API_KEY_LABEL}`, metadataOnly: true });
    this.#ownSecrets = this.#keySecrets.map((reflection) => new Stored(reflection));
    this.#fetched = new FetchedSecrets(options);
  }

  async open(): Promise<void> {
    await Promise.all(this.#all().map(({ whenSynced }) => whenSynced));
    await this.#refresh();
  }

  observe(): Observation {
    if (this.#hasWritten) this.#observe();
    return this.#observation;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  seen(): Readonly<Record<string, string>> {
    const collections = [...this.#kinds, ['Secret', this.#otherSecrets] as const];
    const versions = collections.flatMap(([kind, followed]) =>
      followed.map(({ resourceVersion }, place) => [
        collectionName(kind, this.#options.namespaces[place]),
        resourceVersion ?? '0',
      ]),
    );
    return Object.fromEntries(versions);
  }

  stored({ kind, namespace, name }: { kind: string; namespace: string; name: string }): ApiObject | undefined {
    return find(this.#kinds.get(kind) ?? [], `${namespace}/${name}`);
  }

  /** Rejects with 409 where the Secret exists: it is then the user's own. */
  async writeSecret(secret: GeneratedSecret): Promise<void> {
    const owner = this.#manifests.get(secret.owner)?.manifest;
    if (owner === undefined) throw new Error(`${secret.owner} is gone`);
    const written = await this.#client.create(SECRETS, secretFor(secret, owner), FIELD_MANAGER);
    this.#ownSecrets[this.#placeOf(secret.namespace)]?.wrote(written);
    this.#hasWritten = true;
  }

  async close(): Promise<void> {
    this.#refreshing.close();
    for (const reflection of this.#all()) reflection.close();
  }

  #follow(resource: Resource, how: { labelSelector?: string; metadataOnly?: boolean } = {}): readonly Followed[] {
    const { namespaces, notBefore, onFault } = this.#options;
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    return scopes.map((namespace) =>
      reflect({
        client: this.#client,
        resource,
        ...how,
        ...(namespace === undefined ? {} : { namespace }),
        ...(how.labelSelector === API_KEY_LABEL
          ? {}
          : { notBefore: notBefore[collectionName(resource.kind, namespace)] }),
        onChange: () => this.#refreshing.wake(),
        onFault,
      }),
    );
  }

  #all(): readonly Followed[] {
    return [...[...this.#kinds.values()].flat(), ...this.#keySecrets, ...this.#otherSecrets];
  }

  #placeOf(namespace: string): number {
    const { namespaces } = this.#options;
    return namespaces.length === 0 ? 0 : namespaces.indexOf(namespace);
  }

  /** Reads what is named and new before anything is told, so that no object is judged by half of what it names. */
  async #refresh(): Promise<void> {
    const manifests = this.#readManifests();
    const isComplete = await this.#fetched.read(this.#fetched.follow(this.#namedBy(manifests)));
    if (!isComplete) this.#refreshing.wake(RETRY_MS);
    if (this.#observe()) this.#listener();
  }

  #namedBy(manifests: readonly Manifest[]): ReadonlyMap<string, ApiObject> {
    const named = new Map<string, ApiObject>();
    for (const key of manifests.flatMap(namedSecrets)) {
      const object = find(this.#otherSecrets, key);
      if (object !== undefined && !isLeaving(object)) named.set(key, object);
    }
    return named;
  }

  /** Whether anything is other than before. */
  #observe(): boolean {
    this.#hasWritten = false;
    const manifests = this.#readManifests();
    const secrets = [...this.#readKeySecrets(), ...this.#fetched.secrets()];
    const before = this.#observation;
    if (isSame(before.manifests, manifests) && isSame(before.secrets, secrets)) return false;
    this.#observation = { manifests, secrets, problems: [] };
    return true;
  }

  #readManifests(): readonly Manifest[] {
    const manifests: Manifest[] = [];
    const gone = new Set(this.#manifests.keys());
    for (const [kind, followed] of this.#kinds) {
      for (const object of followed.flatMap(({ objects }) => [...objects.values()])) {
        if (isLeaving(object)) continue;
        const key = `${kind} ${keyOf(object)}`;
        gone.delete(key);
        manifests.push(this.#manifestOf(key, object));
      }
    }
    for (const key of gone) this.#manifests.delete(key);
    return manifests;
  }

  /** The same as before where nothing changed that is judged: a new status must not cause anything. */
  #manifestOf(key: string, object: ApiObject): Manifest {
    const known = this.#manifests.get(key);
    if (known?.object === object) return known.manifest;
    const version = judgedVersion(object);
    if (known?.version === version) {
      known.object = object;
      return known.manifest;
    }
    const manifest = manifestOf(object);
    this.#manifests.set(key, { object, version, manifest });
    return manifest;
  }

  *#readKeySecrets(): Generator<SecretObject> {
    for (const stored of this.#ownSecrets) {
      for (const object of stored.values()) {
        if (isLeaving(object)) continue;
        const secret = this.#readSecrets.get(object) ?? secretObjectOf(object);
        this.#readSecrets.set(object, secret);
        yield secret;
      }
    }
  }
}

function find(followed: readonly Followed[], key: string): ApiObject | undefined {
  for (const { objects } of followed) {
    const object = objects.get(key);
    if (object !== undefined) return object;
  }
  return undefined;
}

function collectionName(kind: string, namespace: string | undefined): string {
  return `${kind} ${namespace ?? '*'}`;
}

function isSame<T>(before: readonly T[], now: readonly T[]): boolean {
  return before.length === now.length && before.every((one, index) => one === now[index]);
}

/** Manifests and Secrets of an API server, live. */
import { ApiClient } from '#crds/api/api-client.ts';
import { type ApiObject, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { reflect } from '#crds/api/reflector.ts';
import { KIND_RESOURCES } from '#crds/kinds/resources.ts';
import { FIELD_MANAGER } from '../../field-owner.ts';
import { Wakeup } from '../../wakeup.ts';
import type { Manifest, Observation, SecretObject } from '../../world.ts';
import type { GeneratedObject, GeneratedSecret, Source } from '../source.ts';
import { FetchedSecrets } from './fetched-secrets.ts';
import { findIn } from './find-in.ts';
import { KeySecrets } from './key-secrets.ts';
import { type Followed, KindManifests, type OnChange } from './kind-manifests.ts';
import { isLeaving } from './manifest.ts';
import { namedSecrets } from './named-secrets.ts';
import { ownedObject } from './owned-object.ts';
import { API_KEY_LABEL, secretFor, secretPatch } from './secret-object.ts';

export interface KubeOptions {
  readonly client: ApiClient;
  /** Whose objects are read; none: those of all namespaces. */
  readonly namespaces: readonly string[];
  /** Collections are not believed before they are as new as this (see `seen`). */
  readonly notBefore: Readonly<Record<string, string>>;
  /** The version of the object that was accepted last and may be served in its place: what it names is read too. */
  readonly accepted?: (manifest: Manifest) => Manifest | undefined;
  readonly onFault: (error: Error) => void;
}

export interface KubeSource extends Source {
  /** Version up to which each collection is known. */
  seen(): Readonly<Record<string, string>>;
  /** The object behind a manifest, with the status that is stored. */
  stored(manifest: { readonly kind: string; readonly namespace: string; readonly name: string }): ApiObject | undefined;
  /** `accepted` says something else by now: resolves once what that names was read, or could not be. */
  reread(): Promise<void>;
}

interface How {
  readonly onChange: OnChange;
  readonly labelSelector?: string;
  readonly metadataOnly?: boolean;
  readonly notBefore?: string | undefined;
}

/** From the first event to the refresh, and from one refresh to the next. */
const REFRESH = { delayMs: 5, everyMs: 50 };
const RETRY_MS = 2_000;
/** To read one: the others wait for it. */
const SECRET_MS = 5_000;

/** Resolves once everything was listed whole, and what it names was read. */
export async function openKube(options: KubeOptions): Promise<KubeSource> {
  const source = new Kube(options);
  await source.open();
  return source;
}

class Kube implements KubeSource {
  readonly #client: ApiClient;
  readonly #options: KubeOptions;
  readonly #kinds: ReadonlyMap<string, KindManifests>;
  readonly #keySecrets: readonly KeySecrets[];
  readonly #otherSecrets: readonly Followed[];
  readonly #fetched: FetchedSecrets;
  readonly #refreshing: Wakeup;
  #refreshed: Promise<void> = Promise.resolve();
  /** What was accepted once is what is fallen back to for as long as it stands. */
  readonly #namedByAccepted = new WeakMap<Manifest, readonly string[]>();
  /** Secrets of our own that are not observed yet. */
  #hasWritten = false;
  /** Whose Secrets were read; undefined: some may have to be read anew. */
  #readFor: readonly Manifest[] | undefined;
  /** How often. */
  #othersChanged = 0;
  #observation: Observation = { manifests: [], secrets: [], problems: [] };
  #listener: () => void = () => {};
  readonly #joinManifests = joiner<Manifest>();
  readonly #joinSecrets = joiner<SecretObject>();

  constructor(options: KubeOptions) {
    this.#options = options;
    this.#client = options.client;
    this.#refreshing = new Wakeup(() => this.#refreshInTurn(), {
      ...REFRESH,
      onDefect: (error) => options.onFault(error as Error),
    });
    this.#kinds = new Map([...KIND_RESOURCES].map(([kind, resource]) => [kind, this.#followKind(resource)]));
    this.#keySecrets = this.#scopes().map((namespace) => this.#followKeySecrets(namespace));
    this.#otherSecrets = this.#scopes().map((namespace) => this.#followOtherSecrets(namespace));
    const client = new ApiClient(options.client.transport, SECRET_MS);
    this.#fetched = new FetchedSecrets({ client, onFault: options.onFault });
  }

  async open(): Promise<void> {
    await Promise.all(this.#all().map(({ whenSynced }) => whenSynced));
    await this.#refreshInTurn();
  }

  async reread(): Promise<void> {
    this.#readFor = undefined;
    await this.#refreshInTurn();
  }

  observe(): Observation {
    if (this.#hasWritten) this.#observe(this.#observation.manifests);
    return this.#observation;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  seen(): Readonly<Record<string, string>> {
    const kinds = [...this.#kinds].map(([kind, { followed }]) => [kind, followed] as const);
    const versions = [...kinds, ['Secret', this.#otherSecrets] as const].flatMap(([kind, followed]) =>
      followed.map(({ resourceVersion }, place) => [
        collectionName(kind, this.#options.namespaces[place]),
        resourceVersion ?? '0',
      ]),
    );
    return Object.fromEntries(versions);
  }

  stored({ kind, namespace, name }: { kind: string; namespace: string; name: string }): ApiObject | undefined {
    return findIn(this.#kinds.get(kind)?.followed ?? [], `${namespace}/${name}`);
  }

  /** Rejects with 409 where the Secret exists: it is then the user's own. */
  async writeSecret(secret: GeneratedSecret): Promise<void> {
    const owner = this.#ownerOf(secret);
    if (owner === undefined) throw new Error(`${secret.owner} is gone`);
    const written = await this.#client.create(SECRETS, secretFor(secret, owner), FIELD_MANAGER);
    this.#keySecrets[this.#placeOf(secret.namespace)]?.wrote(written);
    this.#hasWritten = true;
  }

  async changeSecret(secret: SecretObject, changes: Readonly<Record<string, string | undefined>>): Promise<void> {
    const secrets = this.#keySecrets[this.#placeOf(secret.namespace)];
    const object = secrets?.objectOf(secret);
    if (secrets === undefined || object === undefined) {
      throw new Error(`Secret ${secret.namespace}/${secret.name} was changed by somebody else`);
    }
    const patch = secretPatch(object, changes);
    const changed = await this.#client.patchMerge(SECRETS, object.metadata, patch, { fieldManager: FIELD_MANAGER });
    secrets.wrote(changed);
    this.#refreshing.wake();
  }

  /** One that exists is somebody's who was quicker: the watch tells of it. */
  async writeObject(object: GeneratedObject): Promise<void> {
    const owner = this.#ownerOf(object);
    if (owner === undefined) throw new Error(`${object.owner} is gone`);
    await this.#client.create(resourceOf(object.kind), ownedObject(object, owner), FIELD_MANAGER);
  }

  async annotate(object: Manifest, annotations: Readonly<Record<string, string>>): Promise<void> {
    const { kind, namespace, name, uid } = object;
    const patch = { metadata: { uid, annotations } };
    await this.#client.patchMerge(resourceOf(kind), { namespace, name }, patch, { fieldManager: FIELD_MANAGER });
  }

  async close(): Promise<void> {
    this.#refreshing.close();
    for (const reflection of this.#all()) reflection.close();
  }

  /** Namespaces; undefined: all. */
  #scopes(): readonly (string | undefined)[] {
    const { namespaces } = this.#options;
    return namespaces.length === 0 ? [undefined] : namespaces;
  }

  #followKind(resource: Resource): KindManifests {
    return new KindManifests((onChange) =>
      this.#scopes().map((namespace) =>
        this.#follow(resource, namespace, { onChange, notBefore: this.#notBefore(resource.kind, namespace) }),
      ),
    );
  }

  #followKeySecrets(namespace: string | undefined): KeySecrets {
    const owners = this.#kinds.get('ApiKey');
    if (owners === undefined) throw new Error('there is no kind ApiKey');
    return new KeySecrets(owners, (onChange) =>
      this.#follow(SECRETS, namespace, { onChange, labelSelector: API_KEY_LABEL }),
    );
  }

  #followOtherSecrets(namespace: string | undefined): Followed {
    return this.#follow(SECRETS, namespace, {
      labelSelector: `!${API_KEY_LABEL}`,
      metadataOnly: true,
      notBefore: this.#notBefore('Secret', namespace),
      onChange: () => {
        this.#othersChanged += 1;
        this.#readFor = undefined;
      },
    });
  }

  #follow(resource: Resource, namespace: string | undefined, { onChange, ...how }: How): Followed {
    return reflect({
      client: this.#client,
      resource,
      namespace,
      ...how,
      onChange: (changed) => {
        onChange(changed);
        this.#refreshing.wake();
      },
      onFault: this.#options.onFault,
    });
  }

  #notBefore(kind: string, namespace: string | undefined): string | undefined {
    return this.#options.notBefore[collectionName(kind, namespace)];
  }

  #all(): readonly Followed[] {
    const kinds = [...this.#kinds.values()].flatMap(({ followed }) => followed);
    return [...kinds, ...this.#keySecrets.map(({ followed }) => followed), ...this.#otherSecrets];
  }

  #ownerOf({ owner }: { readonly owner: string }): Manifest | undefined {
    const [kind = '', key = ''] = owner.split(' ');
    return this.#kinds.get(kind)?.get(key);
  }

  #placeOf(namespace: string): number {
    return Math.max(0, this.#scopes().indexOf(namespace));
  }

  /** One at a time: the last one begun is the last to tell. */
  #refreshInTurn(): Promise<void> {
    const turn = this.#refreshed.then(() => this.#refresh());
    this.#refreshed = turn.catch(() => {});
    return turn;
  }

  /** Reads what is named and new before anything is told, so that no object is judged by half of what it names. */
  async #refresh(): Promise<void> {
    const manifests = this.#joinManifests([...this.#kinds.values()].map((kind) => kind.read()));
    await this.#readNamed(manifests);
    if (this.#observe(manifests)) this.#listener();
  }

  async #readNamed(manifests: readonly Manifest[]): Promise<void> {
    if (this.#readFor === manifests) return;
    const changes = this.#othersChanged;
    const isComplete = await this.#fetched.read(this.#fetched.follow(this.#namedBy(manifests)));
    this.#readFor = isComplete && changes === this.#othersChanged ? manifests : undefined;
    if (!isComplete) this.#refreshing.wake(RETRY_MS);
  }

  #namedBy(manifests: readonly Manifest[]): ReadonlyMap<string, ApiObject> {
    const named = new Map<string, ApiObject>();
    for (const manifest of manifests) {
      for (const key of this.#secretsOf(manifest)) {
        const object = findIn(this.#otherSecrets, key);
        if (object !== undefined && !isLeaving(object)) named.set(key, object);
      }
    }
    return named;
  }

  /** A bad edit takes nothing away from the version that is served in its place. */
  #secretsOf(manifest: Manifest): readonly string[] {
    const known = this.#namedByAccepted.get(manifest);
    if (known !== undefined) return known;
    const named = namedSecrets(manifest);
    const accepted = this.#options.accepted?.(manifest);
    if (accepted === manifest) this.#namedByAccepted.set(manifest, named);
    return accepted === undefined || accepted === manifest ? named : [...named, ...namedSecrets(accepted)];
  }

  /** Whether anything is other than before. */
  #observe(manifests: readonly Manifest[]): boolean {
    this.#hasWritten = false;
    const secrets = this.#joinSecrets([...this.#keySecrets.map((one) => one.read()), this.#fetched.secrets()]);
    const before = this.#observation;
    if (before.manifests === manifests && before.secrets === secrets) return false;
    this.#observation = { manifests, secrets, problems: [] };
    return true;
  }
}

function resourceOf(kind: string): Resource {
  const resource = KIND_RESOURCES.get(kind);
  if (resource === undefined) throw new Error(`there is no kind ${kind}`);
  return resource;
}

function collectionName(kind: string, namespace: string | undefined): string {
  return `${kind} ${namespace ?? '*'}`;
}

/** Joins lists; gives the same list as before where each is the same as before. */
function joiner<T>(): (lists: readonly (readonly T[])[]) => readonly T[] {
  let before: readonly (readonly T[])[] = [];
  let joined: readonly T[] = [];
  return (lists) => {
    if (lists.length !== before.length || lists.some((list, at) => list !== before[at])) joined = lists.flat();
    before = lists;
    return joined;
  };
}

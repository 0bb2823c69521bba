/**
 * Keeps the snapshot's objects as they shall be: what differs is written, the index last, and what belongs to no snapshot is
 * deleted. Every write names the version that it replaces, so that one who was not current can overwrite nothing.
 */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { type ApiObject, CONFIG_MAPS, SECRETS } from '#crds/api/api-object.ts';
import { type Reflection, reflect } from '#crds/api/reflector.ts';
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { encodeSnapshot } from '#crds/snapshot/encode.ts';
import { indexSchema, type SnapshotIndex } from '#crds/snapshot/index-document.ts';
import { indexObject, SHARD_KEY, SNAPSHOT_LABEL, shardObject } from '#crds/snapshot/object-names.ts';
import { Packer } from '#crds/snapshot/packer.ts';
import type { LastGood } from '../compile/elect.ts';
import { FIELD_MANAGER } from '../field-owner.ts';
import type { Publication } from '../loop.ts';
import type { Manifest } from '../world.ts';
import { ACCEPTED_PREFIX, decodeAccepted, encodeAccepted } from './accepted-shards.ts';
import { bytesIn, isCurrent, type Owner, objectOf, type Part, type Place, resourceOf } from './snapshot-objects.ts';
import { Stored } from './stored.ts';

export interface PublisherOptions extends Place {
  readonly client: ApiClient;
  /** Shards of one kind, at most. */
  readonly maxShards: number;
  /** With what all of it goes, as long as that is known. */
  readonly owner: () => Owner;
  /** Asked before each write: false once another operator leads. */
  readonly mayWrite: () => boolean;
  /** Highest generation that any gateway has told of. */
  readonly servedGeneration: () => number;
  /** Up to which version each collection was known when the snapshot was compiled; kept with the index. */
  readonly seen: () => Readonly<Record<string, string>>;
  /** Somebody else changed or deleted what was published. */
  readonly onDisturbed: () => void;
  readonly onFault: (error: Error) => void;
}

/** Annotation of the index. */
const SEEN_ANNOTATION = 'modelgateway.dev/seen';
const FOLLOWED: readonly Part['kind'][] = ['ConfigMap', 'Secret'];

export class NotLeading extends Error {
  override readonly name = 'NotLeading';
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #reflections: Readonly<Record<Part['kind'], Reflection & { readonly whenSynced: Promise<void> }>>;
  readonly #stored: Readonly<Record<Part['kind'], Stored>>;
  readonly #packer = new Packer();
  #wanted: readonly Part[] = [];
  /** What this program published last. */
  #last: Publication | undefined;

  constructor(options: PublisherOptions) {
    const { client, namespace, release, onFault } = options;
    const onChange = () => this.#onChange();
    const follow = (resource: typeof SECRETS) =>
      reflect({ client, resource, namespace, labelSelector: `${SNAPSHOT_LABEL}=${release}`, onChange, onFault });
    this.#options = options;
    this.#reflections = { ConfigMap: follow(CONFIG_MAPS), Secret: follow(SECRETS) };
    this.#stored = {
      ConfigMap: new Stored(this.#reflections.ConfigMap),
      Secret: new Stored(this.#reflections.Secret),
    };
  }

  get whenSynced(): Promise<unknown> {
    return Promise.all(FOLLOWED.map((kind) => this.#reflections[kind].whenSynced));
  }

  close(): void {
    for (const kind of FOLLOWED) this.#reflections[kind].close();
  }

  /** What the stored index says; undefined where there is none that can be read. */
  published(): SnapshotIndex | undefined {
    const { kind, name, key } = indexObject(this.#options.release);
    const bytes = this.#bytesOf(kind, name, key);
    if (bytes === undefined) return undefined;
    try {
      return indexSchema.parse(JSON.parse(bytes.toString()));
    } catch {
      return undefined;
    }
  }

  /** Version of each collection that the published snapshot was made from. */
  seen(): Readonly<Record<string, string>> {
    const index = this.#stored.ConfigMap.get(this.#key(indexObject(this.#options.release).name));
    try {
      return Object(JSON.parse(index?.metadata.annotations?.[SEEN_ANNOTATION] ?? '{}'));
    } catch {
      return {};
    }
  }

  /** The last accepted version of every object, as the leader kept it. What cannot be read is as if it were not there. */
  accepted(): readonly Manifest[] {
    const prefix = `${this.#options.release}-${ACCEPTED_PREFIX}-`;
    const shards = [...this.#stored.Secret.values()].filter(({ metadata }) => metadata.name.startsWith(prefix));
    try {
      return decodeAccepted(shards.flatMap((shard) => bytesIn(shard, SHARD_KEY) ?? []));
    } catch (error) {
      this.#options.onFault(error as Error);
      return [];
    }
  }

  /** Writes only what differs. Throws NotLeading, SnapshotTooLarge, or ApiError; then the next call goes on from there. */
  async publish(snapshot: Snapshot, accepted: LastGood): Promise<Publication> {
    const { release, maxShards, seen } = this.#options;
    const encoded = encodeSnapshot(snapshot, 0, { maxShards, packer: this.#packer });
    const { hash } = encoded;
    const isNew = this.published()?.hash !== hash;
    const publication = { generation: this.#generationOf(hash), hash, isNew };
    const shards = [...encoded.shards].map(([shard, bytes]): Part => ({ ...shardObject(release, shard), bytes }));
    const kept = encodeAccepted(accepted, maxShards, this.#packer).map(
      (bytes, index): Part => ({
        kind: 'Secret',
        name: `${release}-${ACCEPTED_PREFIX}-${index}`,
        key: SHARD_KEY,
        bytes,
      }),
    );
    const index: Part = {
      ...indexObject(release),
      bytes: Buffer.from(JSON.stringify({ ...JSON.parse(encoded.index), generation: publication.generation })),
      annotations: { [SEEN_ANNOTATION]: JSON.stringify(seen()) },
    };
    await Promise.all([...shards, ...kept].map((part) => this.#write(part)));
    await this.#write(index);
    this.#last = publication;
    this.#wanted = [...shards, ...kept, index];
    await this.#deleteOthers();
    return publication;
  }

  /** The same content keeps its number, even where somebody deleted the index; a number is never given twice. */
  #generationOf(hash: string): number {
    const stored = this.published();
    if (stored?.hash === hash) return stored.generation;
    if (stored === undefined && this.#last?.hash === hash) return this.#last.generation;
    const served = stored === undefined ? this.#options.servedGeneration() : 0;
    return Math.max(this.#last?.generation ?? 0, stored?.generation ?? 0, served) + 1;
  }

  async #write(part: Part): Promise<void> {
    const stored = this.#stored[part.kind].get(this.#key(part.name));
    if (stored !== undefined && this.#isCurrent(part, stored)) return;
    this.#assertLeading();
    const { client } = this.#options;
    const object = this.#objectOf(part, stored);
    const written =
      stored === undefined
        ? await this.#create(part, object)
        : await client.replace(resourceOf(part), object, FIELD_MANAGER);
    this.#stored[part.kind].wrote(written);
  }

  /** One of our name without our label is not watched: it is taken over. With it, the watch has not told of it yet. */
  async #create(part: Part, object: ApiObject): Promise<ApiObject> {
    const { client, namespace } = this.#options;
    const resource = resourceOf(part);
    try {
      return await client.create(resource, object, FIELD_MANAGER);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
      const other = await client.read(resource, namespace, part.name);
      if (other === undefined || other.metadata.labels?.[SNAPSHOT_LABEL] === this.#options.release) throw error;
      this.#assertLeading();
      return client.replace(resource, this.#objectOf(part, other), FIELD_MANAGER);
    }
  }

  #onChange(): void {
    if (this.#wanted.length > 0 && this.#options.mayWrite() && this.#isDisturbed()) this.#options.onDisturbed();
  }

  #isDisturbed(): boolean {
    const isLacking = (part: Part) => {
      const stored = this.#stored[part.kind].get(this.#key(part.name));
      return stored === undefined || !this.#isCurrent(part, stored);
    };
    return this.#wanted.some(isLacking) || this.#others().length > 0;
  }

  #others(): readonly { readonly kind: Part['kind']; readonly object: ApiObject }[] {
    const wanted = new Set(this.#wanted.map(({ kind, name }) => `${kind} ${name}`));
    return FOLLOWED.flatMap((kind) =>
      [...this.#stored[kind].values()]
        .filter(({ metadata }) => !wanted.has(`${kind} ${metadata.name}`))
        .map((object) => ({ kind, object })),
    );
  }

  async #deleteOthers(): Promise<void> {
    const { client, namespace } = this.#options;
    for (const { kind, object } of this.#others()) {
      const { name, resourceVersion } = object.metadata;
      this.#assertLeading();
      const options = resourceVersion === undefined ? {} : { resourceVersion };
      await client.delete(resourceOf({ kind }), namespace, name, options);
      this.#stored[kind].deleted(this.#key(name));
    }
  }

  #objectOf(part: Part, stored: ApiObject | undefined): ApiObject {
    return objectOf(part, this.#options, this.#options.owner(), stored);
  }

  #isCurrent(part: Part, stored: ApiObject): boolean {
    return isCurrent(part, stored, this.#options, this.#options.owner());
  }

  #assertLeading(): void {
    if (!this.#options.mayWrite()) throw new NotLeading('another operator leads');
  }

  #bytesOf(kind: Part['kind'], name: string, key: string): Buffer | undefined {
    const object = this.#stored[kind].get(this.#key(name));
    return object === undefined ? undefined : bytesIn(object, key);
  }

  #key(name: string): string {
    return `${this.#options.namespace}/${name}`;
  }
}

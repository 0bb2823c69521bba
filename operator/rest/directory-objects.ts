/** Objects of the control plane as files, in embedded mode. What lies among the user's own manifests is the user's. */
import { randomUUID } from 'node:crypto';
import { stat, unlink } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { API_GROUP, API_VERSION } from '#crds/object.ts';
import type { ObjectStatus } from '../compile/status.ts';
import type { DirectorySource } from '../source/directory/directory.ts';
import { isMissing } from '../source/directory/scan.ts';
import type { Manifest, Place } from '../world.ts';
import { assertChangeable, assertRemovable, goneMeanwhile, isSame } from './changed-fields.ts';
import { createFile, objectPath, replaceFile } from './object-file.ts';
import { idOf } from './object-id.ts';
import type {
  Annotations,
  Change,
  ControlKind,
  Draft,
  ObjectStore,
  Selection,
  Spec,
  StoredObject,
} from './stored-object.ts';

export interface DirectoryObjectsOptions {
  readonly source: Pick<DirectorySource, 'observe' | 'scan'>;
  /** Of the control plane's own files, absolute; one of those that the source reads. */
  readonly directory: string;
  /** What the source shows paths relative to. */
  readonly shownFrom: string;
  readonly statuses: () => readonly ObjectStatus[];
}

interface FileObject extends StoredObject {
  readonly manifest: Manifest;
  readonly path: string;
}

interface FileMetadata {
  readonly creationTimestamp?: string;
  readonly annotations?: Annotations;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly uid?: string }[];
}

export class DirectoryObjects implements ObjectStore {
  readonly #options: DirectoryObjectsOptions;
  /** One write at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DirectoryObjectsOptions) {
    this.#options = options;
  }

  async list(
    kind: ControlKind,
    namespace: string | undefined,
    selection: Selection = {},
  ): Promise<readonly FileObject[]> {
    const { source, statuses: statusesNow } = this.#options;
    const first = new Map<string, Manifest>();
    for (const manifest of source.observe().manifests) {
      const isAsked = (namespace ?? manifest.namespace) === manifest.namespace && isMeant(manifest, selection);
      const key = `${manifest.namespace}/${manifest.name}`;
      if (manifest.kind === kind && isAsked && !first.has(key)) first.set(key, manifest);
    }
    const statuses = new Map(
      statusesNow()
        .filter((status) => status.kind === kind && !status.isDuplicate)
        .map((status) => [`${status.namespace}/${status.name}`, status]),
    );
    return Promise.all([...first].map(([key, manifest]) => this.#stored(kind, manifest, statuses.get(key))));
  }

  create(draft: Draft): Promise<StoredObject | undefined> {
    return this.#inTurn(async () => {
      const { kind, namespace, name, labels, owner, spec } = draft;
      const path = objectPath(this.#options.directory, draft);
      if ((await this.list(kind, namespace, { name })).length > 0) return undefined;
      const creationTimestamp = new Date().toISOString();
      const owned = owner === undefined ? {} : { ownerReferences: [referenceTo(owner)] };
      const metadata = {
        name,
        namespace,
        uid: randomUUID(),
        generation: 1,
        creationTimestamp,
        ...(labels && { labels }),
        ...owned,
      };
      const isNew = await createFile(path, { apiVersion: `${API_GROUP}/${API_VERSION}`, kind, metadata, spec });
      if (!isNew) return undefined;
      return this.#reread(draft, path);
    });
  }

  change(object: StoredObject, next: (current: StoredObject) => Change): Promise<StoredObject> {
    return this.#inTurn(async () => {
      const current = await this.#current(object);
      const change = next(current);
      if (isSame(current, change)) return current;
      assertChangeable(current, change);
      // An annotation is a line of the user's file too.
      assertRemovable(current);
      const { manifest, path } = current;
      const generation =
        manifest.generation + (isSame(current, { ...change, annotations: current.annotations }) ? 0 : 1);
      const { spec, annotations } = change;
      const noted = Object.keys(annotations).length === 0 ? {} : { annotations };
      const metadata = { ...(manifest.raw['metadata'] as object), generation, ...noted };
      await replaceFile(path, { ...manifest.raw, metadata, spec });
      return this.#reread(object, path);
    });
  }

  remove(object: StoredObject): Promise<void> {
    return this.#inTurn(async () => {
      const current = await this.#current(object);
      assertRemovable(current);
      const paths = [current.path, ...this.#ownedBy(current)];
      for (const path of paths) await unlink(path);
      await this.#options.source.scan(new Set(paths));
    });
  }

  /** Files of ours that go with an object, as an API server would have them go. */
  #ownedBy({ id, namespace }: FileObject): readonly string[] {
    const { source, directory, shownFrom } = this.#options;
    return source
      .observe()
      .manifests.filter((one) => one.namespace === namespace && metadataOf(one).ownerReferences?.[0]?.uid === id)
      .map(({ place }) => resolve(shownFrom, place?.file ?? ''))
      .filter((path) => path.startsWith(directory + sep));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #reread(object: Pick<StoredObject, 'kind' | 'namespace' | 'name'>, path: string): Promise<StoredObject> {
    await this.#options.source.scan(new Set([path]));
    const [found] = await this.list(object.kind, object.namespace, { name: object.name });
    if (found === undefined) throw new Error(`${path} was written and is not there`);
    return found;
  }

  async #current(object: StoredObject): Promise<FileObject> {
    const found = await this.list(object.kind, object.namespace, { name: object.name });
    const same = found.find(({ id }) => id === object.id);
    if (same === undefined) throw goneMeanwhile(object);
    return same;
  }

  async #stored(kind: ControlKind, manifest: Manifest, status: ObjectStatus | undefined): Promise<FileObject> {
    const { directory, shownFrom } = this.#options;
    const { namespace, name, raw, place } = manifest;
    const { creationTimestamp, annotations = {}, ownerReferences = [] } = metadataOf(manifest);
    const path = resolve(shownFrom, place?.file ?? '');
    const isOurs = path.startsWith(directory + sep);
    const { bornAt, writtenAt } = await timesOf(path);
    const createdAt = creationTimestamp ?? bornAt;
    return {
      manifest,
      path,
      kind,
      namespace,
      name,
      id: manifest.uid ?? idOf(`${kind} ${namespace}/${name}`),
      spec: Object(raw['spec']) as Spec,
      annotations,
      ownerId: ownerReferences[0]?.uid,
      status: { ...status?.fields, conditions: status?.generation === manifest.generation ? status.conditions : [] },
      createdAt,
      // Clocks of files are coarse.
      updatedAt: writtenAt > createdAt ? writtenAt : createdAt,
      isOurs,
      ownerOf: () => (isOurs || place === undefined ? undefined : fileOf(place)),
    };
  }
}

function metadataOf({ raw }: Manifest): FileMetadata {
  return Object(raw['metadata']) as FileMetadata;
}

function isMeant(manifest: Manifest, { name, label }: Selection): boolean {
  if ((name ?? manifest.name) !== manifest.name) return false;
  return label === undefined || metadataOf(manifest).labels?.[label[0]] === label[1];
}

function referenceTo({ kind, name, id: uid }: StoredObject): object {
  return { apiVersion: `${API_GROUP}/${API_VERSION}`, kind, name, uid };
}

function fileOf({ file, line }: Place): string {
  return `the file ${file}:${line}`;
}

/** A file that went meanwhile is as old as can be. */
async function timesOf(path: string): Promise<{ readonly bornAt: string; readonly writtenAt: string }> {
  try {
    const { birthtime, mtime } = await stat(path);
    return { bornAt: birthtime.toISOString(), writtenAt: mtime.toISOString() };
  } catch (error) {
    if (!isMissing(error)) throw error;
    const never = new Date(0).toISOString();
    return { bornAt: never, writtenAt: never };
  }
}

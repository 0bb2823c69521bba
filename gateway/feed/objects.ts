/**
 * Snapshots from the API server, within a moment of their publication: the index is watched by name, and the shards that it names
 * anew are read by name. The server may be away as long as it likes: what is served is served.
 */
import type { ApiClient } from '#crds/api/api-client.ts';
import { ApiError } from '#crds/api/api-error.ts';
import { type ApiObject, CONFIG_MAPS, type Resource, SECRETS } from '#crds/api/api-object.ts';
import { Backoff } from '#crds/api/backoff.ts';
import { type Reflection, reflect } from '#crds/api/reflector.ts';
import type { Complaints } from '#crds/command/complaints.ts';
import type { ShardEntry } from '#crds/snapshot/index-document.ts';
import { INDEX_KEY, indexObject, SHARD_KEY, type SnapshotObject, shardObject } from '#crds/snapshot/object-names.ts';
import { readPublishedIndex } from '../snapshot/published-index.ts';
import type { Intake } from './intake.ts';
import { Rounds } from './rounds.ts';

export interface ObjectsOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Prefix of the objects' names. */
  readonly release: string;
  readonly intake: Intake;
  readonly complaints: Complaints;
}

const RESOURCES: Readonly<Record<SnapshotObject['kind'], Resource>> = { ConfigMap: CONFIG_MAPS, Secret: SECRETS };
const WATCH_FAILED = 'snapshot watch failed';
/** While shards cannot be had, or do not fit the index. */
const RETRY = { firstMs: 200, mostMs: 10_000 };

export class Objects {
  readonly #options: ObjectsOptions;
  readonly #rounds = new Rounds(() => this.#look());
  readonly #backoff = new Backoff(RETRY);
  #index: Reflection | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: ObjectsOptions) {
    this.#options = options;
  }

  start(): void {
    const { client, namespace, release, complaints } = this.#options;
    this.#index = reflect({
      client,
      resource: CONFIG_MAPS,
      namespace,
      fieldSelector: `metadata.name=${indexObject(release).name}`,
      onChange: () => {
        this.#backoff.reset();
        complaints.forget(WATCH_FAILED);
        this.#rounds.hint();
      },
      onFault: (error) => complaints.tell('warn', WATCH_FAILED, { reason: error.message }, kindOf(error)),
    });
  }

  async close(): Promise<void> {
    this.#index?.close();
    await this.#rounds.close();
    clearTimeout(this.#retry);
  }

  async #look(): Promise<void> {
    clearTimeout(this.#retry);
    const { namespace, release, intake, complaints } = this.#options;
    const object = this.#index?.objects.get(`${namespace}/${indexObject(release).name}`);
    const text = valuesOf(object, 'data')[INDEX_KEY];
    if (typeof text !== 'string') return;
    try {
      const outcome = await intake.take(text, (entry) => this.#read(entry));
      if (outcome === 'incomplete') this.#lookLater();
      if (outcome === 'older') {
        const generation = readPublishedIndex(text)?.generation;
        complaints.tell('warn', 'published snapshot is older than the served one', { generation });
      }
    } catch (error) {
      complaints.tell('warn', 'snapshot shard unreadable', { reason: (error as Error).message });
      this.#lookLater();
    }
  }

  async #read({ name }: ShardEntry): Promise<Uint8Array | undefined> {
    const { client, namespace, release } = this.#options;
    const shard = shardObject(release, name);
    const object = await client.read(RESOURCES[shard.kind], namespace, shard.name);
    const text = valuesOf(object, shard.kind === 'Secret' ? 'data' : 'binaryData')[SHARD_KEY];
    return typeof text === 'string' ? Buffer.from(text, 'base64') : undefined;
  }

  #lookLater(): void {
    this.#retry = setTimeout(() => this.#rounds.hint(), this.#backoff.nextMs());
    this.#retry.unref();
  }
}

/** Messages name versions and times, which differ each time. */
function kindOf(error: Error): string {
  return error instanceof ApiError ? `${error.status} ${error.reason}` : error.message;
}

function valuesOf(object: ApiObject | undefined, field: 'data' | 'binaryData'): Readonly<Record<string, unknown>> {
  return Object(object?.[field]);
}

/**
 * What replicas know of one another, from the mounted volume and from the API server; the higher version counts. There is none
 * where replicas share a store, or where only one is: limits hold then as well.
 */
import { join } from 'node:path';
import type { ApiObject } from '#crds/api/api-object.ts';
import { CONFIG_MAPS } from '#crds/api/api-object.ts';
import { type Reflection, reflect } from '#crds/api/reflector.ts';
import type { Complaints } from '#crds/command/complaints.ts';
import { sharesObject } from '#crds/snapshot/object-names.ts';
import { decodeShares, SHARES_KEY, type Shares } from '#crds/snapshot/shares.ts';
import { readBoundedFile } from './bounded-file.ts';
import { Rounds } from './rounds.ts';
import type { ApiPlace } from './start-feed.ts';

export interface SharesFeedOptions {
  /** Where the volume is mounted. */
  readonly directory: string;
  /** Takes what is newer than what it has. */
  readonly take: (shares: Shares) => unknown;
  readonly complaints: Complaints;
  /** Between two looks at the volume. Default 3,000. */
  readonly pollMs?: number | undefined;
}

const POLL_MS = 3_000;
const UNREADABLE = 'shares unreadable';
const WATCH_FAILED = 'shares watch failed';

export class SharesFeed {
  readonly #options: SharesFeedOptions;
  readonly #rounds = new Rounds(() => this.#look());
  #timer: NodeJS.Timeout | undefined;
  #object: Reflection | undefined;
  #name = '';
  /** Taken last, of each source: most looks find the same. */
  #seen: Uint8Array | undefined;
  #seenObject: ApiObject | undefined;

  constructor(options: SharesFeedOptions) {
    this.#options = options;
  }

  /** Resolves after the first look at the volume. */
  async start(): Promise<void> {
    this.#rounds.hint();
    await this.#rounds.idle();
    this.#timer = setInterval(() => this.#rounds.hint(), this.#options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  follow({ client, namespace, release }: ApiPlace): void {
    const { complaints } = this.#options;
    const { name } = sharesObject(release);
    this.#name = `${namespace}/${name}`;
    this.#object = reflect({
      client,
      resource: CONFIG_MAPS,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      onChange: () => {
        complaints.forget(WATCH_FAILED);
        this.#rounds.hint();
      },
      // The snapshot's own watch warns of an API server that is away.
      onFault: (error) => complaints.tell('info', WATCH_FAILED, { reason: error.message }),
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#object?.close();
    await this.#rounds.close();
  }

  async #look(): Promise<void> {
    this.#lookAtObject();
    await this.#lookAtVolume();
  }

  async #lookAtVolume(): Promise<void> {
    const { directory, complaints } = this.#options;
    try {
      const bytes = await readBoundedFile(join(directory, SHARES_KEY));
      if (bytes === undefined || (this.#seen !== undefined && bytes.equals(this.#seen))) return;
      this.#seen = bytes;
      this.#take(bytes, 'volume');
    } catch (error) {
      complaints.tell('warn', UNREADABLE, { source: 'volume', reason: (error as Error).message });
    }
  }

  #lookAtObject(): void {
    const object = this.#object?.objects.get(this.#name);
    if (object === undefined || object === this.#seenObject) return;
    this.#seenObject = object;
    const bytes = sharesBytes(object);
    if (bytes !== undefined) this.#take(bytes, 'api');
  }

  #take(bytes: Uint8Array, source: 'volume' | 'api'): void {
    const { take, complaints } = this.#options;
    try {
      take(decodeShares(bytes));
    } catch (error) {
      complaints.tell('warn', UNREADABLE, { source, reason: (error as Error).message });
    }
  }
}

function sharesBytes(object: ApiObject): Uint8Array | undefined {
  const { data, binaryData } = object as { data?: Record<string, unknown>; binaryData?: Record<string, unknown> };
  const text = data?.[SHARES_KEY];
  if (typeof text === 'string') return Buffer.from(text);
  const packed = binaryData?.[SHARES_KEY];
  return typeof packed === 'string' ? Buffer.from(packed, 'base64') : undefined;
}

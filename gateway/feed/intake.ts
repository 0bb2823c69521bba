/** From the text of an index to a whole snapshot: every shard that it names, each with the hash that it names. */

import type { Complaints } from '#crds/command/complaints.ts';
import { type ShardEntry, sha256Hex } from '#crds/snapshot/index-document.ts';
import { type PublishedIndex, readPublishedIndex, shardBeyond } from '../snapshot/published-index.ts';
import type { Feed, FeedSource, Shards, Standing } from './feed.ts';

/** undefined: there is none (yet). Rejects: it cannot be had now. */
export type ReadShard = (entry: ShardEntry) => Promise<Uint8Array | undefined>;

export interface IntakeOptions {
  readonly feed: Feed;
  readonly source: FeedSource;
  readonly maxShards: number;
  readonly complaints: Complaints;
}

/** `incomplete`: shards of it are not there yet, or of another generation. `unreadable`: it says not even its generation. */
export type Outcome = Exclude<Standing, 'wanted'> | 'offered' | 'incomplete' | 'unreadable';

const READS_AT_ONCE = 4;

export class Intake {
  readonly #options: IntakeOptions;
  /** Of a snapshot that is not whole yet, by hash. */
  #partial = new Map<string, Uint8Array>();

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Offers it, if it is wanted and whole. Rejects as `read`. */
  async take(text: string, read: ReadShard): Promise<Outcome> {
    const { feed, source, maxShards, complaints } = this.#options;
    const index = readPublishedIndex(text);
    if (index === undefined) {
      complaints.tell('warn', 'snapshot index unreadable', { source, reason: 'index: must be JSON with a generation' });
      return 'unreadable';
    }
    const standing = feed.standing(index);
    if (standing !== 'wanted') return standing;
    const isReadable = index.shards !== undefined && shardBeyond(index.shards, maxShards) === undefined;
    const shards = isReadable ? await this.#gather(index, read) : new Map<string, Uint8Array>();
    if (shards === undefined) return 'incomplete';
    feed.offer(index, shards, source);
    return 'offered';
  }

  /** undefined: not whole. */
  async #gather(index: PublishedIndex, read: ReadShard): Promise<Shards | undefined> {
    const { feed, source, complaints } = this.#options;
    const entries = index.shards ?? [];
    const wanted = new Set(entries.map(({ hash }) => hash));
    this.#partial = new Map([...this.#partial].filter(([hash]) => wanted.has(hash)));
    const absent = entries.filter(({ hash }) => feed.shard(hash) === undefined && !this.#partial.has(hash));
    const reasons = await this.#readAll(absent, read);
    const [reason] = reasons;
    if (reason !== undefined) {
      const { generation, hash } = index;
      complaints.tell('info', 'snapshot incomplete', { generation, hash, source, reason });
      return undefined;
    }
    const known = (hash: string) => feed.shard(hash) ?? this.#partial.get(hash) ?? new Uint8Array();
    const shards = new Map(entries.map(({ name, hash }) => [name, known(hash)]));
    this.#partial.clear();
    return shards;
  }

  /** Why some could not be had. */
  async #readAll(entries: readonly ShardEntry[], read: ReadShard): Promise<string[]> {
    const reasons: string[] = [];
    const waiting = entries.values();
    const readers = Array.from({ length: READS_AT_ONCE }, async () => {
      for (const entry of waiting) {
        const bytes = await read(entry);
        if (bytes === undefined) reasons.push(`shard ${entry.name} is missing`);
        else if (sha256Hex(bytes) !== entry.hash) reasons.push(`shard ${entry.name} is of another generation`);
        else this.#partial.set(entry.hash, bytes);
      }
    });
    await Promise.all(readers);
    return reasons;
  }
}

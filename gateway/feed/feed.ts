/**
 * Which of the snapshots on offer is served: the one of the highest generation. Sources differ in how soon they know, not in
 * what they say, so that where one came from decides nothing.
 */

import { roundMs } from '#crds/command/log-text.ts';
import { sha256Hex } from '#crds/snapshot/index-document.ts';
import type { Gateway } from '../server.ts';
import type { PublishedIndex } from '../snapshot/published-index.ts';

/** `state`: the last good one, of an earlier run. */
export type FeedSource = 'volume' | 'api' | 'state';
export type Shards = ReadonlyMap<string, Uint8Array>;

/** `refused`: the gateway had it already, and would refuse it again. */
export type Standing = 'wanted' | 'served' | 'older' | 'refused';

export interface FeedOptions {
  readonly gateway: Pick<Gateway, 'load' | 'log'>;
  /** What is served from now on. */
  readonly onServed: (index: PublishedIndex, shards: Shards, source: FeedSource) => void;
}

const MAX_REFUSED = 32;

export class Feed {
  readonly #options: FeedOptions;
  #served: { readonly generation: number; readonly hash: string } | undefined;
  #shards: Shards = new Map();
  /** Hashes of index texts: an index that is repaired is tried again, one that is not is not. */
  readonly #refused = new Set<string>();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** An equal generation of other content is wanted, so that the gateway refuses it aloud. */
  standing(index: PublishedIndex): Standing {
    const { generation, hash } = this.#served ?? { generation: -1, hash: '' };
    if (index.generation < generation) return 'older';
    if (index.generation === generation && index.hash === hash) return 'served';
    return this.#refused.has(sha256Hex(index.text)) ? 'refused' : 'wanted';
  }

  /** Bytes of a shard that is in use, by its hash. */
  shard(hash: string): Uint8Array | undefined {
    return this.#shards.get(hash);
  }

  /** Loads it, if it is still wanted. */
  offer(index: PublishedIndex, shards: Shards, source: FeedSource): void {
    if (this.standing(index) !== 'wanted') return;
    const { gateway, onServed } = this.#options;
    const startedMs = performance.now();
    const { generation, hash, refused } = gateway.load({ index: index.text, shards }, source);
    if (refused !== undefined) {
      this.#refuse(index);
      return;
    }
    const tookMs = roundMs(performance.now() - startedMs);
    this.#served = { generation, hash };
    this.#shards = byHash(index, shards);
    gateway.log.event('info', 'snapshot loaded', { generation, hash, source, took_ms: tookMs });
    onServed(index, shards, source);
  }

  #refuse({ text }: PublishedIndex): void {
    const [oldest] = this.#refused;
    if (oldest !== undefined && this.#refused.size >= MAX_REFUSED) this.#refused.delete(oldest);
    this.#refused.add(sha256Hex(text));
  }
}

function byHash({ shards: entries = [] }: PublishedIndex, shards: Shards): Shards {
  const known = new Map<string, Uint8Array>();
  for (const { name, hash } of entries) {
    const bytes = shards.get(name);
    if (bytes !== undefined) known.set(hash, bytes);
  }
  return known;
}

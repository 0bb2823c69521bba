/** Puts snapshots into use, and keeps the one before where one is refused. */

import { decodeSnapshot, type ShardMemory, SnapshotRefused } from '#crds/snapshot/decode.ts';
import { type EncodedSnapshot, MAX_SHARDS } from '#crds/snapshot/index-document.ts';
import type { GatewayState } from '../gateway-state.ts';
import { ActiveSnapshot } from './active-snapshot.ts';
import { type PublishedIndex, readPublishedIndex, shardBeyond } from './published-index.ts';

/** What a gateway says of a snapshot. */
export interface Ack {
  /** Of what is served now; 0 and '' before the first. */
  readonly generation: number;
  readonly hash: string;
  /** Why the former snapshot is kept. */
  readonly refused?: string;
}

/** A publication that is not served, and why. */
export interface Refusal {
  readonly generation: number;
  readonly hash: string;
  readonly reason: string;
}

export class SnapshotLoads {
  /** Snapshots refused so far. */
  refused = 0;
  readonly #maxShards: number;
  readonly #memory: ShardMemory = new Map();
  #refusal: Refusal | undefined;

  constructor(maxShards: number = MAX_SHARDS) {
    this.#maxShards = maxShards;
  }

  /** The newest publication that was refused, while nothing newer is served. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** Requests that have begun keep the snapshot that they began with. `source` is where it came from, for the log. */
  load(gateway: GatewayState, encoded: EncodedSnapshot, simulatorOrigin: string, source?: string): Ack {
    const published = readPublishedIndex(encoded.index);
    try {
      this.#checkShards(published);
      const { snapshot, generation, hash } = decodeSnapshot(encoded, this.#memory);
      checkContent(gateway.snapshot, generation, hash);
      const active = new ActiveSnapshot(
        snapshot,
        generation,
        hash,
        simulatorOrigin,
        gateway.checkMeans,
        gateway.snapshot,
      );
      if (gateway.snapshot !== undefined) freeCache(gateway, active.purgedSince(gateway.snapshot));
      gateway.snapshot = active;
      gateway.breakers.retain((key) => active.knowsBreaker(key));
      if (this.#refusal !== undefined && this.#refusal.generation <= generation) this.#refusal = undefined;
      return { generation, hash };
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'The snapshot cannot be read.';
      this.#remember(published, reason);
      const { generation, hash } = published ?? {};
      gateway.log.event('error', 'snapshot refused', { generation, hash, source, reason });
      return { generation: gateway.snapshot?.generation ?? 0, hash: gateway.snapshot?.hash ?? '', refused: reason };
    }
  }

  #checkShards(published: PublishedIndex | undefined): void {
    const beyond = shardBeyond(published?.shards ?? [], this.#maxShards);
    if (beyond === undefined) return;
    throw new SnapshotRefused(
      `shard ${beyond}: this gateway reads ${this.#maxShards} of each kind, as --max-shards says: it must be that of the operator`,
    );
  }

  #remember(published: PublishedIndex | undefined, reason: string): void {
    this.refused += 1;
    if (published === undefined || published.generation < (this.#refusal?.generation ?? 0)) return;
    const { generation, hash } = published;
    this.#refusal = { generation, hash, reason };
  }
}

/** Nothing of it would be found any more: what it takes is given back. */
function freeCache({ cache, log }: GatewayState, namespaces: Iterable<string>): void {
  for (const namespace of namespaces)
    cache.answers.purge(namespace).catch((error: Error) => {
      log.event('warn', 'what the cache has kept is not deleted, but is not given any more', {
        namespace,
        reason: error.message,
      });
    });
}

/** A generation says one thing, always: two operators that both publish must not go unnoticed. */
function checkContent(served: ActiveSnapshot | undefined, generation: number, hash: string): void {
  if (served === undefined || served.generation !== generation || served.hash === hash) return;
  throw new SnapshotRefused(`generation ${generation} is served with other content (hash ${served.hash})`);
}

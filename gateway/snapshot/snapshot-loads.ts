/** Puts snapshots into use, and keeps the one before where one is refused. */

import { decodeSnapshot, type ShardMemory } from '#crds/snapshot/decode.ts';
import type { EncodedSnapshot } from '#crds/snapshot/encode.ts';
import type { GatewayState } from '../gateway-state.ts';
import { ActiveSnapshot } from './active-snapshot.ts';

/** What a gateway says of a snapshot. */
export interface Ack {
  readonly generation: number;
  readonly hash: string;
  /** Why the former snapshot is kept. */
  readonly refused?: string;
}

export class SnapshotLoads {
  /** Snapshots refused so far. */
  refused = 0;
  private readonly memory: ShardMemory = new Map();

  /** Requests that have begun keep the snapshot that they began with. */
  load(gateway: GatewayState, encoded: EncodedSnapshot, simulatorOrigin: string): Ack {
    try {
      const { snapshot, generation, hash } = decodeSnapshot(encoded, this.memory);
      const active = new ActiveSnapshot(snapshot, generation, hash, simulatorOrigin);
      gateway.snapshot = active;
      gateway.breakers.retain((key) => active.knowsBreaker(key));
      return { generation, hash };
    } catch (error) {
      this.refused += 1;
      const refused = error instanceof Error ? error.message : 'The snapshot cannot be read.';
      gateway.log.event('error', 'snapshot refused', { reason: refused });
      return { generation: gateway.snapshot?.generation ?? 0, hash: gateway.snapshot?.hash ?? '', refused };
    }
  }
}

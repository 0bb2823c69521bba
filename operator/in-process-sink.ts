/** The gateway of the same process as a sink: embedded mode. */
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { type EncodedSnapshot, encodeSnapshot } from '#crds/snapshot/encode.ts';
import { Packer } from '#crds/snapshot/packer.ts';
import type { Publication, Sink } from './loop.ts';
import type { Refusal, Replica } from './replicas/replica.ts';

/** What takes snapshots, and says at once what became of each. */
export interface SnapshotTaker {
  /** `refused`: why the former snapshot is kept. */
  load(encoded: EncodedSnapshot): { readonly generation: number; readonly hash: string; readonly refused?: string };
}

const NAME = 'the gateway';

export class InProcessSink implements Sink {
  readonly #taker: SnapshotTaker;
  readonly #packer = new Packer();
  #last: Publication | undefined;
  #served = { generation: 0, hash: '' };
  #refused: Refusal | undefined;

  constructor(taker: SnapshotTaker) {
    this.#taker = taker;
  }

  /** Nothing is loaded that was loaded last. */
  async publish(snapshot: Snapshot): Promise<Publication> {
    const generation = (this.#last?.generation ?? 0) + 1;
    const encoded = encodeSnapshot(snapshot, generation, { packer: this.#packer });
    if (this.#last?.hash === encoded.hash) return { ...this.#last, isNew: false };
    const { refused, ...served } = this.#taker.load(encoded);
    this.#last = { generation, hash: encoded.hash, isNew: true };
    this.#refused = refused === undefined ? undefined : { generation, hash: encoded.hash, reason: refused };
    if (refused === undefined) this.#served = { generation: served.generation, hash: served.hash };
    return this.#last;
  }

  replicas(): readonly Replica[] {
    return [{ name: NAME, address: '', reachable: true, ...this.#served, refused: this.#refused }];
  }
}

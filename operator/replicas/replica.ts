/** One gateway process, and what it says it serves. */
export interface Replica {
  /** Name of its pod, else where it is. */
  readonly name: string;
  readonly address: string;
  /** Of its admin port, where its EndpointSlice says so. */
  readonly port?: number;
  /** false: it did not answer the last time; what it said before still stands. */
  readonly reachable: boolean;
  /** Of the snapshot it serves; 0: none, or it never answered. */
  readonly generation: number;
  readonly hash: string;
  /** The newest publication that it refused, and why. */
  readonly refused?: Refusal | undefined;
}

export interface Refusal {
  readonly generation: number;
  readonly hash: string;
  readonly reason: string;
}

/** What the operator published of the replicas -> this replica's share of limits. */
import type { BudgetShare, Shares } from '#crds/snapshot/shares.ts';
import type { Share } from './share.ts';

export interface SharingReplica {
  /** Of its pod. */
  readonly name: string;
  /** Of its process: what it told of itself is not of others. */
  readonly incarnation: string;
  /** Replicas that there shall be, as far as nobody says more. At least 1. */
  readonly replicas: number;
}

export class PublishedShares {
  readonly #replica: SharingReplica;
  #version = 0;
  #share: Share;

  constructor(replica: SharingReplica) {
    this.#replica = replica;
    this.#share = shareOf(replica, undefined);
  }

  /** Of what was published last; 0: nothing yet. */
  get version(): number {
    return this.#version;
  }

  /** The same object until something else is published. */
  readonly share = (): Share => this.#share;

  /** false: it is no newer than what is known. */
  take(shares: Shares): boolean {
    if (shares.version <= this.#version) return false;
    this.#version = shares.version;
    this.#share = shareOf(this.#replica, shares);
    return true;
  }
}

function shareOf({ name, incarnation, replicas: expected }: SharingReplica, shares: Shares | undefined): Share {
  const { replicas = [], processes = [], budgets = [] } = shares ?? {};
  const listed = replicas.indexOf(name);
  // Who is not listed yet takes room that the others do not leave: the least that it can.
  const count = listed >= 0 ? replicas.length : Math.max(replicas.length + 1, expected);
  const own = String(processes.findIndex((process) => process.incarnation === incarnation));
  const byKey = new Map<string, BudgetShare>(budgets.map((budget) => [budget.key, budget]));
  return {
    count,
    rank: listed >= 0 ? listed : count - 1,
    usedByOthers(key) {
      const budget = byKey.get(key);
      return budget === undefined ? 0n : BigInt(budget.used) - BigInt(budget.by?.[own] ?? 0);
    },
  };
}

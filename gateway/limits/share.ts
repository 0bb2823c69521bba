/** A replica's part of limits whose counts no store holds for all replicas. */

/**
 * What a replica knows of the others. A new object whenever something was heard of them: what a budget leaves to each is
 * divided anew then, and not before.
 */
export interface Share {
  /** Replicas that divide a limit, at least 1. */
  readonly count: number;
  /** This one's place among them, from 0. */
  readonly rank: number;
  /** What the others have used of a budget, by the counter's key, as last heard. */
  usedByOthers(key: string): bigint;
}

/** Of a replica that is alone. */
export const WHOLE: Share = { count: 1, rank: 0, usedByOthers: () => 0n };

/** Parts of all ranks sum to `value`. `hash` is the counter's, so that what cannot be divided falls to different replicas. */
export function ratePart(value: number, { count, rank }: Share, hash: number): number {
  const rest = value % count;
  return (value - rest) / count + (isFavoured(count, rank, hash, rest) ? 1 : 0);
}

/** As `ratePart`, of what is left of a budget; 0 where nothing is. */
export function budgetPart(left: bigint, { count, rank }: Share, hash: number): bigint {
  if (left <= 0n) return 0n;
  const whole = left / BigInt(count);
  const rest = Number(left - whole * BigInt(count));
  return isFavoured(count, rank, hash, rest) ? whole + 1n : whole;
}

function isFavoured(count: number, rank: number, hash: number, rest: number): boolean {
  return (rank + (hash % count)) % count < rest;
}

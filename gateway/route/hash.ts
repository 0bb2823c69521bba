/** 2^53: one more than the largest value of `hash53`. */
export const HASH_RANGE = 2 ** 53;

/**
 * Spreads a text evenly over the integers below 2^53, the same on every replica and in every release. For choosing, not
 * for secrets. Two multiplicative 32-bit lanes with the finaliser of MurmurHash3 (the scheme known as cyrb53).
 */
export function hash53(text: string, seed: number): number {
  let low = 0xdeadbeef ^ seed;
  let high = 0x41c6ce57 ^ Math.floor(seed / 2 ** 32) ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 2654435761);
    high = Math.imul(high ^ unit, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

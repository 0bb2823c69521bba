import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Shares } from '#crds/snapshot/shares.ts';
import { PublishedShares } from '#gateway/limits/published-shares.ts';
import { ratePart } from '#gateway/limits/share.ts';

const own = { name: 'b', incarnation: 'process-b', replicas: 2 };

function shares(version: number, more: Partial<Shares> = {}): Shares {
  return { format: 1, version, replicas: ['a', 'b', 'c'], processes: [], budgets: [], ...more };
}

function shareAfter(more: Partial<Shares>, replica = own) {
  const published = new PublishedShares(replica);
  published.take(shares(1, more));
  return published.share();
}

describe('the share of a replica', () => {
  it('is by what shall be while nothing is known', () => {
    expect(new PublishedShares({ ...own, replicas: 3 }).share()).toMatchObject({ count: 3, rank: 2 });
    expect(new PublishedShares({ ...own, replicas: 1 }).share()).toMatchObject({ count: 1, rank: 0 });
  });

  it('is by its place among those that are ready', () => {
    expect(shareAfter({})).toMatchObject({ count: 3, rank: 1 });
    expect(shareAfter({ replicas: ['b'] })).toMatchObject({ count: 1, rank: 0 });
  });

  it('of one that is not listed yet is that of one more, or of as many as there shall be', () => {
    expect(shareAfter({ replicas: ['a', 'c', 'd'] })).toMatchObject({ count: 4, rank: 3 });
    expect(shareAfter({ replicas: [] }, { ...own, replicas: 5 })).toMatchObject({ count: 5, rank: 4 });
  });

  it('stays the same object until something newer is published', () => {
    const published = new PublishedShares(own);
    expect(published.take(shares(5))).toBe(true);
    const before = published.share();
    expect([published.take(shares(5, { replicas: ['b'] })), published.take(shares(4))]).toEqual([false, false]);
    expect(published.share()).toBe(before);
    expect(published.version).toBe(5);
    expect(published.take(shares(6))).toBe(true);
    expect(published.share()).not.toBe(before);
  });

  it('knows what others used, without what this process told itself', () => {
    const share = shareAfter({
      processes: [
        { incarnation: 'process-a', pod: 'a' },
        { incarnation: 'process-b', pod: 'b' },
      ],
      budgets: [
        { key: 'x', used: '9007199254740999', by: { 0: '7', 1: '5' } },
        { key: 'y', used: '3' },
      ],
    });
    expect(['x', 'y', 'z'].map((key) => share.usedByOthers(key))).toEqual([9_007_199_254_740_994n, 3n, 0n]);
  });

  it('counts what a former process of the same pod used as of others', () => {
    const processes = [{ incarnation: 'process-before', pod: 'b' }];
    const budgets = [{ key: 'x', used: '9', by: { 0: '4' } }];
    expect(shareAfter({ processes, budgets }).usedByOthers('x')).toBe(9n);
  });

  it('sums to the whole over all replicas that are listed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat({ max: 1_000_000 }), fc.nat(), (count, value, hash) => {
        const replicas = Array.from({ length: count }, (_, n) => `gateway-${n}`).sort();
        const parts = replicas.map((name) => ratePart(value, shareAfter({ replicas }, { ...own, name }), hash));
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(value);
        expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

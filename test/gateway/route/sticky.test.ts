import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Facts } from '#gateway/plan/plan.ts';
import { HASH_RANGE, hash53 } from '#gateway/route/hash.ts';
import { compileStickyKey, pickSticky } from '#gateway/route/sticky.ts';
import { EMPTY_FACTS } from './world.ts';

const KEYS = Array.from({ length: 20_000 }, (_, index) => `user-${index}`);
const NOW = 1_700_000_000_000;

function places(weights: readonly number[]) {
  return weights.map((weight, index) => ({ weight, path: `config.targets[${index}]` }));
}

function countsOf(weights: readonly number[], ttlMs?: number, now = NOW): number[] {
  const choices = places(weights);
  const counts = weights.map(() => 0);
  for (const key of KEYS) {
    const picked = pickSticky(choices, key, ttlMs, now);
    const index = picked === undefined ? -1 : choices.indexOf(picked);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

/** Five standard deviations: fails for a bias, not for chance (and nothing here is left to chance anyway). */
function expectShare(count: number, share: number, of = KEYS.length): void {
  const deviation = Math.sqrt((share * (1 - share)) / of);
  expect(Math.abs(count / of - share)).toBeLessThanOrEqual(5 * deviation);
}

describe('pickSticky', () => {
  test.each([
    [[1, 1]],
    [[1, 1, 1, 1, 1]],
    [[1, 2, 7]],
    [[0.2, 0, 0.8]],
    [[99, 1]],
    [Array.from({ length: 100 }, () => 1)],
  ])('shares of %j are those of the weights', (weights) => {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, count] of countsOf(weights).entries()) expectShare(count, (weights[index] ?? 0) / total);
  });

  test('the same key stays, at any time and in any order of the choices', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 }),
        fc.nat(),
        (key, weights, at) => {
          const picked = pickSticky(places(weights), key, undefined, NOW)?.path;
          expect(pickSticky(places(weights), key, undefined, NOW + at)?.path).toBe(picked);
          expect(pickSticky(places(weights).reverse(), key, undefined, NOW)?.path).toBe(picked);
        },
      ),
    );
  });

  test('a choice that is gone moves its own keys alone, and spreads them by weight', () => {
    const all = places([1, 1, 2, 4]);
    const without = all.filter((_, index) => index !== 1);
    const moved = new Map<string, number>();
    let owned = 0;
    for (const key of KEYS) {
      const before = pickSticky(all, key, undefined, NOW);
      const after = pickSticky(without, key, undefined, NOW);
      if (before !== all[1]) {
        expect(after).toBe(before);
        continue;
      }
      owned += 1;
      moved.set(after?.path ?? '', (moved.get(after?.path ?? '') ?? 0) + 1);
    }
    for (const { path, weight } of without) expectShare(moved.get(path) ?? 0, weight / 7, owned);
  });

  test('more weight only draws keys towards it', () => {
    const [light, heavy] = [places([1, 1, 1]), places([1, 3, 1])];
    for (const key of KEYS.slice(0, 5000)) {
      const before = pickSticky(light, key, undefined, NOW)?.path;
      const after = pickSticky(heavy, key, undefined, NOW)?.path;
      if (after !== before) expect(after).toBe('config.targets[1]');
    }
  });

  test('without any weight nothing is picked; a weight of 0 never', () => {
    expect(pickSticky(places([]), 'a', undefined, NOW)).toBeUndefined();
    expect(pickSticky(places([0, 0]), 'a', undefined, NOW)).toBeUndefined();
    for (const key of KEYS.slice(0, 500))
      expect(pickSticky(places([0, 1, 0]), key, 1000, NOW)?.path).toBe('config.targets[1]');
  });

  test('with a ttl the shares still hold, in any span', () => {
    for (const now of [NOW, NOW + 3_600_000, NOW + 86_400_000]) {
      const [first = 0, second = 0] = countsOf([1, 3], 3_600_000, now);
      expectShare(first, 0.25);
      expectShare(second, 0.75);
    }
  });

  test('a key keeps its choice for one ttl, then is drawn anew', () => {
    const ttlMs = 10_000;
    const choices = places(Array.from({ length: 50 }, () => 1));
    for (const key of KEYS.slice(0, 200)) {
      const changes: number[] = [];
      let last = pickSticky(choices, key, ttlMs, NOW);
      for (let at = NOW + 100; at <= NOW + 5 * ttlMs; at += 100) {
        const picked = pickSticky(choices, key, ttlMs, at);
        if (picked !== last) changes.push(at);
        last = picked;
      }
      // Draws among 50 rarely repeat: nearly each of the five ends of a span is a change, and no other moment is.
      expect(changes.length).toBeGreaterThanOrEqual(2);
      expect(changes.length).toBeLessThanOrEqual(5);
      for (const [index, at] of changes.entries()) expect((at - (changes[index - 1] ?? at)) % ttlMs).toBe(0);
    }
  });

  test('keys move at moments of their own, not all at once', () => {
    const ttlMs = 100_000;
    const choices = places([1, 1]);
    const steps = 10;
    const moves = Array.from({ length: steps }, (_, step) => {
      const at = NOW + (step * ttlMs) / steps;
      const moved = (key: string) =>
        pickSticky(choices, key, ttlMs, at) !== pickSticky(choices, key, ttlMs, at + ttlMs / steps);
      return KEYS.filter(moved).length;
    });
    // Each tenth of a ttl a tenth of the keys is drawn anew, and half of those land on the other choice.
    for (const count of moves) expectShare(count, 1 / steps / 2);
  });
});

describe('compileStickyKey', () => {
  const facts: Facts = {
    metadata: { user: 'ann', team: '' },
    params: { user: 'bob', n: 5, stream: true, deep: { id: 'x' }, list: ['a', 'b'], none: null, object: { a: 1 } },
    headers: { 'x-session': 's1', 'x-many': ['a', 'b'] },
    pathname: '/',
  };
  const key = (fields: string[], seen: Facts = facts) => compileStickyKey(fields)(seen);

  test.each<[fields: string[], present: boolean]>([
    [['metadata.user'], true],
    [['metadata.team'], true],
    [['metadata.absent'], false],
    [['metadata.constructor'], false],
    [['params.user'], true],
    [['params.n'], true],
    [['params.stream'], true],
    [['params.deep.id'], true],
    [['params.list'], true],
    [['params.object'], false],
    [['params.none'], false],
    [['params.deep.absent'], false],
    [['headers.x-session'], true],
    [['headers.X-Session'], true],
    [['headers.x-many'], true],
    [['headers.toString'], false],
    [['metadata.absent', 'params.user'], true],
    [['metadata.absent', 'params.absent', 'headers.absent'], false],
    [[], false],
  ])('%j: has a key: %s', (fields, present) => {
    expect(key(fields) !== undefined).toBe(present);
  });

  test('differs with every field, and does not run fields together', () => {
    const of = (a: string | undefined, b: string | undefined) => {
      const metadata = { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
      return key(['metadata.a', 'metadata.b'], { ...EMPTY_FACTS, metadata });
    };
    const text = fc.oneof(fc.constant(undefined), fc.string({ maxLength: 4 }), fc.stringMatching(/^[-:0-9]{0,4}$/));
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        if (a === c && b === d) expect(of(a, b)).toBe(of(c, d));
        else expect(of(a, b) === of(c, d)).toBe(false);
      }),
      {
        numRuns: 1000,
        examples: [
          ['ab', 'c', 'a', 'bc'],
          ['', undefined, undefined, ''],
          ['1', '-', '-', '1'],
        ],
      },
    );
  });

  test.each([['user'], ['metadata'], ['metadata.'], ['url.pathname'], ['.x'], ['header.x'], ['constructor.name']])(
    'refuses "%s" and says what would be right',
    (field) => {
      expect(() => compileStickyKey(['metadata.user', field])).toThrow(
        `hash_fields: "${field}" is unknown: use metadata.<key>, params.<key> or headers.<name>`,
      );
    },
  );
});

describe('hash53', () => {
  test('is the same in every release: replicas of two versions must agree', () => {
    expect([hash53('', 0), hash53('ann', 0), hash53('ann', 1), hash53('ünïcode', 2 ** 52)]).toMatchInlineSnapshot(`
      [
        2552495220886915,
        8811735212114172,
        7715136624873991,
        4499403579635250,
      ]
    `);
  });

  test('stays in its range and uses all of its seed', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat({ max: 2 ** 31 - 1 }), (text, seed) => {
        const value = hash53(text, seed);
        expect(Number.isSafeInteger(value) && value >= 0 && value < HASH_RANGE).toBe(true);
        expect(hash53(text, seed + 2 ** 40)).not.toBe(value);
        expect(hash53(text, seed + 1)).not.toBe(value);
      }),
    );
  });

  test('each bit is set in half of the values', () => {
    const counts = Array.from({ length: 53 }, () => 0);
    for (const key of KEYS) {
      const value = hash53(key, 7);
      for (let bit = 0; bit < 53; bit += 1) counts[bit] = (counts[bit] ?? 0) + (Math.floor(value / 2 ** bit) % 2);
    }
    for (const count of counts) expectShare(count, 0.5);
  });
});

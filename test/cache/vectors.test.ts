import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Vectors } from '#gateway/cache/vectors.ts';
import { seeded } from '../gateway/route/world.ts';
import { keyOf } from './requests.ts';

const SHELF = keyOf('shelf');
const LONG_MS = 600_000;
const MIN_COSINE = 0.95;

function stage(maxBytes = 64 * 1024 * 1024) {
  const clock = { nowMs: 0 };
  return { clock, vectors: new Vectors({ maxBytes, now: () => clock.nowMs }) };
}

/** A vector whose cosine with [1, 0, 0, ...] is `cosine`. */
function at(cosine: number, dimensions = 8): number[] {
  return [cosine, Math.sqrt(1 - cosine * cosine), ...Array<number>(dimensions - 2).fill(0)];
}

function cosineOf(one: readonly number[], other: readonly number[]): number {
  const product = one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  return product / Math.hypot(...one) / Math.hypot(...other);
}

describe('requests that mean the same', () => {
  it('are found from 0.95 on', () => {
    for (const [cosine, isFound] of [
      [1, true],
      [0.951, true],
      [0.949, false],
      [0, false],
      [-1, false],
    ] as const) {
      const { vectors } = stage();
      vectors.add(SHELF, at(cosine), keyOf('one'), LONG_MS);
      expect(vectors.nearest(SHELF, at(1)) !== undefined, String(cosine)).toBe(isFound);
    }
  });

  it('of several the nearest, whatever the length of the vectors', () => {
    const { vectors } = stage();
    for (const cosine of [0.96, 0.99, 0.97])
      vectors.add(
        SHELF,
        at(cosine).map((part) => part * 7),
        keyOf(`${cosine}`),
        LONG_MS,
      );
    const found = vectors.nearest(
      SHELF,
      at(1).map((part) => part * 0.01),
    );
    expect(found?.key.digest).toBe(keyOf('0.99').digest);
    expect(found?.cosine).toBeCloseTo(0.99, 5);
  });

  it('on another shelf are not found', () => {
    const { vectors } = stage();
    vectors.add(keyOf('other shelf'), at(1), keyOf('one'), LONG_MS);
    expect(vectors.nearest(SHELF, at(1))).toBeUndefined();
  });

  it('an answer of another workspace cannot be put on a shelf', () => {
    const { vectors } = stage();
    expect(() => vectors.add(SHELF, at(1), keyOf('one', 'team-b'), LONG_MS)).toThrow('workspace');
    expect(vectors.size).toBe(0);
  });

  it('are not found past their time, and the next nearest is', () => {
    const { vectors, clock } = stage();
    vectors.add(SHELF, at(1), keyOf('brief'), 1_000);
    vectors.add(SHELF, at(0.96), keyOf('lasting'), LONG_MS);
    clock.nowMs = 999;
    expect(vectors.nearest(SHELF, at(1))?.key.digest).toBe(keyOf('brief').digest);
    clock.nowMs = 1_000;
    expect(vectors.nearest(SHELF, at(1))?.key.digest).toBe(keyOf('lasting').digest);
    expect(vectors.size).toBe(1);
  });

  it('an answer has one vector: the newest', () => {
    const { vectors } = stage();
    vectors.add(SHELF, at(1), keyOf('one'), LONG_MS);
    vectors.add(SHELF, at(0), keyOf('one'), LONG_MS);
    expect(vectors.nearest(SHELF, at(1))).toBeUndefined();
    expect(vectors.nearest(SHELF, at(0))).toBeDefined();
    expect(vectors.size).toBe(1);
  });

  it('what has no direction is neither kept nor found', () => {
    const { vectors } = stage();
    vectors.add(SHELF, at(1), keyOf('one'), LONG_MS);
    const infinite = [Number.POSITIVE_INFINITY, ...at(1, 7)];
    for (const odd of [[], Array<number>(8).fill(0), [Number.NaN, ...at(1, 7)], infinite]) {
      vectors.add(SHELF, odd, keyOf('odd'), LONG_MS);
      expect(vectors.nearest(SHELF, odd)).toBeUndefined();
    }
    expect(vectors.size).toBe(1);
  });

  it('of another length nothing is found, and where they are added, the model is another one: what was before is gone', () => {
    const { vectors } = stage();
    vectors.add(SHELF, at(1), keyOf('one'), LONG_MS);
    expect(vectors.nearest(SHELF, at(1, 9))).toBeUndefined();
    vectors.add(SHELF, at(1, 9), keyOf('two'), LONG_MS);
    expect(vectors.nearest(SHELF, at(1))).toBeUndefined();
    expect(vectors.nearest(SHELF, at(1, 9))?.key.digest).toBe(keyOf('two').digest);
    expect(vectors.size).toBe(1);
  });

  it('an empty one opens no shelf', () => {
    const { vectors } = stage();
    vectors.add(SHELF, [], keyOf('one'), LONG_MS);
    vectors.add(SHELF, at(1), keyOf('brief'), 0);
    expect([vectors.size, vectors.bytes]).toEqual([0, 0]);
    vectors.add(SHELF, at(1), keyOf('one'), LONG_MS);
    expect(vectors.nearest(SHELF, at(1))).toBeDefined();
  });

  it('purging a workspace leaves the others', () => {
    const { vectors } = stage();
    const other = keyOf('shelf', 'team-b');
    for (let name = 0; name < 20; name += 1) {
      vectors.add(SHELF, at(1), keyOf(`${name}`), LONG_MS);
      vectors.add(other, at(1), keyOf(`${name}`, 'team-b'), LONG_MS);
    }
    vectors.purge('team-a');
    expect(vectors.nearest(SHELF, at(1))).toBeUndefined();
    expect(vectors.nearest(other, at(1))).toBeDefined();
    expect(vectors.size).toBe(20);
  });
});

describe('the room that vectors take', () => {
  it('is bounded: the least recently found or added go first', () => {
    const { vectors } = stage(40_000);
    const dimensions = 512;
    const names = Array.from({ length: 40 }, (_, name) => name);
    const unit = (name: number) =>
      names.map((other) => (other === name ? 1 : 0)).concat(Array(dimensions - 40).fill(0));
    for (const name of names) {
      vectors.add(SHELF, unit(name), keyOf(`${name}`), LONG_MS);
      vectors.nearest(SHELF, unit(0));
      expect(vectors.bytes).toBeLessThanOrEqual(40_000);
    }
    const left = names.filter((name) => vectors.nearest(SHELF, unit(name)) !== undefined);
    expect(left).toContain(0);
    expect(left).toContain(39);
    expect(left).not.toContain(1);
    expect(left.length).toBe(vectors.size);
    expect(left.length).toBeGreaterThan(4);
  });

  it('where not even one has room, nothing is kept', () => {
    const { vectors } = stage(1_000);
    vectors.add(SHELF, at(1, 512), keyOf('one'), LONG_MS);
    expect(vectors.size).toBe(0);
    expect(vectors.nearest(SHELF, at(1, 512))).toBeUndefined();
  });

  it('is given back', () => {
    const { vectors } = stage();
    for (let name = 0; name < 100; name += 1) vectors.add(SHELF, at(1, 64), keyOf(`${name}`), LONG_MS);
    for (let name = 0; name < 100; name += 1) vectors.remove(keyOf(`${name}`));
    expect([vectors.size, vectors.bytes]).toEqual([0, 0]);
  });
});

describe('the search', () => {
  it('finds what looking at every number of every vector finds, whatever was added and removed', () => {
    const spread = fc.constantFrom(0.05, 0.2, 0.3, 0.5, 1);
    const seed = fc.nat();
    const dimensions = fc.constantFrom(3, 63, 64, 65, 200, 320);
    fc.assert(
      fc.property(
        seed,
        dimensions,
        spread,
        fc.array(fc.boolean(), { maxLength: 60 }),
        (number, length, width, removals) => {
          const random = seeded(number);
          const centre = Array.from({ length }, () => random() - 0.5);
          const near = () => centre.map((part) => part + (random() - 0.5) * width);
          const { vectors } = stage();
          const kept = new Map<string, number[]>();
          for (const [index, isRemoved] of removals.entries()) {
            const vector = near();
            vectors.add(SHELF, vector, keyOf(`${index}`), LONG_MS);
            kept.set(keyOf(`${index}`).digest, vector);
            const gone = keyOf(`${Math.floor(random() * index)}`);
            if (isRemoved) {
              vectors.remove(gone);
              kept.delete(gone.digest);
            }
          }
          const asked = near();
          const best = Math.max(-1, ...[...kept.values()].map((vector) => cosineOf(vector, asked)));
          const found = vectors.nearest(SHELF, asked);
          expect(vectors.size).toBe(kept.size);
          if (Math.abs(best - MIN_COSINE) < 1e-5) return;
          expect(found === undefined).toBe(best < MIN_COSINE);
          if (found !== undefined) {
            expect(found.cosine).toBeCloseTo(best, 5);
            expect(cosineOf(kept.get(found.key.digest) ?? [], asked)).toBeCloseTo(best, 5);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

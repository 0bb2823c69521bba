import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawByWeight } from '#gateway/route/weights.ts';
import { seeded } from './world.ts';

const weighted = (weights: readonly number[]) => weights.map((weight, index) => ({ weight, index }));

describe('drawByWeight', () => {
  test.each<[weights: number[], random: number, index: number | undefined]>([
    [[1], 0, 0],
    [[1], 0.999_999, 0],
    [[1, 1], 0.499, 0],
    [[1, 1], 0.5, 1],
    [[3, 1], 0.749, 0],
    [[3, 1], 0.75, 1],
    [[0, 1], 0, 1],
    [[1, 0], 0.999_999_999, 0],
    [[0, 0, 5, 0], 0.5, 2],
    [[0.1, 0.2, 0.7], 0.05, 0],
    [[0.1, 0.2, 0.7], 0.25, 1],
    [[0.1, 0.2, 0.7], 1 - 2 ** -53, 2],
    [[0, 0], 0.5, undefined],
    [[], 0.5, undefined],
  ])('weights %j at %d draw %s', (weights, random, index) => {
    expect(drawByWeight(weighted(weights), random)?.index).toBe(index);
  });

  test('always draws something with a weight, where there is any', () => {
    const weight = fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 1000, noNaN: true }));
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.array(weight, { maxLength: 20 }), random, (weights, at) => {
        const drawn = drawByWeight(weighted(weights), at);
        if (weights.every((each) => each === 0)) expect(drawn).toBeUndefined();
        else expect(drawn?.weight).toBeGreaterThan(0);
      }),
    );
  });

  test.each([[[1, 1]], [[1, 2, 7]], [[0.5, 0, 0.25, 0.25]], [[99, 1]]])(
    'shares of %j are those of the weights',
    (weights) => {
      const random = seeded(42);
      const draws = 50_000;
      const counts = weights.map(() => 0);
      const choices = weighted(weights);
      for (let draw = 0; draw < draws; draw += 1) {
        const index = drawByWeight(choices, random())?.index ?? -1;
        counts[index] = (counts[index] ?? 0) + 1;
      }
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [index, weight] of weights.entries()) {
        const share = weight / total;
        const deviation = Math.sqrt((share * (1 - share)) / draws);
        expect(Math.abs((counts[index] ?? 0) / draws - share)).toBeLessThanOrEqual(5 * deviation);
      }
    },
  );
});

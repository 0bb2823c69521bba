import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { budgetKey, groupIdOf, rateKey, readBudgetKey, resetTokenOf } from '#crds/limits/counter-key.ts';

const record = (more: object = {}) => ({
  id: 'uid-1 usage_limits[0]',
  reset_token: '',
  group_reset_tokens: {},
  ...more,
});
const words = fc.string({ unit: 'binary', maxLength: 12 });

describe('the key of a budget', () => {
  test('is readable', () => {
    expect(budgetKey(record({ reset_token: 'may' }), 1_800_000_000_000, ['team-a', 'a|b'])).toBe(
      'uid-1 usage_limits[0]|1800000000000|may|team-a|a%7cb',
    );
  });

  test('says what it was made of, whatever the words', () => {
    fc.assert(
      fc.property(
        words,
        fc.integer({ min: 0, max: 2 ** 50 }),
        fc.array(words, { maxLength: 4 }),
        (token, start, group) => {
          const key = budgetKey(record({ reset_token: token }), start, group);
          expect(key).not.toMatch(/\p{Cc}/u);
          expect(readBudgetKey(key)).toEqual({
            id: 'uid-1 usage_limits[0]',
            periodStartMs: start,
            resetToken: token.toWellFormed(),
            group: group.map((value) => value.toWellFormed()),
          });
        },
      ),
    );
  });

  test('no two groups share one', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 3 }), fc.array(words, { maxLength: 3 }), (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        fc.pre(isSame || [...one, ...other].every((value) => value.isWellFormed()));
        expect(budgetKey(record(), 0, one) === budgetKey(record(), 0, other)).toBe(isSame);
        expect(groupIdOf(one) === groupIdOf(other)).toBe(isSame || (one.length < 2 && one.join() === other.join()));
      }),
    );
  });

  test.each(['', 'a', 'a|b', 'uid|rpm||g', 'uid|1.5|', 'uid|-|'])('%j is none', (key) => {
    expect(readBudgetKey(key)).toBeUndefined();
  });
});

test('a limit of another unit, or of another group, counts anew', () => {
  expect(rateKey({ id: 'u', unit: 'rpm' }, ['a'])).toBe('u|rpm||a');
  expect(
    new Set(['rpm', 'rph'].flatMap((unit) => [['a'], ['b']].map((group) => rateKey({ id: 'u', unit }, group)))).size,
  ).toBe(4);
  expect(readBudgetKey(rateKey({ id: 'u', unit: 'rpm' }, []))).toBeUndefined();
});

describe('a reset', () => {
  const id = groupIdOf(['ann']);

  test('of all groups is a new word for each', () => {
    expect(resetTokenOf(record({ reset_token: 'x' }), ['ann'])).toBe('x');
    expect(resetTokenOf(record({ reset_token: 'x' }), [])).toBe('x');
  });

  test('of one group changes that one alone', () => {
    const reset = record({ reset_token: 'x', group_reset_tokens: { [id]: 'again' } });
    expect(resetTokenOf(reset, ['ann'])).toBe('x+again');
    expect(resetTokenOf(reset, ['bob'])).toBe('x');
  });

  test('the id of a group can stand in the name of an annotation', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 8 }), (group) => {
        expect(groupIdOf(group)).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RetryBudgets } from '#gateway/route/retry-budget.ts';

function takeAll(budgets: RetryBudgets, key: string): number {
  let taken = 0;
  while (taken < 1000 && budgets.take(key)) taken += 1;
  return taken;
}

function succeed(budgets: RetryBudgets, key: string, times: number): void {
  for (let time = 0; time < times; time += 1) budgets.noteSuccess(key);
}

describe('RetryBudgets', () => {
  test('starts full at 10', () => {
    expect(takeAll(new RetryBudgets(), 'a')).toBe(10);
  });

  test('upstreams do not share', () => {
    const budgets = new RetryBudgets();
    takeAll(budgets, 'a');
    expect(budgets.take('a')).toBe(false);
    expect(takeAll(budgets, 'b')).toBe(10);
  });

  test.each<[successes: number, retries: number]>([
    [0, 0],
    [9, 0],
    [10, 1],
    [19, 1],
    [55, 5],
    [100, 10],
    [5000, 10],
  ])('empty, then %d successes: %d retries', (successes, retries) => {
    const budgets = new RetryBudgets();
    takeAll(budgets, 'a');
    succeed(budgets, 'a', successes);
    expect(takeAll(budgets, 'a')).toBe(retries);
  });

  test('successes before any retry do not add up', () => {
    const budgets = new RetryBudgets();
    succeed(budgets, 'a', 1000);
    expect(takeAll(budgets, 'a')).toBe(10);
  });

  test('a full bucket is not kept', () => {
    const budgets = new RetryBudgets();
    succeed(budgets, 'a', 5);
    expect(budgets.size).toBe(0);
    budgets.take('a');
    succeed(budgets, 'a', 9);
    expect(budgets.size).toBe(1);
    succeed(budgets, 'a', 1);
    expect(budgets.size).toBe(0);
  });

  test('successes of one upstream do not fill another', () => {
    const budgets = new RetryBudgets();
    takeAll(budgets, 'a');
    succeed(budgets, 'b', 100);
    expect(budgets.take('a')).toBe(false);
  });

  test('at most so many are kept; the one that was longest without a retry is forgotten', () => {
    const budgets = new RetryBudgets(3);
    for (const key of ['a', 'b', 'c']) takeAll(budgets, key);
    succeed(budgets, 'a', 10);
    expect(budgets.take('a')).toBe(true);
    expect(budgets.take('d')).toBe(true);
    expect(budgets.size).toBe(3);
    // a was used after b.
    expect(budgets.take('a')).toBe(false);
    expect(takeAll(budgets, 'b')).toBe(10);
    for (let key = 0; key < 10_000; key += 1) budgets.take(`other-${key}`);
    expect(budgets.size).toBe(3);
  });

  test('in any order: never more retries than 10 + a tenth of the successes', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 400 }), (steps) => {
        const budgets = new RetryBudgets();
        let tenths = 100;
        for (const isSuccess of steps) {
          if (isSuccess) {
            budgets.noteSuccess('a');
            tenths = Math.min(100, tenths + 1);
          } else {
            expect(budgets.take('a')).toBe(tenths >= 10);
            if (tenths >= 10) tenths -= 10;
          }
        }
      }),
    );
  });
});

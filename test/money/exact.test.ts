import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dollarsOf, exactOf, halfUp } from '#gateway/money/exact.ts';

describe('a decimal', () => {
  it.each([
    ['0', 0n],
    ['1', 10n ** 18n],
    ['0.00000015', 150_000_000_000n],
    ['0.000000000000000001', 1n],
    ['000.5', 5n * 10n ** 17n],
    ['3.', 3n * 10n ** 18n],
    ['999999999.999999999999999999', 10n ** 27n - 1n],
    [0, 0n],
    [2.5e-7, 250_000_000_000n],
    [0.1, 10n ** 17n],
    [1e9, 10n ** 27n],
    [1e21, 10n ** 39n],
    // Numbers are what is written of them, not the binary fraction next to it.
    [0.3, 3n * 10n ** 17n],
    [1.005, 1_005n * 10n ** 15n],
    // Finer than the unit: half up.
    [5e-19, 1n],
    [4.9e-19, 0n],
    [Number.MIN_VALUE, 0n],
  ])('%s is exact', (decimal, units) => {
    expect(exactOf(decimal)).toBe(units);
  });

  it.each(['', '-1', '+1', '1e', 'one', '1,5', '.5', ' 1', '0x10', Number.NaN, Number.POSITIVE_INFINITY, -0.5])(
    '%j is none',
    (text) => {
      expect(() => exactOf(text)).toThrow(/must be a decimal of 0 or more such as "0\.00000015"/);
    },
  );

  it('is what was written, whatever was written', () => {
    const digits = fc.stringMatching(/^\d{1,9}$/);
    const fraction = fc.stringMatching(/^\d{1,18}$/);
    fc.assert(
      fc.property(digits, fraction, (whole, rest) => {
        expect(exactOf(`${whole}.${rest}`)).toBe(BigInt(whole) * 10n ** 18n + BigInt(rest.padEnd(18, '0')));
      }),
    );
  });

  it('as a number is what the number prints as', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-15, max: 1e9, noNaN: true }), (number) => {
        expect(Number(`${exactOf(number, 40)}e-40`)).toBe(number);
      }),
    );
  });
});

describe('a half', () => {
  it.each([
    [0n, 10n, 0n],
    [4n, 10n, 0n],
    [5n, 10n, 1n],
    [14n, 10n, 1n],
    [15n, 10n, 2n],
    [1n, 3n, 0n],
    [2n, 3n, 1n],
    [1n, 1n, 1n],
  ])('%d / %d is %d', (amount, divisor, rounded) => {
    expect(halfUp(amount, divisor)).toBe(rounded);
  });
});

describe('US dollars', () => {
  it.each([
    [0, '0'],
    [1, '0.000000000001'],
    [4_500_000, '0.0000045'],
    [10 ** 12, '1'],
    [10 ** 12 + 1, '1.000000000001'],
    [1_250_000_000_000, '1.25'],
    [Number.MAX_SAFE_INTEGER, '9007.199254740991'],
    [10n ** 30n, '1000000000000000000'],
    [123_456_789_012_345_678_901_234_567_890n, '123456789012345678.90123456789'],
  ])('%d units are %s', (units, text) => {
    expect(dollarsOf(units)).toBe(text);
  });

  it('are read back as what they were', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), (units) => {
        expect(exactOf(dollarsOf(units), 12)).toBe(units);
      }),
    );
    fc.assert(
      fc.property(fc.maxSafeNat(), (units) => {
        expect(dollarsOf(units)).toBe(dollarsOf(BigInt(units)));
      }),
    );
  });
});

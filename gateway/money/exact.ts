/** Decimals without binary floats: an amount is a whole number of a small unit. */

/** Digits after the point of prices and multipliers. */
export const DECIMALS = 18;
/** Digits after the point of what is billed: units of 1e-12 US dollars. */
const BILL_DECIMALS = 12;
const BILL_UNITS = 10 ** BILL_DECIMALS;
/** A price times a multiplier has the digits of both; so many of its units are one of a bill. */
export const PER_BILL_UNIT = 10n ** BigInt(2 * DECIMALS - BILL_DECIMALS);
const PLAIN = /^(\d+)(?:\.(\d*))?(?:e([+-]\d+))?$/;

/**
 * A decimal, as text or as the number whose shortest text it is, in units of 10^-`decimals`; what is finer is rounded half
 * up. Throws RangeError for what is no decimal of 0 or more.
 */
export function exactOf(decimal: string | number, decimals = DECIMALS): bigint {
  const [, whole, fraction = '', exponent = '0'] = PLAIN.exec(String(decimal)) ?? [];
  if (whole === undefined) throw new RangeError(`must be a decimal of 0 or more such as "0.00000015", got ${decimal}`);
  const shift = Number(exponent) + decimals - fraction.length;
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : halfUp(digits, 10n ** BigInt(-shift));
}

/** `amount / divisor`, a half rounded up; neither is negative. */
export function halfUp(amount: bigint, divisor: bigint): bigint {
  return (2n * amount + divisor) / (2n * divisor);
}

/** Units of 1e-12 US dollars as a decimal of US dollars without needless zeros, e.g. `0.0000045`. */
export function dollarsOf(amount: bigint | number): string {
  const unit = typeof amount === 'bigint' ? BigInt(BILL_UNITS) : undefined;
  const whole = typeof amount === 'bigint' ? amount / (unit ?? 1n) : Math.floor(amount / BILL_UNITS);
  const rest = typeof amount === 'bigint' ? amount % (unit ?? 1n) : amount % BILL_UNITS;
  const fraction = String(rest).padStart(BILL_DECIMALS, '0').replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

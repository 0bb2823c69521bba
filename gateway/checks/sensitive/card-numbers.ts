/** Numbers of payment cards: 13 to 19 digits of a known issuer with a right check digit (Luhn). */
import type { Span } from './spans.ts';

const RUN = /\d(?:[ .-]?\d){12,}/g;
const GROUP = /\d+/g;
/** First digits of the issuers: Visa, Mastercard, American Express, Discover, Diners, JCB, UnionPay, Maestro. */
const ISSUER = /^(?:4|5[0-8]|6|2[2-7]|3[0-9])/;
const LENGTHS = [19, 18, 17, 16, 15, 14, 13];

export function findCards(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { index, 0: run } of text.matchAll(RUN)) {
    for (const { start, end } of cardsOf(run))
      spans.push({ kind: 'CREDIT_CARD', start: index + start, end: index + end });
  }
  return spans;
}

interface Digits {
  readonly digits: string;
  /** Offset of each digit in the run. */
  readonly offsets: readonly number[];
  /** Counts of digits at which a group begins, or the last one ends. */
  readonly bounds: ReadonlySet<number>;
}

/** A card begins and ends with a group of digits: part of a longer number is none. */
function* cardsOf(run: string): Generator<{ start: number; end: number }> {
  const { digits, offsets, bounds } = digitsOf(run);
  let from = 0;
  for (const start of bounds) {
    if (start < from || !ISSUER.test(digits.slice(start, start + 2))) continue;
    const length = LENGTHS.find((size) => bounds.has(start + size) && passesLuhn(digits, start, start + size));
    if (length === undefined) continue;
    from = start + length;
    yield { start: offsets[start] ?? 0, end: (offsets[from - 1] ?? 0) + 1 };
  }
}

function digitsOf(run: string): Digits {
  let digits = '';
  const offsets: number[] = [];
  const bounds = new Set<number>();
  for (const { index, 0: group } of run.matchAll(GROUP)) {
    bounds.add(digits.length);
    for (let at = 0; at < group.length; at++) offsets.push(index + at);
    digits += group;
  }
  return { digits, offsets, bounds: bounds.add(digits.length) };
}

function passesLuhn(digits: string, start: number, end: number): boolean {
  let sum = 0;
  for (let at = end - 1; at >= start; at--) {
    const digit = digits.charCodeAt(at) - 48;
    const doubled = (end - 1 - at) % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

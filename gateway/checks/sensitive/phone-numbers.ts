/** Phone numbers that could be dialled: by the numbering plans of all countries. */
import { type CountryCode, isSupportedCountry, Metadata, parsePhoneNumberFromString } from 'libphonenumber-js';
import { CheckError } from '../check.ts';
import type { FindSpans } from './pii-finders.ts';
import type { Span } from './spans.ts';

export const DEFAULT_COUNTRY = 'US';

/** 7 to 15 digits with what is written between them. */
const CANDIDATE = /(?<![\w.,])[+(]{0,2}\d(?:[ ()./-]{0,3}\d){6,14}(?![\w]|[.,]\d)/g;
/** Dates and times look alike. */
const DATE = /^\d{4}[-/.]\d\d?[-/.]\d\d?(?:\D|$)|^\d\d?[-/.]\d\d?[-/.]\d{4}$/;
/** Each costs about 10 microseconds: a text of nothing but numbers must not hold up everybody else. */
const MAX_CANDIDATES = 5_000;

export function isCountry(code: string): boolean {
  return isSupportedCountry(code);
}

export function phoneFinder(country: string): FindSpans {
  const couldBe = lengthTest(country as CountryCode);
  return (text) => {
    const spans: Span[] = [];
    let candidates = 0;
    for (const { index, 0: match } of text.matchAll(CANDIDATE)) {
      if (DATE.test(match) || !couldBe(match)) continue;
      if (++candidates > MAX_CANDIDATES)
        throw new CheckError(
          `There are too many numbers: this check looks at ${MAX_CANDIDATES} that might be of phones.`,
        );
      if (parsePhoneNumberFromString(match, country as CountryCode)?.isValid())
        spans.push({ kind: 'PHONE_NUMBER', start: index, end: index + match.length });
    }
    return spans;
  };
}

/** What is dialled before a number of the country itself: 00, the country's code, a trunk prefix. */
const MAX_DIALLED = 5;

/** Most numbers in a text are of the wrong length already. */
function lengthTest(country: CountryCode): (candidate: string) => boolean {
  const metadata = new Metadata();
  metadata.selectNumberingPlan(country);
  const lengths = metadata.numberingPlan?.possibleLengths() ?? [];
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths) + MAX_DIALLED];
  return (candidate) => {
    if (candidate.includes('+') || candidate.startsWith('00')) return true;
    const digits = digitsIn(candidate);
    return digits >= shortest && digits <= longest;
  };
}

function digitsIn(candidate: string): number {
  let digits = 0;
  for (let at = 0; at < candidate.length; at++) {
    const code = candidate.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) digits++;
  }
  return digits;
}

/** Personal data of a fixed form. Each finder is linear in the text. */
import { isIP } from 'node:net';
import { findCards } from './card-numbers.ts';
import { findIbans } from './ibans.ts';
import { phoneFinder } from './phone-numbers.ts';
import type { Span } from './spans.ts';

/** The more certain first. */
export const PII_KINDS = ['CREDIT_CARD', 'IBAN', 'SSN', 'IP_ADDRESS', 'EMAIL_ADDRESS', 'PHONE_NUMBER'] as const;
export type PiiKind = (typeof PII_KINDS)[number];

export type FindSpans = (text: string) => readonly Span[];

export const FINDERS: Readonly<Record<PiiKind, (country: string) => FindSpans>> = {
  CREDIT_CARD: () => findCards,
  IBAN: () => findIbans,
  SSN: () => findSocialSecurityNumbers,
  IP_ADDRESS: () => findAddresses,
  EMAIL_ADDRESS: () => findEmails,
  PHONE_NUMBER: (country) => phoneFinder(country),
};

const SSN = /(?<![\d-])(?!000|666|9\d\d)\d{3}([- ])(?!00)\d\d\1(?!0000)\d{4}(?![\d-])/g;

function findSocialSecurityNumbers(text: string): readonly Span[] {
  return Array.from(text.matchAll(SSN), ({ index, 0: match }) => ({
    kind: 'SSN',
    start: index,
    end: index + match.length,
  }));
}

const V4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)/g;
const V6 = /(?<![0-9A-Za-z:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,43}/g;
const PUNCTUATION = /[.:]$/;
const TELLING = /\d|:.*:.*:/;

function findAddresses(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { index, 0: match } of text.matchAll(V4)) {
    if (isIP(match) === 4) spans.push({ kind: 'IP_ADDRESS', start: index, end: index + match.length });
  }
  if (!text.includes(':')) return spans;
  for (const { index, 0: match } of text.matchAll(V6)) {
    const address = isIP(match) === 6 ? match : match.replace(PUNCTUATION, '');
    // `a::b` is also how half of all languages name things.
    if (TELLING.test(address) && isIP(address) === 6)
      spans.push({ kind: 'IP_ADDRESS', start: index, end: index + address.length });
  }
  return spans;
}

const LOCAL = /[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]/u;
const DOMAIN = /[\p{L}\p{M}\p{N}.-]/u;
const WHOLE = /^[^@.][^@]*@(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?\.)+[\p{L}\p{M}]{2,63}$/u;
const EDGE = /[.-]+$/;
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;

/** From each @ outwards: nothing is looked at where there is none. */
function findEmails(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > 0 && at - start < MAX_LOCAL && LOCAL.test(text.charAt(start - 1))) start--;
    while (start < at && QUOTES.includes(text.charAt(start))) start++;
    let end = at + 1;
    while (end < text.length && end - at <= MAX_DOMAIN && DOMAIN.test(text.charAt(end))) end++;
    const address = text.slice(start, end).replace(EDGE, '');
    if (WHOLE.test(address)) spans.push({ kind: 'EMAIL_ADDRESS', start, end: start + address.length });
  }
  return spans;
}

/** Allowed before the @, but at the beginning they belong to the sentence. */
const QUOTES = ".'`*/{|=";

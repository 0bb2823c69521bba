/** International bank account numbers: of a country's own length and with a right checksum (ISO 7064, 97-10). */
import type { Span } from './spans.ts';

const HEAD = /(?<![A-Za-z0-9])[A-Za-z]{2}\d\d(?=[ -]?[A-Za-z0-9])/g;
const LETTER_OR_DIGIT = /[A-Za-z0-9]/;

const LENGTHS: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 ' +
    'FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 ' +
    'LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 ' +
    'RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((row) => [row.slice(0, 2), Number(row.slice(2))] as const),
);

export function findIbans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { index, 0: head } of text.matchAll(HEAD)) {
    const length = LENGTHS.get(head.slice(0, 2).toUpperCase());
    const end = length === undefined ? undefined : endOf(text, index, length);
    if (end === undefined) continue;
    const account = text.slice(index, end).replace(/[ -]/g, '').toUpperCase();
    if (hasChecksum(account)) spans.push({ kind: 'IBAN', start: index, end });
  }
  return spans;
}

/** Behind so many letters and digits, one space or dash between them at most. */
function endOf(text: string, start: number, length: number): number | undefined {
  let at = start;
  for (let taken = 0; taken < length; taken++, at++) {
    if (isSeparator(text.charAt(at))) at++;
    if (!LETTER_OR_DIGIT.test(text.charAt(at))) return undefined;
  }
  return LETTER_OR_DIGIT.test(text.charAt(at)) ? undefined : at;
}

function isSeparator(character: string): boolean {
  return character === ' ' || character === '-';
}

function hasChecksum(account: string): boolean {
  let rest = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

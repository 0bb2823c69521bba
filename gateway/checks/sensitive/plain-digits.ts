const OTHERS = /[\uff01-\uff5e\u00a0\u2000-\u200a\u202f\u3000\u2010-\u2015\u2212\u0660-\u0669\u06f0-\u06f9]/g;
const HAS_OTHERS = new RegExp(OTHERS.source);
const DASHES = '\u2010\u2011\u2012\u2013\u2014\u2015\u2212';

/** Full-width and Arabic digits, odd spaces and dashes as ASCII, one for one: offsets stay what they are. */
export function sameLengthAscii(text: string): string {
  return HAS_OTHERS.test(text) ? text.replace(OTHERS, plainCharacter) : text;
}

function plainCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0);
  if (code >= 0x0660 && code <= 0x0669) return String(code - 0x0660);
  if (code >= 0x06f0 && code <= 0x06f9) return String(code - 0x06f0);
  return DASHES.includes(character) ? '-' : ' ';
}

/** The form of the keys that this program issues: a prefix, 43 random letters and digits, and six that check all of it. */

export const DEFAULT_KEY_PREFIX = 'mgw_';
/** What a prefix may be. */
export const KEY_PREFIX_FORM = /^[A-Za-z0-9_-]{1,16}$/;
/** Digits of the random part and of the checksum, by their value. */
export const KEY_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256. */
export const RANDOM_CHARACTERS = 43;
/** 62^6 > 2^32. */
const CHECKSUM_CHARACTERS = 6;
const AFTER_PREFIX = RANDOM_CHARACTERS + CHECKSUM_CHARACTERS;

/** For secret scanners: matches what may be a key of the prefix. Whether it is one, `isMisspelt` tells. */
export function issuedKeyPattern(prefix: string): RegExp {
  return new RegExp(`(?<![0-9A-Za-z])${prefix}[0-9A-Za-z]{${AFTER_PREFIX}}(?![0-9A-Za-z])`);
}

/** CRC-32 (as of zlib) of an ASCII text, as six base62 digits, the highest first. */
export function checksumOf(text: string): string {
  let rest = crc32(text, text.length);
  let digits = '';
  for (let place = 0; place < CHECKSUM_CHARACTERS; place++) {
    digits = KEY_ALPHABET.charAt(rest % KEY_ALPHABET.length) + digits;
    rest = Math.floor(rest / KEY_ALPHABET.length);
  }
  return digits;
}

/** Whether a key has the prefix and the length of an issued one, but not its checksum: nobody was ever given it. */
export function isMisspelt(key: string, prefix: string): boolean {
  if (key.length !== prefix.length + AFTER_PREFIX || !key.startsWith(prefix)) return false;
  let rest = crc32(key, key.length - CHECKSUM_CHARACTERS);
  for (let at = key.length - 1; at >= key.length - CHECKSUM_CHARACTERS; at--) {
    if (key.charCodeAt(at) !== KEY_ALPHABET.charCodeAt(rest % KEY_ALPHABET.length)) return true;
    rest = Math.floor(rest / KEY_ALPHABET.length);
  }
  return false;
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? 0xedb88320 ^ (remainder >>> 1) : remainder >>> 1;
  return remainder;
});

/** Of the first characters: asked for each request, so that the key is neither cut nor copied. */
function crc32(text: string, characters: number): number {
  let remainder = -1;
  for (let at = 0; at < characters; at++) {
    remainder = (CRC_TABLE[(remainder ^ text.charCodeAt(at)) & 0xff] ?? 0) ^ (remainder >>> 8);
  }
  return (remainder ^ -1) >>> 0;
}

import { randomBytes } from 'node:crypto';
import { checksumOf, DEFAULT_KEY_PREFIX, KEY_ALPHABET, RANDOM_CHARACTERS } from '#crds/keys/key-form.ts';

/** 248 = 4 x 62: larger bytes would make some letters likelier than others. */
const FAIR_BYTES = 248;

/** A gateway key of 256 random bits; its form is that of `#crds/keys/key-form.ts`. */
export function newKey(prefix: string = DEFAULT_KEY_PREFIX): string {
  let text = prefix;
  while (text.length < prefix.length + RANDOM_CHARACTERS) {
    for (const byte of randomBytes(64)) {
      if (byte >= FAIR_BYTES || text.length === prefix.length + RANDOM_CHARACTERS) continue;
      text += KEY_ALPHABET.charAt(byte % KEY_ALPHABET.length);
    }
  }
  return text + checksumOf(text);
}

import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256. */
const LENGTH = 43;

/** A gateway key: `mgw_` and 43 letters and digits, 256 random bits. */
export function newKey(): string {
  let text = '';
  while (text.length < LENGTH) {
    for (const byte of randomBytes(64)) {
      // 248 = 4 x 62: larger bytes would make some letters likelier than others.
      if (byte < 248 && text.length < LENGTH) text += ALPHABET[byte % 62];
    }
  }
  return `mgw_${text}`;
}

/** Keys that entries are encrypted with. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

const KEY_BYTES = 32;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

interface EncryptionKey {
  readonly id: Buffer;
  readonly secret: Buffer;
}

/**
 * AES-256-GCM. The first key seals, all of them open: to rotate, put a new one first and take the old one away a `max_age`
 * later. Each place has a key of its own, derived from the secret, so that one sealed text cannot be put in another's place,
 * and random nonces of many entries never meet.
 */
export class CacheEncryption {
  readonly #keys: readonly EncryptionKey[];
  readonly #sealing: EncryptionKey;

  private constructor(sealing: EncryptionKey, keys: readonly EncryptionKey[]) {
    this.#sealing = sealing;
    this.#keys = keys;
  }

  /** `text`: one key a line, 32 bytes as 64 hex digits or as base64; `#` begins a comment. Throws naming the line. */
  static read(text: string): CacheEncryption {
    const keys: EncryptionKey[] = [];
    for (const [index, line] of text.split('\n').entries()) {
      const said = line.replace(/#.*/, '').trim();
      if (said !== '') keys.push(keyOf(said, index + 1));
    }
    const [first] = keys;
    if (first === undefined) throw new Error('cache-key-file must hold at least one key of 32 bytes: it is empty.');
    return new CacheEncryption(first, keys);
  }

  /** `place`: where the text will lie; it opens nowhere else. -> key id, nonce, tag, sealed text. */
  seal(plain: Buffer, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', derived(this.#sealing, place), nonce);
    const sealed = cipher.update(plain);
    cipher.final();
    return Buffer.concat([this.#sealing.id, nonce, cipher.getAuthTag(), sealed]);
  }

  /** undefined: sealed with a key that is gone, for another place, or changed since. */
  open(sealed: Buffer, place: string): Buffer | undefined {
    const tagAt = KEY_ID_BYTES + NONCE_BYTES;
    const textAt = tagAt + TAG_BYTES;
    const key = this.#keys.find(({ id }) => sealed.subarray(0, KEY_ID_BYTES).equals(id));
    if (key === undefined || sealed.length < textAt) return undefined;
    const nonce = sealed.subarray(KEY_ID_BYTES, tagAt);
    const decipher = createDecipheriv('aes-256-gcm', derived(key, place), nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(tagAt, textAt));
    const plain = decipher.update(sealed.subarray(textAt));
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    return plain;
  }
}

function keyOf(text: string, line: number): EncryptionKey {
  const secret = secretOf(text);
  if (secret?.length !== KEY_BYTES)
    throw new Error(`cache-key-file line ${line} must be 32 bytes, written as 64 hex digits or as base64.`);
  const id = createHash('sha256').update('id of a cache key\n').update(secret).digest().subarray(0, KEY_ID_BYTES);
  return { id, secret };
}

function secretOf(text: string): Buffer | undefined {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined;
}

function derived({ secret }: EncryptionKey, place: string): Buffer {
  return createHmac('sha256', secret).update(place).digest();
}

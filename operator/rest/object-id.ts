/** Ids of objects that nobody gave one: the same for the same name, always. */
import { createHash } from 'node:crypto';

/** Of all ids that are made here: a UUID of version 4, drawn once. */
const SPACE = Buffer.from('6b1c1f0e5a8e4d0f9d3a2f6e7c4b8a91', 'hex');
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** UUID of version 5 (RFC 9562) of a text such as `ApiKey default/mine`. */
export function idOf(text: string): string {
  const bytes = createHash('sha1').update(SPACE).update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

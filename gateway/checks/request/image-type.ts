/** Images by their first bytes: what a server says of them is not believed. */
const SIGNATURES: readonly (readonly [mediaType: string, at: number, ascii: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF87a'],
  ['image/gif', 0, 'GIF89a'],
  ['image/webp', 8, 'WEBP'],
];
const LONGEST = 12;

/** The media type, or undefined for anything but PNG, JPEG, GIF and WebP. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, LONGEST)).toString('latin1');
  return SIGNATURES.find(([, at, ascii]) => head.startsWith(ascii, at))?.[0];
}

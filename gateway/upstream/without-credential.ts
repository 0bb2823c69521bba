/** An upstream's words about a failure, without the credential that it was called with. */

const CARRIES_CREDENTIAL = /authorization|key|token|secret/i;
/** Shorter ones are no secrets, and would be found in ordinary words. */
const MIN_SECRET_CHARS = 8;

/** `headers`: flat list of names and values of the call. */
export function withoutCredential(text: string, headers: readonly string[]): string {
  let clean = text;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (!CARRIES_CREDENTIAL.test(headers[index] ?? '')) continue;
    const secret = (headers[index + 1] ?? '').replace(/^\S+ +/, '');
    if (secret.length >= MIN_SECRET_CHARS) clean = clean.replaceAll(secret, '***');
  }
  return clean;
}

/** Parameters that several checks have. */
import { z } from '#crds/config/words.ts';

const MAX_WORDS = 1000;

/** A list of 1 to 1,000 words of at most 1,024 characters. */
export function words(description: string) {
  return z.array(z.string().min(1).max(1024)).min(1).max(MAX_WORDS).describe(description);
}

function isEndpoint(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { username, password, hash } = new URL(value);
  return username === '' && password === '' && hash === '';
}

/** Where a service of the administrator's answers; a query is fine. */
export function endpointUrl(description: string) {
  return z
    .string()
    .max(2048)
    .refine(isEndpoint, {
      error: 'must be an http or https URL without credentials, such as "https://checks.internal/v1"',
    })
    .describe(description);
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export const requestHeaders = z
  .record(z.string().regex(HEADER_NAME), z.string().max(8192).regex(HEADER_VALUE))
  .refine((headers) => Object.keys(headers).length <= 32, { error: 'must have at most 32 keys' })
  .describe('Headers that are sent along, e.g. a credential of the service.');

/** Milliseconds that one run may take. */
export function timeout(defaultMs: number) {
  return z.int().min(1).max(60_000).default(defaultMs).describe('How long the check may take, in milliseconds.');
}

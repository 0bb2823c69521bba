/** What keys look like and may do, in Markdown: for secret scanners, and for those who write scopes. */
import { DEFAULT_KEY_PREFIX, issuedKeyPattern, KEY_ALPHABET } from '../keys/key-form.ts';
import { DEFAULT_SCOPE, SCOPES } from '../kinds/scopes.ts';

export function keysReference(): string {
  return [
    '# Keys',
    '',
    'Written by `npm run generate`; do not edit.',
    '',
    '## For secret scanners',
    '',
    'A key that was made here is a prefix, 43 random letters and digits (256 bits), and six that check what is before them.',
    `The prefix is \`${DEFAULT_KEY_PREFIX}\` where \`--api-key-prefix\` (\`API_KEY_PREFIX\`) says nothing else. What may be one:`,
    '',
    '```',
    issuedKeyPattern(DEFAULT_KEY_PREFIX).source,
    '```',
    '',
    'It is one if its last six characters are the CRC-32 (as of zlib and gzip) of all characters before them, the prefix',
    `included, as an unsigned number in base 62 with the digits \`${KEY_ALPHABET}\`,`,
    'the highest first, filled up with `0` on the left. Keys made by older versions (43 characters after the prefix, no',
    'checksum) and keys that were brought, which may have any form, cannot be told so.',
    '',
    '## Scopes',
    '',
    `What \`spec.scopes\` of an ApiKey may name. A key that names none has \`${DEFAULT_SCOPE}\`.`,
    '',
    '| scope | allows |',
    '|---|---|',
    ...Array.from(SCOPES, ([scope, allows]) => `| \`${scope}\` | ${allows} |`),
    '',
  ].join('\n');
}

import { statusCodes } from './values.ts';
import { z } from './words.ts';

/** Semantics 4. The second spelling of the last key is an alias: either one switches it on. */
export const retrySchema = z
  .strictObject({
    attempts: z.int().min(0).max(5).describe('Tries after the first.'),
    on_status_codes: statusCodes(
      'Statuses that are tried again, instead of 429, 500, 502, 503, 504, 529; a network error counts as 502, a timeout as 408.',
    ).optional(),
    use_retry_after_headers: z
      .boolean()
      .meta({ description: 'Wait as long as the provider asks by retry-after or retry-after-ms.', absent: false })
      .optional(),
    use_retry_after_header: z.boolean().describe('The same as use_retry_after_headers.').optional(),
  })
  .describe('Tries on the same target, before the first byte of an answer.');

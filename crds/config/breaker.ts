import { statusCodes } from './values.ts';
import { z } from './words.ts';

/** Semantics 4: `cb_config`. */
export const breakerSchema = z
  .strictObject({
    failure_threshold: z.number().min(1).max(1_000_000).describe('Failures, after retries, that open the circuit.'),
    cooldown_interval: z
      .number()
      .min(30_000)
      .max(86_400_000)
      .describe('Milliseconds until one request tries the target again.'),
    failure_status_codes: statusCodes(
      'Statuses that count as failures, instead of 500 and above; a network error counts as 502, a timeout as 408.',
    ).optional(),
  })
  .describe('Circuit breaker: a target that keeps failing is left out for a while.');

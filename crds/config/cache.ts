import { z } from './words.ts';

/** Semantics 8. `max_age` is in seconds. */
export const cacheSchema = z
  .strictObject({
    mode: z.enum(['simple', 'semantic']).describe('simple: equal requests; semantic: also those that mean the same.'),
    max_age: z
      .int()
      .min(1)
      .max(7_776_000)
      .meta({ description: 'Seconds for which an answer may be given again.', absent: 604800 })
      .optional(),
  })
  .describe('Answers from a cache where the same was asked before.');

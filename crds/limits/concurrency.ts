/** How many requests may be under way at once, and how many may wait for their turn. */
import { z } from '../config/words.ts';

const MAX_IN_FLIGHT = 100_000;

export const concurrency = z
  .strictObject({
    max_in_flight: z.int().min(1).max(MAX_IN_FLIGHT).describe('Requests under way at once, over all replicas.'),
    max_queued: z
      .int()
      .min(0)
      .max(MAX_IN_FLIGHT)
      .describe('Requests that may wait for their turn; more are refused at once.')
      .default(0),
    max_wait_ms: z.int().min(1).max(600_000).describe('Milliseconds that one waits at most.').default(10_000),
  })
  .describe('Requests under way at once.');

export type Concurrency = z.infer<typeof concurrency>;

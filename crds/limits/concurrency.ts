/** How many requests may be under way at once, and how many may wait for their turn. */
import { z } from '../config/words.ts';

const MAX_IN_FLIGHT = 100_000;
const MAX_WAIT_MS = 600_000;
const DEFAULT_WAIT_MS = 10_000;

const inFlight = z.int().min(1).max(MAX_IN_FLIGHT).describe('Requests under way at once, over all replicas.');
const queued = z.int().min(0).max(MAX_IN_FLIGHT);
const waitMs = z.int().min(1).max(MAX_WAIT_MS);
const QUEUED = 'Requests that may wait for their turn, on each replica; more are refused at once.';
const WAIT_MS = 'Milliseconds that one waits at most.';

/** Of a key or an Integration. */
export const concurrency = z
  .strictObject({
    max_in_flight: inFlight,
    max_queued: queued.describe(QUEUED).default(0),
    max_wait_ms: waitMs.describe(WAIT_MS).default(DEFAULT_WAIT_MS),
  })
  .describe('Requests under way at once.');

export type Concurrency = z.infer<typeof concurrency>;

/** The same of a target in a config object, where nothing is filled in. */
export const targetConcurrency = z
  .strictObject({
    max_in_flight: inFlight,
    max_queued: queued.meta({ description: QUEUED, absent: 0 }).optional(),
    max_wait_ms: waitMs.meta({ description: WAIT_MS, absent: DEFAULT_WAIT_MS }).optional(),
  })
  .describe('Requests under way at once. Only of a config without targets.');

/** With what holds where it says nothing. */
export function completeConcurrency(given: z.infer<typeof targetConcurrency>): Concurrency {
  return {
    max_in_flight: given.max_in_flight,
    max_queued: given.max_queued ?? 0,
    max_wait_ms: given.max_wait_ms ?? DEFAULT_WAIT_MS,
  };
}

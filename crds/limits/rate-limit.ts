/** So many requests or tokens in any window of a length. */
import { z } from '../config/words.ts';

export const RATE_UNITS = ['rpm', 'rph', 'rpd', 'rpw'] as const;
export type RateUnit = (typeof RATE_UNITS)[number];

const MINUTE_MS = 60_000;
/** Length of the window of each unit, milliseconds. */
export const WINDOW_MS: Readonly<Record<RateUnit, number>> = {
  rpm: MINUTE_MS,
  rph: 60 * MINUTE_MS,
  rpd: 24 * 60 * MINUTE_MS,
  rpw: 7 * 24 * 60 * MINUTE_MS,
};

const MAX_RATE = 1e12;
const MAX_LIMITS = 16;

export const rateLimitFields = {
  type: z.enum(['requests', 'tokens']).describe('What is counted.'),
  unit: z.enum(RATE_UNITS).describe('Length of the window: a minute, an hour, a day or a week.'),
  value: z.int().min(0).max(MAX_RATE).describe('How much of it is admitted in any window of that length.'),
};

const rateLimit = z.strictObject(rateLimitFields);

/** `rate_limits` of a key, an Integration or a workspace: one object or a list. */
export const rateLimits = z
  .union([rateLimit, z.array(rateLimit).max(MAX_LIMITS)])
  .describe('Limits of requests or tokens per window: one object or a list of {type, unit, value}.');

export type RateLimit = z.infer<typeof rateLimit>;

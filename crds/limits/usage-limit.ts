/** A budget: so much money or so many tokens in a period, or for ever. */
import { z } from '../config/words.ts';

const MAX_CREDIT = 1e12;
const MAX_LIMITS = 16;

export const usageLimitFields = {
  type: z.enum(['cost', 'tokens']).describe('What is counted: US dollars or tokens.'),
  credit_limit: z.number().min(0).max(MAX_CREDIT).describe('How much may be used in a period.'),
  alert_threshold: z
    .number()
    .min(0)
    .max(MAX_CREDIT)
    .describe('How much is used when an alert is given, once per period.')
    .optional(),
  periodic_reset: z
    .enum(['weekly', 'monthly'])
    .describe('When it starts anew: on Mondays, or on the first of the month, at 00:00 UTC. Absent: never.')
    .optional(),
  periodic_reset_days: z
    .int()
    .min(1)
    .max(365)
    .describe('It starts anew every so many days, at 00:00 UTC. Not beside periodic_reset.')
    .optional(),
  next_usage_reset_at: z.iso
    .datetime({ offset: true })
    .max(64)
    .describe('A time at which it starts anew, brought forward to its day in UTC; later ones follow from it.')
    .optional(),
  on_unavailable: z
    .enum(['allow', 'deny'])
    .describe('What becomes of requests while the store of the counts is away. What was allowed is counted later.')
    .default('allow'),
};

interface Periodic {
  readonly periodic_reset?: unknown;
  readonly periodic_reset_days?: unknown;
  readonly next_usage_reset_at?: unknown;
  readonly alert_threshold?: number | undefined;
  readonly credit_limit: number;
}

/** What the fields of one usage limit must hold together; CEL says the same in the CRDs. */
export const USAGE_MESSAGES = {
  oneReset: 'must not stand beside periodic_reset: use one of them',
  resetNeedsDays: 'needs periodic_reset_days, which says how long a period is',
  alertWithin: 'must not be more than credit_limit',
} as const;

/** For `superRefine`: a usage limit or a policy that has its fields. */
export function checkUsageLimit(limit: Periodic, context: z.RefinementCtx): void {
  const refuse = (field: string, message: string) =>
    context.addIssue({ code: 'custom', path: [field], message, input: undefined });
  if (limit.periodic_reset !== undefined && limit.periodic_reset_days !== undefined)
    refuse('periodic_reset_days', USAGE_MESSAGES.oneReset);
  if (limit.next_usage_reset_at !== undefined && limit.periodic_reset_days === undefined)
    refuse('next_usage_reset_at', USAGE_MESSAGES.resetNeedsDays);
  if (limit.alert_threshold !== undefined && limit.alert_threshold > limit.credit_limit)
    refuse('alert_threshold', USAGE_MESSAGES.alertWithin);
}

const usageLimit = z.strictObject(usageLimitFields).superRefine(checkUsageLimit);

/** `usage_limits` of a key, an Integration or a workspace: one object or a list. */
export const usageLimits = z
  .union([usageLimit, z.array(usageLimit).max(MAX_LIMITS)])
  .describe('Budgets: one object or a list of {type, credit_limit, alert_threshold, periodic_reset, ...}.');

export type UsageLimit = z.infer<typeof usageLimit>;

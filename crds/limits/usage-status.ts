/** What the status of an object says of its budgets. */
import { z } from '../config/words.ts';

/** Entries of one status; of more groups, those that used the largest part of theirs. */
export const MAX_USAGE_ENTRIES = 100;

const amount = (description: string) => z.number().describe(description);
const time = (description: string) => z.string().max(64).describe(description);

const usageEntry = z.strictObject({
  limit: z.string().max(64).describe('Place of the budget in the spec, e.g. `usage_limits[0]`; empty for a policy.'),
  group: z
    .string()
    .max(4_096)
    .describe('Values of `group_by`, joined by ", ". Absent where nothing is grouped.')
    .optional(),
  group_id: z
    .string()
    .max(16)
    .describe('Names the group in the annotation modelgateway.dev/reset-usage.<group_id>.')
    .optional(),
  type: z.string().max(16).describe('What is counted: cost (US dollars) or tokens.'),
  used: amount('How much was used in this period.'),
  remaining: amount('How much is left; 0: the budget is spent.'),
  credit_limit: amount('How much may be used in a period.'),
  alerted: z.boolean().describe('Whether the alert of this period was given.').optional(),
  last_reset_at: time('When this period began. Absent: it has no beginning.').optional(),
  next_usage_reset_at: time('When the next one begins. Absent: never.').optional(),
});

/** Fields for the `statusShape` of a kind that has budgets. */
export const usageStatusFields = {
  usage: z
    .array(usageEntry)
    .max(MAX_USAGE_ENTRIES)
    .describe(`What was used of each budget; at most ${MAX_USAGE_ENTRIES}, those that are nearest to their end.`)
    .optional(),
  state: z.string().max(16).describe('active, or exhausted where a budget is spent.').optional(),
};

export type UsageEntry = z.infer<typeof usageEntry>;

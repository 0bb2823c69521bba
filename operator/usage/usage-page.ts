/** What a gateway says of the budgets that it counts: `/usage` of its admin port. */
import { z } from '#crds/config/words.ts';

const amount = z.string().regex(/^\d{1,40}$/);

/** Keys that a newer gateway adds are let pass. */
const usagePage = z.object({
  /** Of the process: another one after each start. */
  incarnation: z.string().min(1).max(64),
  /** `own`: what this process used since its start. `total`: what all used, as the shared store says. */
  mode: z.enum(['own', 'total']),
  store: z.object({ state: z.enum(['ok', 'degraded']) }),
  /** Version of the shares that it goes by; 0: none. */
  shares_version: z.int().min(0).default(0),
  budgets: z.array(z.object({ key: z.string().max(8_192), used: amount })),
  keys: z.array(z.object({ namespace: z.string(), name: z.string(), last_used_at_ms: z.number() })).optional(),
});

export type UsagePage = z.infer<typeof usagePage>;

/** Throws for an answer that is none. */
export function readUsagePage(answer: unknown): UsagePage {
  return usagePage.parse(answer);
}

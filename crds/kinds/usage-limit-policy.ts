import { text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { conditions, groupBy } from '../limits/conditions.ts';
import { checkUsageLimit, USAGE_MESSAGES, usageLimitFields } from '../limits/usage-limit.ts';
import { usageStatusFields } from '../limits/usage-status.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import type { Kind } from './kind.ts';
import { policyStatus } from './rate-limit-policy.ts';

const usageLimitPolicyShape = z.strictObject({
  name: text(255, 'Name for people.').optional(),
  ...usageLimitFields,
  conditions,
  group_by: groupBy,
  status: policyStatus,
});

/** Spec of a UsageLimitPolicy: a budget of money or tokens for the requests that it is about. */
export const usageLimitPolicySpec = usageLimitPolicyShape.superRefine(checkUsageLimit);

export type UsageLimitPolicySpec = z.infer<typeof usageLimitPolicyShape>;

export const usageLimitPolicyKind: Kind = {
  kind: 'UsageLimitPolicy',
  plural: 'usagelimitpolicies',
  singular: 'usagelimitpolicy',
  shortName: 'ulp',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'A budget: how much money or how many tokens may be used in a period. In the organisation namespace it is about every workspace.',
  specSchema: usageLimitPolicySpec,
  specShape: usageLimitPolicyShape,
  statusShape: z.strictObject(usageStatusFields),
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Limit', type: 'string', jsonPath: '.spec.credit_limit' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Status', type: 'string', jsonPath: '.spec.status', priority: 1 },
  ],
  celRules: [
    {
      rule: '!has(self.periodic_reset) || !has(self.periodic_reset_days)',
      message: USAGE_MESSAGES.oneReset,
      fieldPath: '.periodic_reset_days',
    },
    {
      rule: '!has(self.next_usage_reset_at) || has(self.periodic_reset_days)',
      message: USAGE_MESSAGES.resetNeedsDays,
      fieldPath: '.next_usage_reset_at',
    },
    {
      rule: '!has(self.alert_threshold) || self.alert_threshold <= self.credit_limit',
      message: USAGE_MESSAGES.alertWithin,
      fieldPath: '.alert_threshold',
    },
  ],
};

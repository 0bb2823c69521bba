import { text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { conditions, groupBy } from '../limits/conditions.ts';
import { rateLimitFields } from '../limits/rate-limit.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import type { Kind } from './kind.ts';

export const policyStatus = z
  .enum(['active', 'archived'])
  .describe('An archived policy limits nothing.')
  .default('active');

/** Spec of a RateLimitPolicy: so many requests or tokens per window, of the requests that it is about. */
export const rateLimitPolicySpec = z.strictObject({
  name: text(255, 'Name for people.').optional(),
  ...rateLimitFields,
  conditions,
  group_by: groupBy,
  status: policyStatus,
});

export type RateLimitPolicySpec = z.infer<typeof rateLimitPolicySpec>;

export const rateLimitPolicyKind: Kind = {
  kind: 'RateLimitPolicy',
  plural: 'ratelimitpolicies',
  singular: 'ratelimitpolicy',
  shortName: 'rlp',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'How many requests or tokens are admitted in any minute, hour, day or week. In the organisation namespace it is about every workspace.',
  specSchema: rateLimitPolicySpec,
  specShape: rateLimitPolicySpec,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Value', type: 'integer', jsonPath: '.spec.value' },
    { name: 'Unit', type: 'string', jsonPath: '.spec.unit' },
    { name: 'Status', type: 'string', jsonPath: '.spec.status', priority: 1 },
  ],
  celRules: [],
};

/** `/policies/rate-limits`. */
import { RATE_UNITS } from '#crds/limits/rate-limit.ts';
import { changedSpec } from '../body.ts';
import type { ResourceRow } from '../resource-row.ts';
import type { Spec } from '../stored-object.ts';
import { PLACE, placeFields, wholeSpec } from './wire.ts';

/** What policies of both kinds have in common. */
export const POLICY = {
  createPath: '',
  given: () => ({}),
  scopes: (action: string) => [`policies.${action}`],
  isAboutAll: true,
  isOfOrganisation: () => false,
  merged: (fields: Spec, before: Spec = {}) => changedSpec(before, fields),
  removal: 'archive',
} as const satisfies Partial<ResourceRow>;

/** Filter of the list: what is archived is shown only to those who ask. */
export const STATUS = {
  words: ['active', 'archived'],
  absent: 'active',
  of: (spec: Spec) => spec['status'] ?? 'active',
};

export const RATE_LIMIT_POLICIES: ResourceRow = {
  ...POLICY,
  path: '/policies/rate-limits',
  kind: 'RateLimitPolicy',
  title: 'rate limit policy',
  words: { created: 'policy_usage_limits', whole: 'policy_rate_limits' },
  create: { fields: ['name', 'conditions', 'group_by', 'type', 'unit', 'value'], besides: PLACE },
  update: { fields: ['name', 'unit', 'value'], besides: {} },
  filters: {
    status: STATUS,
    type: { words: ['requests', 'tokens'], of: (spec) => spec['type'] },
    unit: { words: RATE_UNITS, of: (spec) => spec['unit'] },
  },
  wire(object, { world }) {
    const { name = null, conditions, group_by, type, unit, value, status } = wholeSpec(object);
    return { id: object.id, name, conditions, group_by, type, unit, value, status, ...placeFields(object, world) };
  },
  actions: [],
};

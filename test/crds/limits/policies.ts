/** Specs of policies, right and wrong: what is refused, at which field, and who of operator and API server can say so. */
export type Spec = Readonly<Record<string, unknown>>;

const ABOUT = { conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'api_key' }] };

export const RATE: Spec = { type: 'tokens', unit: 'rpm', value: 1000, ...ABOUT };
export const USAGE: Spec = { type: 'cost', credit_limit: 10, ...ABOUT };

const condition = (more: Spec): Spec => ({ conditions: [{ key: 'model', value: '*', ...more }] });
const conditionKeys = [
  'api_key',
  'config',
  'prompt',
  'endpoint_type',
  'workspace_id',
  'virtual_key',
  'provider',
  'model',
];
const grouped = (count: number): Spec => ({
  group_by: Array.from({ length: count }, (_, index) => ({ key: `metadata.k${index}` })),
});
const conditioned = (count: number): Spec => ({
  conditions: Array.from({ length: count }, (_, index) => ({ key: `metadata.k${index}`, value: 'v' })),
});

/** What both kinds of policies take. */
const TAKEN_BY_BOTH: readonly Spec[] = [
  {},
  { name: 'n'.repeat(255) },
  { status: 'active' },
  { status: 'archived' },
  ...conditionKeys.map((key) => condition({ key })),
  condition({ key: 'metadata.team' }),
  condition({ value: 'a' }),
  condition({ value: ['a', 'b'] }),
  condition({ value: Array.from({ length: 256 }, (_, index) => `v${index}`) }),
  condition({ excludes: 'a' }),
  condition({ excludes: ['a', 'b'] }),
  conditioned(32),
  grouped(8),
];

export const TAKEN: Readonly<Record<'RateLimitPolicy' | 'UsageLimitPolicy', readonly Spec[]>> = {
  RateLimitPolicy: [
    ...TAKEN_BY_BOTH,
    { type: 'requests' },
    ...['rpm', 'rph', 'rpd', 'rpw'].map((unit) => ({ unit })),
    { value: 0 },
    { value: 1e12 },
  ].map((more) => ({ ...RATE, ...more })),
  UsageLimitPolicy: [
    ...TAKEN_BY_BOTH,
    { type: 'tokens' },
    { credit_limit: 0 },
    { credit_limit: 0.01 },
    { credit_limit: 1e12 },
    { alert_threshold: 10 },
    { alert_threshold: 0 },
    { periodic_reset: 'weekly' },
    { periodic_reset: 'monthly' },
    { periodic_reset_days: 1 },
    { periodic_reset_days: 365, next_usage_reset_at: '2026-12-01T00:00:00Z' },
    { on_unavailable: 'deny' },
  ].map((more) => ({ ...USAGE, ...more })),
};

/** A part of a spec, and the field that is wrong. */
export type Wrong = readonly [part: Spec, path: string];

const WRONG_FOR_BOTH: readonly Wrong[] = [
  [{ type: 'words' }, 'spec.type'],
  [{ type: undefined }, 'spec.type'],
  [{ name: '' }, 'spec.name'],
  [{ name: 'n'.repeat(256) }, 'spec.name'],
  [{ status: 'paused' }, 'spec.status'],
  [{ conditions: undefined }, 'spec.conditions'],
  [{ conditions: [] }, 'spec.conditions'],
  [{ conditions: {} }, 'spec.conditions'],
  [conditioned(33), 'spec.conditions'],
  [condition({ value: undefined }), 'spec.conditions[0].value'],
  [condition({ operator: 'is' }), 'spec.conditions[0]'],
  [{ group_by: undefined }, 'spec.group_by'],
  [{ group_by: [] }, 'spec.group_by'],
  [grouped(9), 'spec.group_by'],
  [{ group_by: [{ key: 'model', value: 'a' }] }, 'spec.group_by[0]'],
  [{ limits: 3 }, 'spec'],
];

/** What the API server refuses as well. */
export const WRONG: Readonly<Record<'RateLimitPolicy' | 'UsageLimitPolicy', readonly Wrong[]>> = {
  RateLimitPolicy: [
    ...WRONG_FOR_BOTH,
    [{ type: 'cost' }, 'spec.type'],
    [{ unit: 'rps' }, 'spec.unit'],
    [{ unit: undefined }, 'spec.unit'],
    [{ value: -1 }, 'spec.value'],
    [{ value: 1.5 }, 'spec.value'],
    [{ value: 1e12 + 1 }, 'spec.value'],
    [{ value: '100' }, 'spec.value'],
    [{ value: undefined }, 'spec.value'],
    [{ credit_limit: 1 }, 'spec'],
  ],
  UsageLimitPolicy: [
    ...WRONG_FOR_BOTH,
    [{ type: 'requests' }, 'spec.type'],
    [{ credit_limit: undefined }, 'spec.credit_limit'],
    [{ credit_limit: -0.01 }, 'spec.credit_limit'],
    [{ credit_limit: 1e12 + 1 }, 'spec.credit_limit'],
    [{ credit_limit: '10' }, 'spec.credit_limit'],
    [{ alert_threshold: -1 }, 'spec.alert_threshold'],
    [{ periodic_reset: 'daily' }, 'spec.periodic_reset'],
    [{ periodic_reset_days: 0 }, 'spec.periodic_reset_days'],
    [{ periodic_reset_days: 366 }, 'spec.periodic_reset_days'],
    [{ periodic_reset_days: 1.5 }, 'spec.periodic_reset_days'],
    [{ periodic_reset_days: 7, next_usage_reset_at: 'monday' }, 'spec.next_usage_reset_at'],
    [{ on_unavailable: 'wait' }, 'spec.on_unavailable'],
    [{ unit: 'rpm' }, 'spec'],
  ],
};

/** Which words there are, the API server does not know. */
export const BEYOND_STRUCTURE: readonly Wrong[] = [
  [condition({ key: 'user' }), 'spec.conditions[0].key'],
  [condition({ key: 'metadata.' }), 'spec.conditions[0].key'],
  [condition({ value: '' }), 'spec.conditions[0].value'],
  [condition({ value: [] }), 'spec.conditions[0].value'],
  [{ group_by: [{ key: 'tokens' }] }, 'spec.group_by[0].key'],
];

/** What no single field shows: the API server knows it by a rule. */
export const BROKEN_USAGE_RULES: readonly (readonly [title: string, spec: Spec, path: string])[] = [
  ['two kinds of resets', { ...USAGE, periodic_reset: 'weekly', periodic_reset_days: 7 }, 'spec.periodic_reset_days'],
  ['a next reset without days', { ...USAGE, next_usage_reset_at: '2026-12-01T00:00:00Z' }, 'spec.next_usage_reset_at'],
  [
    'a next reset beside a named period',
    { ...USAGE, periodic_reset: 'monthly', next_usage_reset_at: '2026-12-01T00:00:00Z' },
    'spec.next_usage_reset_at',
  ],
  ['an alert beyond the limit', { ...USAGE, alert_threshold: 10.01 }, 'spec.alert_threshold'],
];

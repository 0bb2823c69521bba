/** For each resource of the table what a caller would send, and what they should not. */

import { expect } from 'vitest';
import type { Json } from './stage.ts';
import { TEAM } from './world.ts';

export interface Sample {
  /** With `/v1`. */
  readonly path: string;
  readonly createPath: string;
  /** With no name. */
  readonly create: Json;
  /** And what an object then is, besides. */
  readonly whole: Json;
  readonly update: Json;
  readonly updated: Json;
  /** A change of the good body -> the field that is named. */
  readonly bad: readonly (readonly [change: Json, param: string, code?: string])[];
  readonly badUpdates: readonly (readonly [change: Json, param: string])[];
  readonly removal: 'archive' | 'delete';
  /** The object that somebody else keeps. */
  readonly foreign: string;
  readonly created: string;
}

const POLICY = {
  conditions: [{ key: 'metadata.tier', value: 'gold' }],
  group_by: [{ key: 'api_key' }],
};

const BAD_POLICY: Sample['bad'] = [
  [{ conditions: undefined }, 'conditions', 'missing_field'],
  [{ conditions: [] }, 'conditions'],
  [{ conditions: 'all' }, 'conditions'],
  [{ conditions: [{ key: 'colour', value: 'x' }] }, 'conditions[0].key'],
  [{ conditions: [{ key: 'api_key' }] }, 'conditions[0].value', 'missing_field'],
  [{ conditions: [{ key: 'api_key', value: 'x', not: 'y' }] }, 'conditions[0]'],
  [{ group_by: undefined }, 'group_by', 'missing_field'],
  [{ group_by: [] }, 'group_by'],
  [{ group_by: [{ key: 'metadata.' }] }, 'group_by[0].key'],
  [{ type: undefined }, 'type', 'missing_field'],
  [{ type: 'words' }, 'type'],
  [{ name: '' }, 'name'],
  [{ name: 'x'.repeat(256) }, 'name'],
  [{ name: 7 }, 'name'],
  [{ status: 'archived' }, 'status'],
  [{ colour: 'red' }, 'colour'],
  [{ workspace_id: 'Team A' }, 'workspace_id'],
  [{ workspace_id: 7 }, 'workspace_id'],
  [{ organisation_id: 'acme' }, 'organisation_id'],
];

export const SAMPLES: readonly Sample[] = [
  {
    path: '/v1/policies/rate-limits',
    createPath: '/v1/policies/rate-limits',
    create: { ...POLICY, type: 'requests', unit: 'rpm', value: 100 },
    whole: { ...POLICY, type: 'requests', unit: 'rpm', value: 100, status: 'active' },
    update: { unit: 'rph', value: 7, name: 'Renamed' },
    updated: { unit: 'rph', value: 7, name: 'Renamed', type: 'requests' },
    bad: [
      ...BAD_POLICY,
      [{ unit: undefined }, 'unit', 'missing_field'],
      [{ unit: 'rps' }, 'unit'],
      [{ value: undefined }, 'value', 'missing_field'],
      [{ value: -1 }, 'value'],
      [{ value: 1.5 }, 'value'],
      [{ value: '100' }, 'value'],
      [{ value: null }, 'value', 'missing_field'],
    ],
    badUpdates: [
      [{ value: -1 }, 'value'],
      [{ unit: 'rps' }, 'unit'],
      [{ name: '' }, 'name'],
      [{ conditions: POLICY.conditions }, 'conditions'],
      [{ status: 'archived' }, 'status'],
      [{ value: null }, 'value'],
    ],
    removal: 'archive',
    foreign: 'by-hand',
    created: 'policy_usage_limits',
  },
  {
    path: '/v1/policies/usage-limits',
    createPath: '/v1/policies/usage-limits',
    create: { ...POLICY, type: 'cost', credit_limit: 10.5, alert_threshold: null, periodic_reset: 'monthly' },
    whole: {
      ...POLICY,
      type: 'cost',
      credit_limit: 10.5,
      alert_threshold: null,
      periodic_reset: 'monthly',
      periodic_reset_days: null,
      next_usage_reset_at: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/),
      status: 'active',
    },
    update: { credit_limit: 20, alert_threshold: 15, periodic_reset_days: 7 },
    updated: { credit_limit: 20, alert_threshold: 15, periodic_reset_days: 7, type: 'cost' },
    bad: [
      ...BAD_POLICY,
      [{ credit_limit: undefined }, 'credit_limit', 'missing_field'],
      [{ credit_limit: -1 }, 'credit_limit'],
      [{ alert_threshold: 11 }, 'alert_threshold'],
      [{ periodic_reset: 'daily' }, 'periodic_reset'],
      [{ periodic_reset: undefined, periodic_reset_days: 366 }, 'periodic_reset_days'],
      [{ periodic_reset: 'weekly', periodic_reset_days: 7 }, 'periodic_reset_days'],
      [{ next_usage_reset_at: '2030-01-01T00:00:00Z' }, 'next_usage_reset_at'],
      [{ on_unavailable: 'perhaps' }, 'on_unavailable'],
    ],
    badUpdates: [
      [{ credit_limit: '20' }, 'credit_limit'],
      [{ alert_threshold: 1e6 }, 'alert_threshold'],
      [{ type: 'tokens' }, 'type'],
      [{ reset_usage_for_value: 7 }, 'reset_usage_for_value'],
    ],
    removal: 'archive',
    foreign: 'by-hand',
    created: 'policy_usage_limits',
  },
  {
    path: '/v1/api-keys',
    createPath: '/v1/api-keys/workspace/service',
    create: {
      scopes: ['completions.write'],
      description: 'Of the robot',
      user_id: 'robot',
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }],
      usage_limits: { type: 'tokens', credit_limit: 1_000_000, alert_threshold: null },
      defaults: { metadata: { team: 'a' } },
      alert_emails: ['robot@example.com'],
      expires_at: null,
      rotation_policy: { rotation_period: 'weekly', next_rotation_at: null },
    },
    whole: {
      type: 'workspace-service',
      scopes: ['completions.write'],
      description: 'Of the robot',
      user_id: 'robot',
      status: 'active',
      creation_mode: 'api',
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }],
      usage_limits: [expect.objectContaining({ type: 'tokens', credit_limit: 1_000_000 })],
      defaults: { metadata: { team: 'a' }, allow_config_override: true },
      alert_emails: ['robot@example.com'],
      expires_at: null,
      reset_usage: 0,
      rotation_policy: { rotation_period: 'weekly', key_transition_period_ms: 1_800_000 },
    },
    update: { description: null, usage_limits: [], expires_at: '2099-01-01T00:00:00Z', reset_usage: true },
    updated: { description: null, usage_limits: [], expires_at: '2099-01-01T00:00:00Z', reset_usage: 1 },
    bad: [
      [{ name: undefined }, 'name', 'missing_field'],
      [{ name: '' }, 'name'],
      [{ scopes: undefined }, 'scopes', 'missing_field'],
      [{ scopes: 'completions.write' }, 'scopes'],
      [{ scopes: [7] }, 'scopes[0]'],
      [{ description: 7 }, 'description'],
      [{ user_id: '' }, 'user_id'],
      [{ rate_limits: [{ type: 'requests', unit: 'rps', value: 1 }] }, 'rate_limits[0].unit'],
      [{ rate_limits: [{ type: 'requests', unit: 'rpm' }] }, 'rate_limits[0].value', 'missing_field'],
      [{ usage_limits: { type: 'cost', credit_limit: -1 } }, 'usage_limits[0].credit_limit'],
      [{ usage_limits: { type: 'cost', credit_limit: 1, alert_threshold: 2 } }, 'usage_limits[0].alert_threshold'],
      [{ defaults: { config_id: 'No Name' } }, 'defaults.config_id'],
      [{ defaults: { allow_config_override: 'no' } }, 'defaults.allow_config_override'],
      [{ alert_emails: ['robot'] }, 'alert_emails[0]'],
      [{ expires_at: 'tomorrow' }, 'expires_at'],
      [{ rotation_policy: { rotation_period: 'daily' } }, 'rotation_policy.rotation_period'],
      [{ rotation_policy: { key_transition_period_ms: 1 } }, 'rotation_policy.key_transition_period_ms'],
      [{ secret_name: 'provider-api-key' }, 'secret_name'],
      [{ type: 'organisation-service' }, 'type'],
      [{ colour: 'red' }, 'colour'],
      [{ organisation_id: 'acme' }, 'organisation_id'],
    ],
    badUpdates: [
      [{ scopes: 'all' }, 'scopes'],
      [{ name: null, scopes: [7] }, 'scopes[0]'],
      [{ reset_usage: 'yes' }, 'reset_usage'],
      [{ secret_name: 'provider-api-key' }, 'secret_name'],
      [{ user_id: 'somebody' }, 'user_id'],
    ],
    removal: 'delete',
    foreign: 'reader',
    created: 'api-key',
  },
];

/** Of team-a. */
export function bodyOf({ create }: Sample, name: string, more: Json = {}): Json {
  return { name, ...create, workspace_id: TEAM, ...more };
}

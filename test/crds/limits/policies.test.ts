/** RateLimitPolicy, UsageLimitPolicy and Workspace: what they take, what they refuse, and that the API server agrees. */
import { describe, expect, test } from 'vitest';
import { specSchema } from '#crds/generate/crd.ts';
import { apiKeyKind } from '#crds/kinds/api-key.ts';
import { integrationKind } from '#crds/kinds/integration.ts';
import type { Kind } from '#crds/kinds/kind.ts';
import { rateLimitPolicyKind } from '#crds/kinds/rate-limit-policy.ts';
import { usageLimitPolicyKind } from '#crds/kinds/usage-limit-policy.ts';
import { workspaceKind } from '#crds/kinds/workspace.ts';
import { problemsOf } from '#crds/problems.ts';
import { structuralProblems } from '../structural-check.ts';
import { BEYOND_STRUCTURE, BROKEN_USAGE_RULES, RATE, type Spec, TAKEN, USAGE, WRONG } from './policies.ts';

const POLICIES = [
  { kind: rateLimitPolicyKind, base: RATE, taken: TAKEN.RateLimitPolicy, wrong: WRONG.RateLimitPolicy },
  { kind: usageLimitPolicyKind, base: USAGE, taken: TAKEN.UsageLimitPolicy, wrong: WRONG.UsageLimitPolicy },
];

/** Without what is undefined, as JSON has it. */
function plain(spec: Spec): Spec {
  return JSON.parse(JSON.stringify(spec));
}

function byOperator(kind: Kind, spec: Spec): string[] {
  const { error } = kind.specSchema.safeParse(plain(spec));
  return error === undefined ? [] : problemsOf(error, 'spec').map(({ path }) => path);
}

function byServer(kind: Kind, spec: Spec): readonly unknown[] {
  return structuralProblems(specSchema(kind) as Record<string, unknown>, plain(spec), 'spec');
}

describe.each(POLICIES)('$kind.kind', ({ kind, base, taken, wrong }) => {
  test.each(taken.map((spec) => [spec]))('takes %j', (spec) => {
    expect(byOperator(kind, spec)).toEqual([]);
    expect(byServer(kind, spec)).toEqual([]);
  });

  test.each(wrong)('refuses %j, and so does the API server', (part, path) => {
    expect(byOperator(kind, { ...base, ...part })).toContain(path);
    expect(byServer(kind, { ...base, ...part })).not.toEqual([]);
  });

  test.each(BEYOND_STRUCTURE)('the operator refuses %j', (part, path) => {
    expect(byOperator(kind, { ...base, ...part })).toContain(path);
  });

  test('one object of a reset is active, and allows what cannot be counted', () => {
    const spec = kind.specSchema.parse(base) as Spec;
    expect(spec).toMatchObject({ ...base, status: 'active' });
    expect(spec['on_unavailable']).toBe(kind === usageLimitPolicyKind ? 'allow' : undefined);
  });
});

test.each(BROKEN_USAGE_RULES)('a budget with %s is refused at its field, by no structure', (_title, spec, path) => {
  expect(byOperator(usageLimitPolicyKind, spec)).toEqual([path]);
  expect(byServer(usageLimitPolicyKind, spec)).toEqual([]);
});

describe('limits of keys, Integrations and workspaces', () => {
  const owners: readonly (readonly [Kind, Spec])[] = [
    [apiKeyKind, { type: 'workspace-service' }],
    [integrationKind, { provider: 'simulator' }],
    [workspaceKind, {}],
  ];
  const rate = { type: 'requests', unit: 'rpm', value: 5 };
  const usage = { type: 'cost', credit_limit: 5 };
  const good: readonly Spec[] = [
    { rate_limits: rate },
    { rate_limits: [] },
    { rate_limits: [rate, { ...rate, unit: 'rpd' }] },
    { rate_limits: Array.from({ length: 16 }, () => rate) },
    { usage_limits: usage },
    { usage_limits: [usage, { type: 'tokens', credit_limit: 1, periodic_reset: 'weekly' }] },
    { rate_limits: rate, usage_limits: [usage] },
  ];
  const bad: readonly (readonly [Spec, string])[] = [
    [{ rate_limits: 5 }, 'spec.rate_limits'],
    [{ rate_limits: { ...rate, conditions: [] } }, 'spec.rate_limits'],
    [{ rate_limits: [{ ...rate, value: -1 }] }, 'spec.rate_limits[0].value'],
    [{ rate_limits: Array.from({ length: 17 }, () => rate) }, 'spec.rate_limits'],
    [{ usage_limits: 'none' }, 'spec.usage_limits'],
    [{ usage_limits: [usage, { type: 'cost' }] }, 'spec.usage_limits[1].credit_limit'],
    [{ usage_limits: { ...usage, alert_threshold: 6 } }, 'spec.usage_limits.alert_threshold'],
  ];

  for (const [kind, base] of owners) {
    test.each(good.map((spec) => [spec]))(`${kind.kind} takes %j`, (spec) => {
      expect(byOperator(kind, { ...base, ...spec })).toEqual([]);
      expect(byServer(kind, { ...base, ...spec })).toEqual([]);
    });
    test.each(bad)(`${kind.kind} refuses %j`, (spec, path) => {
      expect(byOperator(kind, { ...base, ...spec })).toContain(path);
    });
  }
});

describe('Workspace', () => {
  test.each<[Spec, string[]]>([
    [{}, []],
    [{ name: 'Team', description: 'They sell.', defaults: { metadata: { a: 'b' } } }, []],
    [{ settings: { user_api_key_rotation_period: 'monthly', user_api_key_ttl_days: 3650 } }, []],
    [{ settings: { user_api_key_rotation_period: 'daily' } }, ['spec.settings.user_api_key_rotation_period']],
    [{ settings: { user_api_key_ttl_days: 0 } }, ['spec.settings.user_api_key_ttl_days']],
    [{ settings: { ttl: 1 } }, ['spec.settings']],
    [{ defaults: { metadata: { a: 1 } } }, ['spec.defaults.metadata.a']],
    [{ defaults: { config_id: 'chat' } }, ['spec.defaults']],
    [{ workspace: 'a' }, ['spec']],
  ])('%j', (spec, paths) => {
    expect(byOperator(workspaceKind, spec)).toEqual(paths);
    expect(byServer(workspaceKind, spec).length > 0).toBe(paths.length > 0);
  });
});

/** The CRD and the operator's own check are made of one schema: neither may refuse what the other takes, within reach. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { configSchema, configShape } from '#crds/config/schema.ts';
import { specSchema } from '#crds/generate/crd.ts';
import { apiKeyKind } from '#crds/kinds/api-key.ts';
import { gatewayConfigKind } from '#crds/kinds/gateway-config.ts';
import { integrationKind } from '#crds/kinds/integration.ts';
import type { Kind } from '#crds/kinds/kind.ts';
import { problemsOf } from '#crds/problems.ts';
import { BASE, KEYS } from './config-keys.ts';
import { BROKEN_RULES, CONDITIONAL, SUFFICIENT_CONFIGS } from './config-rules.ts';
import { structuralProblems } from './structural-check.ts';

function specOf(kind: Kind): Record<string, unknown> {
  return specSchema(kind) as Record<string, unknown>;
}

const configCrd = specOf(gatewayConfigKind);
const byServer = (value: unknown) => structuralProblems(configCrd, value, 'spec');

/** Of these the CRD says less: items that may be a string or an object, URLs and free objects are the operator's to judge. */
const BEYOND_REACH = /guardrails\[|custom_host|override_params$|service_account_json$/;

describe('what the operator takes, the API server takes', () => {
  const valid = [
    ...SUFFICIENT_CONFIGS,
    CONDITIONAL,
    ...KEYS.flatMap(({ key, valid: values }) => values.map((value) => ({ ...BASE, [key]: value }))),
    { strategy: { mode: 'single' }, targets: [{ strategy: { mode: 'single' }, targets: [CONDITIONAL] }] },
  ];

  test.each(valid.map((config) => [config]))('%j', (config) => expect(byServer(config)).toEqual([]));
});

describe('what the operator refuses for its structure, the API server refuses', () => {
  const invalid = KEYS.flatMap(({ key, invalid: cases }) => cases.map(([value, path]) => [key, value, path] as const))
    .filter(([key, value]) => !configShape.safeParse({ ...BASE, [key]: value }).success)
    .filter(([, , path]) => !BEYOND_REACH.test(path));

  test('most of the table is within reach', () => expect(invalid.length).toBeGreaterThan(100));

  test.each(invalid)('%s: %j', (key, value) => {
    expect(byServer({ ...BASE, [key]: value })).not.toEqual([]);
    const target = { strategy: { mode: 'single' }, targets: [{ ...BASE, [key]: value }] };
    expect(byServer(target)).not.toEqual([]);
  });
});

test.each(BROKEN_RULES)('a broken rule is none of structure: %s', (_title, config) => {
  expect(byServer(config)).toEqual([]);
});

describe('other kinds', () => {
  test.each<[Kind, unknown, boolean]>([
    [apiKeyKind, { type: 'workspace-service' }, true],
    [
      apiKeyKind,
      {
        type: 'workspace-service',
        scopes: ['a.b'],
        expires_at: '2027-01-01T00:00:00Z',
        defaults: { metadata: { a: 'b' } },
      },
      true,
    ],
    [apiKeyKind, { type: 'workspace' }, false],
    [apiKeyKind, { type: 'workspace-user', scopes: ['a'] }, false],
    [apiKeyKind, { type: 'workspace-user', defaults: { metadata: { a: 1 } } }, false],
    [apiKeyKind, { type: 'workspace-user', expires_at: 'soon' }, false],
    [integrationKind, { provider: 'openai' }, true],
    [integrationKind, { provider: 'openai', configurations: { vendor_project: 'p' }, models: [{ slug: 'm' }] }, true],
    [integrationKind, { provider: 'openai', configurations: { api_key: 'sk' } }, false],
    [integrationKind, { provider: 'openai', secret_mappings: [{ target_field: 'api_key' }] }, false],
    [integrationKind, { provider: '@openai' }, false],
    [integrationKind, { provider: 'openai', allowed_workspaces: ['Team A'] }, false],
  ])('$kind %j', (kind, spec, good) => {
    expect(kind.specSchema.safeParse(spec).success).toBe(good);
    expect(structuralProblems(specOf(kind), spec, 'spec').length === 0).toBe(good);
  });
});

const entry = fc.oneof(
  ...KEYS.map(({ key, valid, invalid }) =>
    fc.tuple(fc.constant(key), fc.constantFrom<unknown>(...valid, ...invalid.map(([value]) => value), null)),
  ),
);

/** Config-like values of that many levels: known keys with right and wrong values. */
function oddConfig(levels: number): fc.Arbitrary<unknown> {
  const own = fc.array(entry, { maxLength: 4 }).map((entries): object => ({ ...BASE, ...Object.fromEntries(entries) }));
  if (levels === 1) return own;
  const targets = fc.array(oddConfig(levels - 1), { minLength: 1, maxLength: 2 });
  return fc.oneof(
    own,
    fc.tuple(own, targets).map(([rest, below]) => ({ ...rest, targets: below, strategy: { mode: 'fallback' } })),
  );
}

const odd = oddConfig(4);

describe('anything', () => {
  test('never throws, always says where and what', () => {
    fc.assert(
      fc.property(fc.oneof(odd, fc.jsonValue()), (value) => {
        const parsed = configSchema.safeParse(value);
        if (parsed.success) {
          expect(parsed.data).toEqual(value);
          return;
        }
        const problems = problemsOf(parsed.error);
        expect(problems.length).toBeGreaterThan(0);
        for (const { path, message } of problems) {
          expect(path).toMatch(/^config/);
          expect(message).not.toMatch(/Invalid|undefined|\[object|expected/);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('what the operator takes, the API server takes', () => {
    fc.assert(
      fc.property(odd, (value) => {
        if (configSchema.safeParse(value).success) expect(byServer(value)).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

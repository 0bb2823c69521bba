/** Snapshots to encode: one with everything, and as many random ones as a property wants. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { KeyRecord, Snapshot } from '#crds/snapshot/contract.ts';
import { NO_RECORDS } from '../fakes/no-records.ts';

export const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');

export function keyRecord(index: number): KeyRecord {
  return {
    namespace: `team-${index % 50}`,
    name: `key-${index}`,
    digest: sha256(`key-${index}`),
    type: 'workspace-service',
    scopes: ['completions.write'],
    config_id: `config-${index % 2000}`,
    allow_config_override: true,
    metadata: { team: `team-${index % 50}` },
    disabled: false,
  };
}

export function configRecord(index: number): Snapshot['configs'][number] {
  return {
    namespace: `team-${index % 50}`,
    name: `config-${index}`,
    shared_with: index % 10 === 0 ? '*' : [],
    is_default: false,
    config: {
      strategy: { mode: 'fallback', on_status_codes: [429, 503] },
      retry: { attempts: 2 },
      targets: [
        { provider: '@openai', override_params: { model: 'gpt-4o-mini', temperature: index / 2000 } },
        { provider: 'anthropic', custom_host: `http://llm-${index}.internal:8000/v1` },
      ],
    },
  };
}

const LIMITED = {
  namespace: 'team-a',
  path: '',
  label: 'a limit',
  workspace: 'team-a',
  conditions: [{ key: 'model', values: ['*'], excludes: ['@openai/gpt-4o'] }],
  group_by: ['api_key'],
};

export const SNAPSHOT: Snapshot = {
  ...NO_RECORDS,
  settings: { organisation_namespace: 'model-gateway', request_hosts: ['https://llm.example'] },
  configs: [configRecord(1), configRecord(2), configRecord(10)],
  integrations: [
    {
      namespace: 'team-a',
      name: 'openai',
      shared_with: ['team-b'],
      provider: 'openai',
      configurations: { vendor_organization: 'org-1' },
      credential_fields: ['api_key'],
      allow_all_models: false,
      models: [{ slug: 'gpt-4o-mini', enabled: true, custom_host: 'http://m.internal' }],
    },
  ],
  credentials: [
    { kind: 'Integration', namespace: 'team-a', name: 'openai', path: '', fields: { api_key: 'sk-canary' } },
    {
      kind: 'GatewayConfig',
      namespace: 'team-1',
      name: 'config-1',
      path: 'config.targets[1]',
      fields: { api_key: 'sk-2' },
    },
  ],
  keys: [keyRecord(1), keyRecord(2), { ...keyRecord(3), expires_at_ms: 1_800_000_000_000 }],
  guardrails: [
    {
      namespace: 'team-a',
      name: 'no-secrets',
      shared_with: [],
      default_for: ['output'],
      checks: [{ id: 'default.secrets', parameters: {} }],
      deny: true,
      async: false,
      sequential: false,
      on_error: 'deny',
      on_fail: { value: -5 },
    },
  ],
  rate_limits: [
    {
      ...LIMITED,
      kind: 'RateLimitPolicy',
      name: 'minute',
      id: 'uid-minute',
      type: 'requests',
      unit: 'rpm',
      value: 100,
    },
  ],
  usage_limits: [
    {
      ...LIMITED,
      kind: 'UsageLimitPolicy',
      name: 'budget',
      id: 'uid-budget',
      type: 'cost',
      credit_limit: 12.5,
      alert_threshold: 10,
      reset: { every: 'days', days: 30, anchor_ms: 1_800_000_000_000 },
      on_unavailable: 'deny',
      reset_token: 'again',
      group_reset_tokens: { 'team-a': 'once' },
    },
  ],
  workspaces: [{ namespace: 'model-gateway', name: 'team-a', metadata: { cost_centre: '12' } }],
  prompts: [
    {
      ...{ kind: 'Prompt', namespace: 'team-a', name: 'greeting', uid: 'uid-greeting', shared_with: [] },
      ...{ live: 1, latest: 2, labels: { staging: 2 } },
    },
  ],
  prompt_versions: [
    {
      ...{ namespace: 'team-a', name: 'prompt.greeting.v1', of: 'Prompt', prompt: 'greeting', version: 1 },
      content: '{"string":"Hi {{name}}"}',
    },
  ],
  refused: [
    { kind: 'GatewayConfig', namespace: 'team-a', name: 'broken', reason: 'Invalid', message: 'spec needs ...' },
  ],
};

export const EMPTY: Snapshot = {
  ...NO_RECORDS,
  settings: { organisation_namespace: 'o', request_hosts: [] },
  configs: [],
  integrations: [],
  credentials: [],
  keys: [],
  refused: [],
};

/** Snapshots of up to 40 configs and keys with odd names and parameters. */
export const snapshots: fc.Arbitrary<Snapshot> = fc
  .record({
    configs: fc.uniqueArray(fc.nat(200), { maxLength: 40 }),
    keys: fc.uniqueArray(fc.nat(200), { maxLength: 40 }),
    params: fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.jsonValue({ maxDepth: 3 }),
    ),
    secret: fc.string({ unit: 'binary' }),
  })
  .map(({ configs, keys, params, secret }) => ({
    ...SNAPSHOT,
    // Through JSON once: -0 and the like do not survive any wire.
    configs: configs.map((index) => ({
      ...configRecord(index),
      config: { cache: { mode: 'simple' as const }, override_params: JSON.parse(JSON.stringify(params)) },
    })),
    keys: keys.map(keyRecord),
    credentials: [{ kind: 'Integration' as const, namespace: 'a', name: 'b', path: '', fields: { api_key: secret } }],
  }));

function compare(a: unknown, b: unknown): number {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left < right ? -1 : Number(left > right);
}

/** The same snapshot with its records in one order. */
export function ordered(snapshot: Snapshot): unknown {
  return Object.fromEntries(
    Object.entries(snapshot).map(([field, value]) => [
      field,
      Array.isArray(value) ? value.map(sortKeys).sort(compare) : value,
    ]),
  );
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sortKeys(inner)]),
  );
}

/** The same value with the keys of every object the other way round. */
export function reversedKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversedKeys) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversedKeys(inner)]),
  ) as T;
}

import { describe, expect, test } from 'vitest';
import { apiKeySpec } from '#crds/kinds/api-key.ts';
import { integrationSpec } from '#crds/kinds/integration.ts';
import { findKind, KINDS } from '#crds/kinds/kinds.ts';
import { secretSchema, secretValue } from '#crds/kinds/secret.ts';
import { ANNOTATIONS, envelopeSchema } from '#crds/object.ts';
import { problemsOf } from '#crds/problems.ts';

interface Parses {
  safeParse(value: unknown): { success: boolean; error?: Parameters<typeof problemsOf>[0] | undefined };
}

function say(schema: Parses, value: unknown, root = 'spec'): string[] {
  const { error } = schema.safeParse(value);
  return error === undefined ? [] : problemsOf(error, root).map(({ path, message }) => `${path} ${message}`);
}

describe('the table of kinds', () => {
  test('names are unique and fit together', () => {
    for (const key of ['kind', 'plural', 'singular', 'shortName'] as const) {
      const names = KINDS.map((row) => row[key]);
      expect(new Set(names).size).toBe(names.length);
    }
    for (const { kind, plural, singular } of KINDS) {
      expect(singular).toBe(kind.toLowerCase());
      expect(plural).toBe(
        singular.endsWith('y') && !singular.endsWith('key') ? singular.replace(/y$/, 'ies') : `${singular}s`,
      );
    }
  });

  test('this wave', () => {
    expect(KINDS.map(({ kind, shortName }) => [kind, shortName])).toEqual([
      ['GatewayConfig', 'gwc'],
      ['Integration', 'gint'],
      ['ApiKey', 'gak'],
      ['RateLimitPolicy', 'rlp'],
      ['UsageLimitPolicy', 'ulp'],
      ['Workspace', 'gws'],
      ['Guardrail', 'grd'],
      ['Prompt', 'gpr'],
      ['PromptPartial', 'gpp'],
      ['PromptVersion', 'gpv'],
      ['PromptGroup', 'gpg'],
    ]);
  });

  test('is searched by apiVersion and kind', () => {
    expect(findKind('modelgateway.dev/v1alpha1', 'ApiKey')?.plural).toBe('apikeys');
    expect(findKind('modelgateway.dev/v1', 'ApiKey')).toBeUndefined();
    expect(findKind('v1', 'Secret')).toBeUndefined();
  });
});

describe('envelope', () => {
  const object = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'ApiKey', metadata: { name: 'a' }, spec: { x: 1 } };

  test('namespace is default where none is named; what is unknown stays', () => {
    const parsed = envelopeSchema.parse({ ...object, metadata: { name: 'a', managedFields: [] } });
    expect(parsed).toEqual({ ...object, metadata: { name: 'a', namespace: 'default', managedFields: [] } });
  });

  test.each([
    [{ name: 'Team' }, 'object.metadata.name must be lower-case letters, digits, "-" and "."'],
    [{ name: '-a' }, 'object.metadata.name must be lower-case letters'],
    [{ name: 'a'.repeat(254) }, 'object.metadata.name must have at most 253 characters, got 254'],
    [{}, 'object.metadata.name is required: a string'],
    [{ name: 'a', namespace: 'a.b' }, 'object.metadata.namespace must be lower-case letters, digits and "-"'],
    [{ name: 'a', labels: { a: 1 } }, 'object.metadata.labels.a must be a string, got a number'],
    [{ name: 'a', generation: -1 }, 'object.metadata.generation must be at least 0, got -1'],
  ])('refuses metadata %j', (metadata, message) => {
    expect(say(envelopeSchema, { ...object, metadata }, 'object').join()).toContain(message);
  });

  test('annotations are named after the group', () => {
    expect(ANNOTATIONS).toEqual({
      allowedWorkspaces: 'modelgateway.dev/allowed-workspaces',
      isDefault: 'modelgateway.dev/default',
      defaultGuardrail: 'modelgateway.dev/default-guardrail',
      resetUsage: 'modelgateway.dev/reset-usage',
      purgeCache: 'modelgateway.dev/purge-cache',
      rotate: 'modelgateway.dev/rotate',
      publishedVersion: 'modelgateway.dev/published-version',
      versionLabels: 'modelgateway.dev/version-labels',
      published: 'modelgateway.dev/published',
      labels: 'modelgateway.dev/labels',
    });
  });
});

describe('ApiKey', () => {
  test('fills in what is left out', () => {
    expect(apiKeySpec.parse({ type: 'workspace-service' })).toEqual({
      type: 'workspace-service',
      defaults: { metadata: {}, allow_config_override: true },
      disabled: false,
    });
    expect(apiKeySpec.parse({ type: 'workspace-user', defaults: { config_id: 'chat' } }).defaults).toEqual({
      config_id: 'chat',
      metadata: {},
      allow_config_override: true,
    });
  });

  test('takes every field', () => {
    const spec = {
      type: 'organisation-service',
      name: 'Checkout',
      description: 'the shop',
      user: 'ann',
      scopes: ['completions.write', 'mcp.invoke'],
      secret_name: 'checkout-gateway-key',
      defaults: { config_id: 'chat', metadata: { team: 'checkout' }, allow_config_override: false },
      expires_at: '2027-01-01T00:00:00+02:00',
      disabled: true,
    };
    expect(apiKeySpec.parse(spec)).toEqual(spec);
  });

  test.each([
    [{}, 'spec.type is required: one of "organisation-service", "workspace-service", "workspace-user"'],
    [{ type: 'workspace' }, 'spec.type must be one of'],
    [{ scopes: ['completions'] }, 'spec.scopes[0] must be <resource>.<action>, such as "completions.write"'],
    [{ scopes: 'completions.write' }, 'spec.scopes must be a list, got a string'],
    [{ expires_at: '2027-01-01' }, 'spec.expires_at must be a date and time such as "2027-01-01T00:00:00Z"'],
    [{ secret_name: 'My_Secret' }, 'spec.secret_name must be lower-case letters'],
    [{ defaults: { metadata: { a: 1 } } }, 'spec.defaults.metadata.a must be a string, got a number'],
    [
      { defaults: { metadata: { a: 'x'.repeat(129) } } },
      'spec.defaults.metadata.a must have at most 128 characters, got 129',
    ],
    [{ defaults: { config: 'chat' } }, 'spec.defaults unknown key "config": did you mean "config_id"?'],
    [{ key: 'sk-1' }, 'spec unknown key "key"'],
    [{ disabled: 'no' }, 'spec.disabled must be true or false, got a string'],
  ])('refuses %j', (fragment, message) => {
    const spec = Object.keys(fragment).length === 0 ? {} : { type: 'workspace-user', ...fragment };
    expect(say(apiKeySpec, spec).join()).toContain(message);
  });

  test('64 keys of metadata, not 65', () => {
    const metadata = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, key) => [`k${key}`, 'v']));
    expect(say(apiKeySpec, { type: 'workspace-user', defaults: { metadata: metadata(64) } })).toEqual([]);
    expect(say(apiKeySpec, { type: 'workspace-user', defaults: { metadata: metadata(65) } })).toEqual([
      'spec.defaults.metadata must have at most 64 keys',
    ]);
  });
});

describe('Integration', () => {
  const mapping = { target_field: 'api_key', secret_name: 'openai', secret_key: 'api_key' };

  test('fills in what is left out', () => {
    expect(integrationSpec.parse({ provider: 'openai' })).toEqual({
      provider: 'openai',
      secret_mappings: [],
      configurations: {},
      allow_all_models: true,
      models: [],
      allow_all_workspaces: false,
      allowed_workspaces: [],
    });
    expect(
      integrationSpec.parse({ provider: 'openai', secret_mappings: [mapping], models: [{ slug: 'm' }] }),
    ).toMatchObject({
      secret_mappings: [{ ...mapping, value_format: 'string' }],
      models: [{ slug: 'm', enabled: true }],
    });
  });

  test('takes every field', () => {
    const spec = {
      provider: 'openai',
      description: 'ours',
      secret_mappings: [
        { ...mapping, value_format: 'string' },
        { target_field: 'cloud2_service_account_json', secret_name: 'g', secret_key: 'sa.json', value_format: 'json' },
      ],
      configurations: {
        custom_host: 'https://api.openai.example/v1',
        vendor_organization: 'org-1',
        cloud1_region: 'r',
      },
      allow_all_models: false,
      models: [{ slug: 'gpt-4o-mini', enabled: true, configurations: { custom_host: 'http://m.internal' } }],
      allow_all_workspaces: true,
      allowed_workspaces: ['team-a'],
    };
    expect(integrationSpec.parse(spec)).toEqual(spec);
  });

  test.each([
    [{ provider: undefined }, 'spec.provider is required: a string'],
    [{ provider: '@openai' }, 'spec.provider must be the name of a provider'],
    [{ secret_mappings: [{ ...mapping, target_field: 'apikey' }] }, 'got "apikey": did you mean "api_key"?'],
    [
      { secret_mappings: [{ ...mapping, secret_key: 'a b' }] },
      'spec.secret_mappings[0].secret_key must be a key of a Secret',
    ],
    [
      { secret_mappings: [{ ...mapping, secret_name: undefined }] },
      'spec.secret_mappings[0].secret_name is required: a string',
    ],
    [
      { secret_mappings: [mapping, mapping] },
      'spec.secret_mappings[1].target_field is already in secret_mappings[0]: name each target_field once',
    ],
    [
      { secret_mappings: [{ ...mapping, value_format: 'json' }] },
      'spec.secret_mappings[0].value_format must be "string" for every field but cloud2_service_account_json',
    ],
    [
      { secret_mappings: [{ ...mapping, target_field: 'cloud2_service_account_json' }] },
      'spec.secret_mappings[0].value_format must be "json" for cloud2_service_account_json',
    ],
    [
      { configurations: { api_key: 'sk' } },
      'spec.configurations "api_key" is a credential: map it from a Secret in secret_mappings',
    ],
    [
      { configurations: { customHost: 'x' } },
      'spec.configurations unknown key "customHost": did you mean "custom_host"?',
    ],
    [{ configurations: { custom_host: 'x' } }, 'spec.configurations.custom_host must be an http or https URL'],
    [{ configurations: 'x' }, 'spec.configurations must be an object, got a string'],
    [{ models: [{ slug: 'a' }, { slug: 'a' }] }, 'spec.models[1].slug is already in models[0]: name each slug once'],
    [{ models: [{ slug: 'a', pricing: {} }] }, 'spec.models[0] unknown key "pricing"'],
    [{ allowed_workspaces: ['Team'] }, 'spec.allowed_workspaces[0] must be lower-case letters'],
    [{ key: 'sk' }, 'spec unknown key "key"'],
  ])('refuses %j', (fragment, message) => {
    expect(say(integrationSpec, { provider: 'openai', ...fragment }).join()).toContain(message);
  });
});

describe('Secret', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'openai' } };
  const parse = (fragment: object) => secretSchema.parse({ ...secret, ...fragment });

  test('values are decoded; stringData wins', () => {
    const both = parse({ data: { a: 'w6Q=', b: 'Yg==\n' }, stringData: { b: 'plain' } });
    expect([secretValue(both, 'a'), secretValue(both, 'b'), secretValue(both, 'c')]).toEqual(['ä', 'plain', undefined]);
    expect(secretValue(parse({}), 'toString')).toBeUndefined();
    expect(secretValue(parse({ data: {} }), 'toString')).toBeUndefined();
  });

  test.each([
    [{ data: { a: 'not base64!' } }, 'secret.data.a must be base64: plain text belongs under stringData'],
    [{ stringData: { a: 1 } }, 'secret.stringData.a must be a string, got a number'],
    [{ apiVersion: 'v2' }, 'secret.apiVersion must be "v1", got "v2"'],
  ])('refuses %j', (fragment, message) => {
    expect(say(secretSchema, { ...secret, ...fragment }, 'secret')).toEqual([message]);
  });

  test('a value is never repeated', () => {
    expect(say(secretSchema, { ...secret, data: { a: 'hunter2!' } }, 'secret').join()).not.toContain('hunter2');
  });
});

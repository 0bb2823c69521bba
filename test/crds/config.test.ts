import { describe, expect, test } from 'vitest';
import { CREDENTIAL_FIELDS, configSchema, configShape, MAX_LEVELS } from '#crds/config/schema.ts';
import { type Problem, problemsOf } from '#crds/problems.ts';
import { BASE, KEYS, TARGETS } from './config-keys.ts';
import { BROKEN_RULES, CONDITIONAL, SUFFICIENT_CONFIGS } from './config-rules.ts';
import { nested } from './nested.ts';

function refused(value: unknown, schema = configSchema): Problem[] {
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : problemsOf(parsed.error);
}

/** A chain of single targets, `levels` deep. */
function chain(levels: number): Record<string, unknown> {
  return levels === 1 ? BASE : { strategy: { mode: 'single' }, targets: [chain(levels - 1)] };
}

const SEED_KEYS =
  `strategy name strict_vendor_compliance provider api_key virtual_key custom_host resource_name deployment_id
  api_version deployments override_params prompt_id request_timeout cache retry cb_config weight on_status_codes passthrough
  forward_headers targets cloud1_access_key_id cloud1_secret_access_key cloud1_region cloud1_session_token vendor_organization
  vendor_project cloud2_project_id cloud2_region cloud2_service_account_json cloud3_region cloud3_deployment_name
  cloud3_endpoint_name cloud3_api_version cloud3_deployment_type cloud3_entra_scope before_request_hooks after_request_hooks
  input_guardrails output_guardrails`.split(/\s+/);

test('the table below has every key of the seed, and no other', () => {
  expect(KEYS.map(({ key }) => key).sort()).toEqual([...SEED_KEYS].sort());
});

describe.each(KEYS)('key $key', ({ key, valid, invalid }) => {
  test.each(valid.map((value) => [value]))('takes %j', (value) => {
    const config = { ...BASE, [key]: value };
    expect(refused(config, configShape)).toEqual([]);
    if (key !== 'passthrough') expect(refused(config)).toEqual([]);
    expect(configShape.parse(config)).toEqual(config);
  });

  test.each(invalid)('refuses %j at %s', (value, path, message) => {
    for (const schema of [configShape, configSchema]) {
      const problems = refused({ ...BASE, [key]: value }, schema);
      const messages = problems.filter((problem) => problem.path === path).map((problem) => problem.message);
      if (schema === configShape && messages.length === 0) continue;
      if (typeof message === 'string') expect(messages).toContain(message);
      else expect(messages.join('\n')).toMatch(message);
    }
  });

  test('holds in a target as well', () => {
    for (const [value, path] of invalid) {
      const problems = refused({ strategy: { mode: 'single' }, targets: [{ ...BASE, [key]: value }] });
      expect(problems.map((problem) => problem.path)).toContain(path.replace('config', 'config.targets[0]'));
    }
  });
});

describe('validity', () => {
  test.each(SUFFICIENT_CONFIGS.map((config) => [config]))('%j is enough', (config) => {
    expect(refused(config)).toEqual([]);
  });

  test.each(SUFFICIENT_CONFIGS.map((config) => [config]))('nothing of %j can be left out', (config) => {
    for (const key of Object.keys(config)) {
      const { [key]: _, ...rest } = config;
      expect(refused(rest), key).not.toEqual([]);
    }
  });

  test.each(SUFFICIENT_CONFIGS.map((config) => [config]))('%j is a target', (config) => {
    expect(refused({ strategy: { mode: 'fallback' }, targets: [config, config] })).toEqual([]);
  });

  test('a target may be an Integration with parameters', () => {
    const targets = [
      { provider: '@openai', override_params: { model: 'gpt-4o-mini' } },
      { virtual_key: 'v', weight: 0 },
    ];
    expect(refused({ strategy: { mode: 'loadbalance' }, targets })).toEqual([]);
  });

  test.each([
    { provider: 'openai', virtual_key: 'v' },
    { provider: 'openai', passthrough: true },
  ])('%j needs no credential', (config) => expect(refused(config)).toEqual([]));
});

describe('rules between keys', () => {
  test.each(BROKEN_RULES)('%s', (_title, config, path, message) => {
    const problems = refused(config);
    expect(problems.map((problem) => problem.path)).toContain(path);
    const messages = problems.filter((problem) => problem.path === path).map((problem) => problem.message);
    if (typeof message === 'string') expect(messages).toContain(message);
    else expect(messages.join('\n')).toMatch(message);
  });

  test.each(BROKEN_RULES)('the shape alone takes: %s', (_title, config) => {
    expect(refused(config, configShape)).toEqual([]);
  });

  test.each(BROKEN_RULES)('in a target: %s', (_title, config, path) => {
    const problems = refused({ strategy: { mode: 'single' }, targets: [BASE, config] });
    expect(problems.map((problem) => problem.path)).toContain(path.replace('config', 'config.targets[1]'));
  });

  test('a conditional config with all that it needs', () => {
    expect(refused(CONDITIONAL)).toEqual([]);
  });

  test('then may name a target that is a strategy', () => {
    const targets = [
      { name: 'a', strategy: { mode: 'fallback' }, targets: TARGETS },
      { name: 'b', ...BASE },
    ];
    expect(refused({ ...CONDITIONAL, targets })).toEqual([]);
  });

  test('sticky in loadbalance, status codes in fallback and beside a strategy', () => {
    const sticky = { enabled: true, hash_fields: ['metadata.user', 'headers.x-session', 'params.user'], ttl: 60 };
    expect(refused({ strategy: { mode: 'loadbalance', sticky }, targets: TARGETS })).toEqual([]);
    expect(refused({ strategy: { mode: 'fallback', on_status_codes: [429, 246] }, targets: TARGETS })).toEqual([]);
    expect(refused({ strategy: { mode: 'fallback' }, on_status_codes: [503], targets: TARGETS })).toEqual([]);
  });
});

describe('depth', () => {
  test('8 levels are enough, 9 are not', () => {
    expect(refused(chain(MAX_LEVELS))).toEqual([]);
    const path = `config${'.targets[0]'.repeat(MAX_LEVELS - 1)}.targets`;
    expect(refused(chain(MAX_LEVELS + 1))).toEqual([
      { path, message: 'must not be here: a config has at most 8 levels' },
    ]);
  });

  test('a hundred thousand levels are refused without exhausting the stack', () => {
    let config: unknown = BASE;
    for (let level = 0; level < 100_000; level++) config = { strategy: { mode: 'single' }, targets: [config] };
    expect(refused(config)).toHaveLength(1);
  });

  test('a free object of a hundred thousand levels is refused too', () => {
    let value: unknown = 1;
    for (let level = 0; level < 100_000; level++) value = { a: value };
    expect(refused({ ...BASE, override_params: value as object }).map(({ path }) => path)).toEqual([
      'config.override_params',
    ]);
    expect(refused({ ...BASE, override_params: nested(32) })).toEqual([]);
  });
});

describe('what is said', () => {
  test('all problems at once, of structure and of rules', () => {
    const config = {
      retires: { attempts: 1 },
      retry: { attempts: 9 },
      strategy: { mode: 'fallback', sticky: { hash_fields: ['params.user'] } },
      targets: [{ provider: 'openai' }, { virtual_key: 'v', request_timeout: '30s' }, {}],
    };
    expect(refused(config).map(({ path, message }) => `${path} ${message.slice(0, 40)}`)).toEqual([
      'config.retry.attempts must be at most 5, got 9',
      'config.targets[1].request_timeout must be an integer, got a string',
      'config unknown key "retires": did you mean "ret',
      'config.strategy.sticky is for mode "loadbalance" only',
      'config.targets[0].provider needs api_key, custom_host or cloud cred',
      'config.targets[2] needs at least one of: provider with its',
    ]);
  });

  test('every unknown key is named', () => {
    const [problem] = refused({ ...BASE, overrideParams: {}, zzz: 1 });
    expect(problem).toEqual({
      path: 'config',
      message: 'unknown key "overrideParams": did you mean "override_params"?; unknown key "zzz"',
    });
  });

  test.each([null, 'x', 7, true, [], undefined])('%j is no config', (value) => {
    const problems = refused(value);
    expect(problems.map(({ path }) => path)).toEqual(['config']);
    expect(problems[0]?.message).toMatch(/^(must be an object, got|is required: an object)/);
  });

  test('no value of a credential is ever repeated', () => {
    const secret = 'sk-very-secret';
    const wrong = {
      ...BASE,
      api_key: [secret],
      cloud1_session_token: secret.repeat(1000),
      cloud2_service_account_json: secret,
    };
    const text = JSON.stringify(refused(wrong));
    expect(refused(wrong)).toHaveLength(3);
    expect(text).not.toContain(secret);
  });

  test('__proto__ is a key like any unknown one', () => {
    const config: unknown = JSON.parse('{"virtual_key": "v", "__proto__": {"polluted": true}}');
    expect(refused(config)).toEqual([{ path: 'config', message: 'unknown key "__proto__"' }]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

test('parsing neither adds nor loses anything', () => {
  const config = { ...CONDITIONAL, retry: { attempts: 2 }, cache: { mode: 'simple' }, override_params: { model: 'm' } };
  expect(configSchema.parse(config)).toEqual(config);
});

test('credential fields are keys of the config, all of them optional', () => {
  expect([...CREDENTIAL_FIELDS].sort()).toEqual([
    'api_key',
    'cloud1_access_key_id',
    'cloud1_secret_access_key',
    'cloud1_session_token',
    'cloud2_service_account_json',
  ]);
  for (const field of CREDENTIAL_FIELDS) expect(SEED_KEYS).toContain(field);
});

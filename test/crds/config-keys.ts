/** Every key of the config object, right and wrong; the tests of the language run over these tables. */

import { nested } from './nested.ts';

/** Makes any fragment a valid config of its own. */
export const BASE = { virtual_key: 'openai' };

export interface KeyCase {
  readonly key: string;
  readonly valid: readonly unknown[];
  /** Value, and where and how it is refused. */
  readonly invalid: readonly (readonly [value: unknown, path: string, message: string | RegExp])[];
}

const shortText = (key: string, max: number): KeyCase => ({
  key,
  valid: ['a', 'x'.repeat(max)],
  invalid: [
    [7, `config.${key}`, 'must be a string, got a number'],
    ['', `config.${key}`, 'must not be empty'],
    ['x'.repeat(max + 1), `config.${key}`, `must have at most ${max} characters, got ${max + 1}`],
  ],
});

const flag = (key: string): KeyCase => ({
  key,
  valid: [true, false],
  invalid: [['true', `config.${key}`, 'must be true or false, got a string']],
});

const free = (key: string): KeyCase => ({
  key,
  valid: [{}, { a: { b: [1, 'x', null] } }],
  invalid: [
    [[], `config.${key}`, 'must be an object, got a list'],
    [nested(40), `config.${key}`, 'must be nested at most 32 levels deep'],
  ],
});

const statusCodes = (path: string, wrap: (codes: unknown) => unknown): KeyCase['invalid'] => [
  [wrap(['429']), `config.${path}[0]`, 'must be an integer, got a string'],
  [wrap([99]), `config.${path}[0]`, 'must be at least 100, got 99'],
  [wrap([600]), `config.${path}[0]`, 'must be at most 599, got 600'],
  [wrap([429.5]), `config.${path}[0]`, 'must be an integer, got the number 429.5'],
  [wrap(429), `config.${path}`, 'must be a list, got a number'],
  [wrap(Array(101).fill(429)), `config.${path}`, 'must have at most 100 items, got 101'],
];

const CIRCUIT = { failure_threshold: 3, cooldown_interval: 30_000 };
const targets = [
  { name: 'a', virtual_key: 'a' },
  { name: 'b', virtual_key: 'b' },
];
export const TARGETS = targets;

const circuitCases = (path: string, wrap: (breaker: unknown) => unknown): KeyCase['invalid'] => [
  [wrap({ ...CIRCUIT, failure_threshold: 0 }), `config.${path}.failure_threshold`, 'must be at least 1, got 0'],
  [
    wrap({ ...CIRCUIT, cooldown_interval: 29_999 }),
    `config.${path}.cooldown_interval`,
    'must be at least 30000, got 29999',
  ],
  [wrap({ cooldown_interval: 30_000 }), `config.${path}.failure_threshold`, 'is required: a number'],
  [wrap({ failure_threshold: 1 }), `config.${path}.cooldown_interval`, 'is required: a number'],
  [wrap({ ...CIRCUIT, cooldown: 1 }), `config.${path}`, 'unknown key "cooldown": did you mean "cooldown_interval"?'],
  ...statusCodes(`${path}.failure_status_codes`, (codes) => wrap({ ...CIRCUIT, failure_status_codes: codes })),
];

const feedback = { value: -5, weight: 1, metadata: { why: 'pii' } };

const hookCases = (key: string, own: Record<string, unknown>, wrong: KeyCase['invalid']): KeyCase => ({
  key,
  valid: [
    [],
    [{ id: 'h' }],
    [{ id: 'h', type: 'guardrail', checks: [{ id: 'default.contains', parameters: {} }], ...own }],
  ],
  invalid: [
    [{}, `config.${key}`, 'must be a list, got an object'],
    [[{}], `config.${key}[0].id`, 'is required: a string'],
    [[{ id: 'h', checks: [{ id: 'x' }] }], `config.${key}[0].checks[0].parameters`, 'is required: an object'],
    [[{ id: 'h', checks: [{ parameters: {} }] }], `config.${key}[0].checks[0].id`, 'is required: a string'],
    [[{ id: 'h', on_fial: {} }], `config.${key}[0]`, 'unknown key "on_fial": did you mean "on_fail"?'],
    [
      [{ id: 'h', on_fail: { feedback: { value: 'x' } } }],
      `config.${key}[0].on_fail.feedback.value`,
      'must be a number, got a string',
    ],
    ...wrong,
  ],
});

const guardrailCases = (key: string, own: Record<string, unknown>, wrong: KeyCase['invalid']): KeyCase => ({
  key,
  valid: [
    [],
    ['pii-check'],
    [{ id: 'pii-check', deny: true, async: false, on_fail: { feedback }, on_success: { feedback: {} } }],
    [{ 'default.wordCount': { minWords: 1 }, deny: true }, 'other'],
    [{ id: 'x', ...own }],
  ],
  invalid: [
    ['pii-check', `config.${key}`, 'must be a list, got a string'],
    [[7], `config.${key}[0]`, 'must be a string or an object, got a number'],
    [[''], `config.${key}[0]`, 'must not be empty'],
    [[{ id: 'x', deny: 'yes' }], `config.${key}[0].deny`, 'must be true or false, got a string'],
    [
      [{ 'default.wordCount': 5 }],
      `config.${key}[0]["default.wordCount"]`,
      /^must be an object: a further key is the id of a check/,
    ],
    [[{ deny: true }], `config.${key}[0]`, /^needs the id of a guardrail, or a check/],
    ...wrong,
  ],
});

const strategy = (fragment: object, mode = 'fallback') => ({ mode, ...fragment });
const condition = { query: { 'metadata.tier': 'paid' }, then: 'a' };

/** Keys that can be told apart from the rest; `strategy` and `targets` have tables of their own below. */
export const KEYS: readonly KeyCase[] = [
  shortText('name', 128),
  flag('strict_vendor_compliance'),
  {
    key: 'provider',
    valid: ['openai', '@openai', 'azure-openai', '@team.prod', 'custom_2'],
    invalid: [
      [1, 'config.provider', 'must be a string, got a number'],
      ['@', 'config.provider', 'must be the name of a provider, or "@" and the name of an Integration'],
      ['open ai', 'config.provider', 'must be the name of a provider, or "@" and the name of an Integration'],
    ],
  },
  shortText('virtual_key', 253),
  shortText('api_key', 8192),
  {
    key: 'custom_host',
    valid: ['http://localhost:8000/v1', 'https://llm.example', 'HTTPS://LLM.example/v1/'],
    invalid: [
      'llm.internal',
      'ftp://x/y',
      'https://user:pw@x/v1',
      'https://x/v1?a=b',
      'https://x/v1#a',
      'http://',
      '',
    ].map(
      (value) => [value, 'config.custom_host', /^must be an http or https URL without credentials and query/] as const,
    ),
  },
  shortText('resource_name', 253),
  shortText('deployment_id', 253),
  shortText('api_version', 64),
  {
    key: 'deployments',
    valid: [[], [{ deployment_id: 'd', alias: 'gpt', api_version: '1', is_default: true }]],
    invalid: [
      [[{ alias: 'a', api_version: '1' }], 'config.deployments[0].deployment_id', 'is required: a string'],
      [[{ deployment_id: 'd', api_version: '1' }], 'config.deployments[0].alias', 'is required: a string'],
      [[{ deployment_id: 'd', alias: 'a' }], 'config.deployments[0].api_version', 'is required: a string'],
      [
        [{ deployment_id: 'd', alias: 'a', api_version: '1', isDefault: true }],
        'config.deployments[0]',
        'unknown key "isDefault": did you mean "is_default"?',
      ],
    ],
  },
  free('override_params'),
  shortText('prompt_id', 253),
  {
    key: 'request_timeout',
    valid: [1, 30_000, 86_400_000],
    invalid: [
      [0, 'config.request_timeout', 'must be at least 1, got 0'],
      [86_400_001, 'config.request_timeout', 'must be at most 86400000, got 86400001'],
      [1.5, 'config.request_timeout', 'must be an integer, got the number 1.5'],
      ['30s', 'config.request_timeout', 'must be an integer, got a string'],
    ],
  },
  {
    key: 'cache',
    valid: [{ mode: 'simple' }, { mode: 'semantic', max_age: 1 }, { mode: 'simple', max_age: 7_776_000 }],
    invalid: [
      [{}, 'config.cache.mode', 'is required: one of "simple", "semantic"'],
      [
        { mode: 'simpel' },
        'config.cache.mode',
        'must be one of "simple", "semantic", got "simpel": did you mean "simple"?',
      ],
      [{ mode: 'simple', max_age: 0 }, 'config.cache.max_age', 'must be at least 1, got 0'],
      [{ mode: 'simple', max_age: 7_776_001 }, 'config.cache.max_age', 'must be at most 7776000, got 7776001'],
      [{ mode: 'simple', maxAge: 5 }, 'config.cache', 'unknown key "maxAge": did you mean "max_age"?'],
      ['simple', 'config.cache', 'must be an object, got a string'],
    ],
  },
  {
    key: 'retry',
    valid: [
      { attempts: 0 },
      { attempts: 5, on_status_codes: [429, 599], use_retry_after_headers: true },
      { attempts: 1, use_retry_after_header: true },
    ],
    invalid: [
      [{}, 'config.retry.attempts', 'is required: an integer'],
      [{ attempts: -1 }, 'config.retry.attempts', 'must be at least 0, got -1'],
      [{ attempts: 6 }, 'config.retry.attempts', 'must be at most 5, got 6'],
      [{ attempts: '3' }, 'config.retry.attempts', 'must be an integer, got a string'],
      [
        { attempts: 1, use_retry_after_headers: 'yes' },
        'config.retry.use_retry_after_headers',
        'must be true or false, got a string',
      ],
      [{ attempts: 1, attempt: 2 }, 'config.retry', 'unknown key "attempt": did you mean "attempts"?'],
      ...statusCodes('retry.on_status_codes', (codes) => ({ attempts: 1, on_status_codes: codes })),
    ],
  },
  {
    key: 'cb_config',
    valid: [CIRCUIT, { failure_threshold: 1.5, cooldown_interval: 60_000, failure_status_codes: [500] }],
    invalid: circuitCases('cb_config', (breaker) => breaker),
  },
  {
    key: 'weight',
    valid: [0, 0.25, 100],
    invalid: [
      [-1, 'config.weight', 'must be at least 0, got -1'],
      ['1', 'config.weight', 'must be a number, got a string'],
    ],
  },
  { key: 'on_status_codes', valid: [[], [429, 446]], invalid: statusCodes('on_status_codes', (codes) => codes) },
  flag('passthrough'),
  {
    key: 'forward_headers',
    valid: [[], ['X-Tenant', 'authorization']],
    invalid: [
      ['x-tenant', 'config.forward_headers', 'must be a list, got a string'],
      [['x tenant'], 'config.forward_headers[0]', 'must be the name of a header'],
      [['x-a', 'x\r\ny'], 'config.forward_headers[1]', 'must be the name of a header'],
    ],
  },
  shortText('cloud1_access_key_id', 8192),
  shortText('cloud1_secret_access_key', 8192),
  shortText('cloud1_session_token', 8192),
  shortText('cloud1_region', 253),
  shortText('vendor_organization', 253),
  shortText('vendor_project', 253),
  shortText('cloud2_project_id', 253),
  shortText('cloud2_region', 253),
  free('cloud2_service_account_json'),
  shortText('cloud3_region', 253),
  shortText('cloud3_deployment_name', 253),
  shortText('cloud3_endpoint_name', 253),
  shortText('cloud3_api_version', 64),
  {
    key: 'cloud3_deployment_type',
    valid: ['serverless', 'managed'],
    invalid: [
      [
        'Managed',
        'config.cloud3_deployment_type',
        'must be one of "serverless", "managed", got "Managed": did you mean "managed"?',
      ],
    ],
  },
  shortText('cloud3_entra_scope', 1024),
  hookCases('before_request_hooks', { on_fail: { feedback, deny: true }, on_success: { feedback, deny: false } }, [
    [[{ id: 'h', async: true }], 'config.before_request_hooks[0]', 'unknown key "async"'],
  ]),
  hookCases('after_request_hooks', { async: true, on_fail: { feedback }, on_success: { feedback } }, [
    [[{ id: 'h', on_fail: { deny: true } }], 'config.after_request_hooks[0].on_fail', 'unknown key "deny"'],
    [[{ id: 'h', on_success: { deny: true } }], 'config.after_request_hooks[0].on_success', 'unknown key "deny"'],
  ]),
  guardrailCases('input_guardrails', {}, [
    [[{ id: 'x', on_fail: { deny: true } }], 'config.input_guardrails[0].on_fail', 'unknown key "deny"'],
  ]),
  guardrailCases('output_guardrails', { on_fail: { feedback, deny: true }, on_success: { deny: false } }, [
    [
      [{ id: 'x', on_fail: { deney: true } }],
      'config.output_guardrails[0].on_fail',
      'unknown key "deney": did you mean "deny"?',
    ],
  ]),
  {
    key: 'targets',
    valid: [],
    invalid: [
      [{}, 'config.targets', 'must be a list, got an object'],
      [[], 'config.targets', 'must have at least 1 item, got 0'],
      [Array(101).fill(targets[0]), 'config.targets', 'must have at most 100 items, got 101'],
      [['openai'], 'config.targets[0]', 'must be an object, got a string'],
      [[{ virtual_key: 'a', retry: { attempts: 9 } }], 'config.targets[0].retry.attempts', 'must be at most 5, got 9'],
    ],
  },
  {
    key: 'strategy',
    valid: [
      { mode: 'single' },
      { mode: 'single', cb_config: CIRCUIT, stream_delivery: 'whole', stream_idle_timeout: 5000 },
      { mode: 'single', concurrency: { max_in_flight: 5 } },
      { mode: 'single', concurrency: { max_in_flight: 5, max_queued: 100, max_wait_ms: 500 } },
    ],
    invalid: [
      [{}, 'config.strategy.mode', 'is required: one of "single", "loadbalance", "fallback", "conditional"'],
      [
        { mode: 'load_balance' },
        'config.strategy.mode',
        'must be one of "single", "loadbalance", "fallback", "conditional", got "load_balance": did you mean "loadbalance"?',
      ],
      [strategy({ sticky_session: {} }), 'config.strategy', 'unknown key "sticky_session": did you mean "sticky"?'],
      [
        strategy({ stream_delivery: 'all' }),
        'config.strategy.stream_delivery',
        'must be one of "live", "whole", got "all"',
      ],
      [strategy({ stream_idle_timeout: 0 }), 'config.strategy.stream_idle_timeout', 'must be at least 1, got 0'],
      [strategy({ concurrency: {} }), 'config.strategy.concurrency.max_in_flight', 'is required: an integer'],
      [
        strategy({ concurrency: { max_in_flight: 0 } }),
        'config.strategy.concurrency.max_in_flight',
        'must be at least 1, got 0',
      ],
      [
        strategy({ concurrency: { max_in_flight: 1, queue: 2 } }),
        'config.strategy.concurrency',
        /^unknown key "queue"/,
      ],
      [strategy({ conditions: [] }, 'conditional'), 'config.strategy.conditions', 'must have at least 1 item, got 0'],
      [
        strategy({ conditions: [{ then: 'a' }] }, 'conditional'),
        'config.strategy.conditions[0].query',
        'is required: an object',
      ],
      [
        strategy({ conditions: [{ query: {} }] }, 'conditional'),
        'config.strategy.conditions[0].then',
        'is required: a string',
      ],
      [
        strategy({ conditions: [{ ...condition, else: 'b' }] }, 'conditional'),
        'config.strategy.conditions[0]',
        /^unknown key "else"/,
      ],
      [strategy({ sticky: {} }, 'loadbalance'), 'config.strategy.sticky.hash_fields', 'is required: a list'],
      [
        strategy({ sticky: { hash_fields: [] } }, 'loadbalance'),
        'config.strategy.sticky.hash_fields',
        'must have at least 1 item, got 0',
      ],
      [
        strategy({ sticky: { hash_fields: ['user'] } }, 'loadbalance'),
        'config.strategy.sticky.hash_fields[0]',
        'must be metadata.<key>, params.<key> or headers.<name>',
      ],
      [
        strategy({ sticky: { hash_fields: ['params.user'], ttl: 0 } }, 'loadbalance'),
        'config.strategy.sticky.ttl',
        'must be at least 1, got 0',
      ],
      ...circuitCases('strategy.cb_config', (breaker) => strategy({ cb_config: breaker })),
      ...statusCodes('strategy.on_status_codes', (codes) => strategy({ on_status_codes: codes })),
    ],
  },
];

/** Rules between the keys of a config, kept and broken. */
import { BASE, TARGETS as targets } from './config-keys.ts';

const condition = { query: { 'metadata.tier': 'paid' }, then: 'a' };

/** The validity rules of the seed, one config each that holds by that rule alone. */
export const SUFFICIENT_CONFIGS: readonly Record<string, unknown>[] = [
  { provider: 'openai', api_key: 'sk' },
  { provider: 'openai', custom_host: 'https://llm.example/v1' },
  { virtual_key: 'openai' },
  { strategy: { mode: 'fallback' }, targets },
  { cache: { mode: 'simple' } },
  { retry: { attempts: 1 } },
  { prompt_id: 'welcome' },
  { forward_headers: ['x-tenant'] },
  { request_timeout: 1000 },
  { provider: 'p', cloud1_access_key_id: 'a', cloud1_secret_access_key: 'b' },
  { provider: 'p', cloud2_region: 'r', cloud2_service_account_json: {} },
  { provider: 'p', cloud2_region: 'r', cloud2_project_id: 'i' },
  {
    provider: 'p',
    cloud3_deployment_name: 'n',
    cloud3_deployment_type: 'managed',
    cloud3_region: 'r',
    cloud3_api_version: '1',
  },
  { provider: 'p', cloud3_endpoint_name: 'n', cloud3_deployment_type: 'serverless' },
  { after_request_hooks: [] },
  { before_request_hooks: [] },
  { input_guardrails: [] },
  { output_guardrails: [] },
  { passthrough: true },
  { provider: '@openai' },
  { provider: 'simulator' },
];

/** Configs that break exactly one rule between keys: where, and what is said. */
export const BROKEN_RULES: readonly (readonly [
  title: string,
  config: unknown,
  path: string,
  message: string | RegExp,
])[] = [
  [
    'nothing at all',
    {},
    'config',
    /^needs at least one of: provider with its credential, passthrough: true, virtual_key/,
  ],
  ['only a name', { name: 'x', weight: 1, override_params: {} }, 'config', /^needs at least one of/],
  ['passthrough switched off', { passthrough: false }, 'config', /^needs at least one of/],
  [
    'a provider without credential',
    { provider: 'openai' },
    'config.provider',
    /^needs api_key, custom_host or cloud credentials/,
  ],
  ['half a cloud credential', { provider: 'p', cloud1_access_key_id: 'a' }, 'config.provider', /^needs api_key/],
  [
    'a provider that another rule excuses',
    { provider: 'openai', retry: { attempts: 1 } },
    'config.provider',
    /^needs api_key/,
  ],
  ['an empty target', { strategy: { mode: 'single' }, targets: [{}] }, 'config.targets[0]', /^needs at least one of/],
  [
    'passthrough beside targets',
    { passthrough: true, strategy: { mode: 'single' }, targets },
    'config.targets',
    'must not stand beside passthrough: true',
  ],
  [
    'passthrough beside strategy',
    { passthrough: true, strategy: { mode: 'single' } },
    'config.strategy',
    'must not stand beside passthrough: true',
  ],
  [
    'passthrough beside override_params',
    { passthrough: true, override_params: {} },
    'config.override_params',
    'must not stand beside passthrough: true',
  ],
  [
    'passthrough beside input guardrails',
    { passthrough: true, input_guardrails: [] },
    'config.input_guardrails',
    'must not stand beside passthrough: true',
  ],
  [
    'passthrough beside output guardrails',
    { passthrough: true, output_guardrails: [] },
    'config.output_guardrails',
    'must not stand beside passthrough: true',
  ],
  ['targets without a strategy', { ...BASE, targets }, 'config.targets', /^needs strategy beside it/],
  [
    'a strategy with nothing to choose from',
    { ...BASE, strategy: { mode: 'fallback' } },
    'config.strategy.mode',
    '"fallback" needs targets beside strategy',
  ],
  [
    'status codes outside fallback',
    { strategy: { mode: 'loadbalance', on_status_codes: [429] }, targets },
    'config.strategy.on_status_codes',
    'is for mode "fallback" only',
  ],
  [
    'sticky outside loadbalance',
    { strategy: { mode: 'fallback', sticky: { hash_fields: ['params.user'] } }, targets },
    'config.strategy.sticky',
    'is for mode "loadbalance" only',
  ],
  [
    'a cap on requests in flight beside targets',
    { strategy: { mode: 'fallback', concurrency: { max_in_flight: 1 } }, targets },
    'config.strategy.concurrency',
    'is for a config without targets: its children do not inherit it',
  ],
  [
    'all weights 0',
    { strategy: { mode: 'loadbalance' }, targets: targets.map((target) => ({ ...target, weight: 0 })) },
    'config.targets',
    'must have at least one target whose weight is not 0',
  ],
  [
    'conditional without conditions',
    { strategy: { mode: 'conditional', default: 'a' }, targets },
    'config.strategy.conditions',
    'is required in mode "conditional"',
  ],
  [
    'conditional without default',
    { strategy: { mode: 'conditional', conditions: [condition] }, targets },
    'config.strategy.default',
    'is required in mode "conditional"',
  ],
  [
    'then of no target',
    { strategy: { mode: 'conditional', conditions: [{ ...condition, then: 'c' }], default: 'a' }, targets },
    'config.strategy.conditions[0].then',
    'must be the name of a target beside this strategy (a, b)',
  ],
  [
    'default of no target',
    { strategy: { mode: 'conditional', conditions: [condition], default: 'c' }, targets },
    'config.strategy.default',
    'must be the name of a target beside this strategy (a, b)',
  ],
  [
    'the name of a target further down',
    {
      strategy: { mode: 'conditional', conditions: [condition], default: 'deep' },
      targets: [...targets, { strategy: { mode: 'single' }, targets: [{ name: 'deep', virtual_key: 'd' }] }],
    },
    'config.strategy.default',
    'must be the name of a target beside this strategy (a, b)',
  ],
  [
    'one name twice',
    {
      strategy: { mode: 'conditional', conditions: [condition], default: 'a' },
      targets: [...targets, { name: 'a', virtual_key: 'c' }],
    },
    'config.targets[2].name',
    'is already the name of targets[0]: names must differ',
  ],
  [
    'an unknown operator of a query',
    {
      strategy: {
        mode: 'conditional',
        conditions: [{ query: { 'metadata.tier': { $equals: 1 } }, then: 'a' }],
        default: 'a',
      },
      targets,
    },
    'config.strategy.conditions[0].query["metadata.tier"].$equals',
    /./,
  ],
];

export const CONDITIONAL = { strategy: { mode: 'conditional', conditions: [condition], default: 'b' }, targets };

import { FREE_PROVIDERS, PASSTHROUGH_EXCLUDES, PROVIDER_NEEDS } from '../config/rules.ts';
import { configSchema, configShape } from '../config/schema.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import type { CelRule, Kind } from './kind.ts';

const all = (keys: readonly string[]) => `(${keys.map((key) => `has(self.${key})`).join(' && ')})`;
const free = FREE_PROVIDERS.map((name) => `self.provider == '${name}'`).join(' || ');
const mode = (name: string) => `has(self.strategy) && self.strategy.mode == '${name}'`;

/**
 * CEL cannot see a list whose items may be a string or an object (the guardrails), so "at least one must hold" as a whole
 * stays with the operator; here stand the rules that need no guardrails.
 */
const celRules: readonly CelRule[] = [
  {
    rule: `!has(self.provider) || self.provider.startsWith('@') || ${free} || has(self.virtual_key) || (has(self.passthrough) && self.passthrough) || ${PROVIDER_NEEDS.map(all).join(' || ')}`,
    message:
      'provider needs api_key, custom_host or cloud credentials beside it, or "@" and the name of an Integration',
  },
  {
    rule: `!has(self.passthrough) || !self.passthrough || !(${PASSTHROUGH_EXCLUDES.filter(
      (key) => !key.endsWith('guardrails'),
    )
      .map((key) => `has(self.${key})`)
      .join(' || ')})`,
    message: 'passthrough: true excludes targets, strategy and override_params',
  },
  {
    rule: 'has(self.strategy) || !has(self.targets)',
    message: 'targets needs strategy beside it',
  },
  {
    rule: `!has(self.strategy) || has(self.targets) || self.strategy.mode == 'single'`,
    message: 'strategy needs targets beside it',
  },
  {
    rule: `!(${mode('conditional')}) || (has(self.strategy.conditions) && has(self.strategy.default))`,
    message: 'strategy.conditions and strategy.default are required in mode conditional',
  },
  {
    rule: `!has(self.strategy) || !has(self.strategy.on_status_codes) || self.strategy.mode == 'fallback'`,
    message: 'strategy.on_status_codes is for mode fallback only',
  },
  {
    rule: `!has(self.strategy) || !has(self.strategy.sticky) || self.strategy.mode == 'loadbalance'`,
    message: 'strategy.sticky is for mode loadbalance only',
  },
  {
    rule: `!(${mode('loadbalance')}) || !has(self.targets) || self.targets.exists(t, !has(t.weight) || t.weight > 0.0)`,
    message: 'targets must have at least one whose weight is not 0',
    levels: 2,
  },
  {
    rule: `!(${mode('conditional')}) || !has(self.targets) || !has(self.strategy.default) || self.targets.exists(t, has(t.name) && t.name == self.strategy.default)`,
    message: 'strategy.default must be the name of a target',
    levels: 1,
  },
  {
    rule: `!(${mode('conditional')}) || !has(self.targets) || !has(self.strategy.conditions) || self.strategy.conditions.all(c, self.targets.exists(t, has(t.name) && t.name == c.then))`,
    message: 'then of every condition must be the name of a target',
    levels: 1,
  },
];

export const gatewayConfigKind: Kind = {
  kind: 'GatewayConfig',
  plural: 'gatewayconfigs',
  singular: 'gatewayconfig',
  shortName: 'gwc',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'Where requests go: a provider, or a tree of targets with retries, fallbacks, limits of time, cache and guardrails.',
  specSchema: configSchema,
  specShape: configShape,
  printerColumns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.strategy.mode' },
    { name: 'Provider', type: 'string', jsonPath: '.spec.provider', priority: 1 },
  ],
  celRules,
  recursiveField: 'targets',
};

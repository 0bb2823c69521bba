import { FREE_PROVIDERS, PASSTHROUGH_EXCLUDES, PROVIDER_NEEDS, RULE_MESSAGES } from '../config/rules.ts';
import { configSchema, configShape } from '../config/schema.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import type { CelRule, Kind } from './kind.ts';

const all = (keys: readonly string[]) => `(${keys.map((key) => `has(self.${key})`).join(' && ')})`;
const free = FREE_PROVIDERS.map((name) => `self.provider == '${name}'`).join(' || ');
const mode = (name: string) => `has(self.strategy) && self.strategy.mode == '${name}'`;
const isTarget = (name: string) => `self.targets.exists(t, has(t.name) && t.name == ${name})`;

/** CEL cannot see a list whose items may be a string or an object. */
const passthroughRules: readonly CelRule[] = PASSTHROUGH_EXCLUDES.filter((key) => !key.endsWith('guardrails')).map(
  (key) => ({
    rule: `!has(self.passthrough) || !self.passthrough || !has(self.${key})`,
    message: RULE_MESSAGES.besidePassthrough,
    fieldPath: `.${key}`,
  }),
);

const conditionalRules: readonly CelRule[] = ['conditions', 'default'].map((key) => ({
  rule: `!(${mode('conditional')}) || has(self.strategy.${key})`,
  message: RULE_MESSAGES.inConditional,
  fieldPath: `.strategy.${key}`,
}));

/**
 * CEL cannot see a list whose items may be a string or an object (the guardrails), so "at least one must hold" as a whole
 * stays with the operator; here stand the rules that need no guardrails.
 */
const celRules: readonly CelRule[] = [
  {
    rule: `!has(self.provider) || self.provider.startsWith('@') || ${free} || has(self.virtual_key) || (has(self.passthrough) && self.passthrough) || ${PROVIDER_NEEDS.map(all).join(' || ')}`,
    message: RULE_MESSAGES.providerNeeds,
    fieldPath: '.provider',
  },
  ...passthroughRules,
  {
    rule: 'has(self.strategy) || !has(self.targets)',
    message: RULE_MESSAGES.targetsNeedStrategy,
    fieldPath: '.targets',
  },
  {
    rule: `!has(self.strategy) || has(self.targets) || self.strategy.mode == 'single'`,
    message: RULE_MESSAGES.modeNeedsTargets,
    messageExpression: `'"' + self.strategy.mode + '" ${RULE_MESSAGES.modeNeedsTargets}'`,
    fieldPath: '.strategy.mode',
  },
  ...conditionalRules,
  {
    rule: `!has(self.strategy) || !has(self.strategy.on_status_codes) || self.strategy.mode == 'fallback'`,
    message: RULE_MESSAGES.onFallbackOnly,
    fieldPath: '.strategy.on_status_codes',
  },
  {
    rule: `!has(self.strategy) || !has(self.strategy.sticky) || self.strategy.mode == 'loadbalance'`,
    message: RULE_MESSAGES.onLoadbalanceOnly,
    fieldPath: '.strategy.sticky',
  },
  {
    rule: '!has(self.strategy) || !has(self.strategy.concurrency) || !has(self.targets)',
    message: RULE_MESSAGES.onTargetOnly,
    fieldPath: '.strategy.concurrency',
  },
  {
    rule: `!(${mode('loadbalance')}) || !has(self.targets) || self.targets.exists(t, !has(t.weight) || t.weight > 0.0)`,
    message: RULE_MESSAGES.someWeight,
    fieldPath: '.targets',
    levels: 2,
  },
  {
    rule: `!(${mode('conditional')}) || !has(self.targets) || !has(self.strategy.default) || ${isTarget('self.strategy.default')}`,
    message: RULE_MESSAGES.nameOfTarget,
    fieldPath: '.strategy.default',
    levels: 1,
  },
  {
    rule: `!(${mode('conditional')}) || !has(self.targets) || !has(self.strategy.conditions) || self.strategy.conditions.all(c, ${isTarget('c.then')})`,
    message: `then of each ${RULE_MESSAGES.nameOfTarget}`,
    fieldPath: '.strategy.conditions',
    levels: 1,
  },
  {
    rule: `!(${mode('conditional')}) || !has(self.targets) || self.targets.all(t, !has(t.name) || self.targets.exists_one(o, has(o.name) && o.name == t.name))`,
    message: RULE_MESSAGES.namesDiffer,
    fieldPath: '.targets',
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

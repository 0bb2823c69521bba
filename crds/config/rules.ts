/**
 * What must hold between the keys of a config. Rules read plain JSON, not a parsed config, so that they speak up together
 * with the problems of structure; a rule is silent about a value of the wrong type, the shape names that.
 */
import { parseQuery, QueryError } from './query.ts';

type Path = readonly (string | number)[];
type Node = Readonly<Record<string, unknown>>;
export interface RuleProblem {
  readonly path: (string | number)[];
  readonly message: string;
}
type Rule = (node: Node) => Iterable<{ readonly path: Path; readonly message: string }>;

const CLOUD_CREDENTIALS = [
  ['cloud1_access_key_id', 'cloud1_secret_access_key'],
  ['cloud2_region', 'cloud2_service_account_json'],
  ['cloud2_region', 'cloud2_project_id'],
  ['cloud3_deployment_name', 'cloud3_deployment_type', 'cloud3_region', 'cloud3_api_version'],
  ['cloud3_endpoint_name', 'cloud3_deployment_type'],
] as const;

/** What a provider that is named needs beside it: one of these. */
export const PROVIDER_NEEDS: readonly (readonly string[])[] = [['api_key'], ['custom_host'], ...CLOUD_CREDENTIALS];

/** The validity rules without a provider: one of these is enough. */
export const SUFFICIENT: readonly (readonly string[])[] = [
  ['virtual_key'],
  ['strategy', 'targets'],
  ['cache'],
  ['retry'],
  ['prompt_id'],
  ['forward_headers'],
  ['request_timeout'],
  ['after_request_hooks'],
  ['before_request_hooks'],
  ['input_guardrails'],
  ['output_guardrails'],
];

/** What `passthrough: true` excludes. */
export const PASSTHROUGH_EXCLUDES = [
  'targets',
  'strategy',
  'override_params',
  'input_guardrails',
  'output_guardrails',
] as const;

/** Providers that need no credential. */
export const FREE_PROVIDERS: readonly string[] = ['simulator'];

/** What is said of a broken rule, by the API server and by the operator. */
export const RULE_MESSAGES = {
  providerNeeds: `needs api_key, custom_host or cloud credentials (${CLOUD_CREDENTIALS.map((keys) => keys.join(' + ')).join(', ')}) beside it, or "@" and the name of an Integration`,
  besidePassthrough: 'must not stand beside passthrough: true',
  targetsNeedStrategy: 'needs strategy beside it, e.g. strategy: {mode: fallback}',
  /** After the mode. */
  modeNeedsTargets: 'needs targets beside strategy',
  onFallbackOnly: 'is for mode "fallback" only',
  onLoadbalanceOnly: 'is for mode "loadbalance" only',
  onTargetOnly: 'is for a config without targets: its children do not inherit it',
  someWeight: 'must have at least one target whose weight is not 0',
  inConditional: 'is required in mode "conditional"',
  /** Before the names. */
  nameOfTarget: 'must be the name of a target beside this strategy',
  namesDiffer: 'names must differ',
} as const;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function has(node: Node, keys: readonly string[]): boolean {
  return keys.every((key) => node[key] !== undefined);
}

function hasOneOf(node: Node, alternatives: readonly (readonly string[])[]): boolean {
  return alternatives.some((keys) => has(node, keys));
}

function strategyOf(node: Node): Node {
  return isNode(node.strategy) ? node.strategy : {};
}

/** An Integration or a provider without credentials needs nothing beside it. */
function providerIsEnough(provider: unknown): boolean {
  return typeof provider === 'string' && (provider.startsWith('@') || FREE_PROVIDERS.includes(provider));
}

function* saysSomething(node: Node): ReturnType<Rule> {
  if (node.provider !== undefined || node.passthrough === true || hasOneOf(node, SUFFICIENT)) return;
  const options = SUFFICIENT.map((keys) => keys.join(' with ')).join(', ');
  yield { path: [], message: `needs at least one of: provider with its credential, passthrough: true, ${options}` };
}

function* providerHasCredential(node: Node): ReturnType<Rule> {
  if (node.provider === undefined || providerIsEnough(node.provider)) return;
  if (node.virtual_key !== undefined || node.passthrough === true || hasOneOf(node, PROVIDER_NEEDS)) return;
  yield { path: ['provider'], message: RULE_MESSAGES.providerNeeds };
}

function* passthroughIsAlone(node: Node): ReturnType<Rule> {
  if (node.passthrough !== true) return;
  for (const key of PASSTHROUGH_EXCLUDES) {
    if (node[key] !== undefined) yield { path: [key], message: RULE_MESSAGES.besidePassthrough };
  }
}

/** A `single` strategy without targets means the node itself; the other modes have nothing to choose from. */
function* strategyHasTargets(node: Node): ReturnType<Rule> {
  const mode = strategyOf(node).mode;
  if (node.targets !== undefined && node.strategy === undefined) {
    yield { path: ['targets'], message: RULE_MESSAGES.targetsNeedStrategy };
  }
  if (node.targets === undefined && typeof mode === 'string' && mode !== 'single') {
    yield {
      path: ['strategy', 'mode'],
      message: `${JSON.stringify(mode.slice(0, 64))} ${RULE_MESSAGES.modeNeedsTargets}`,
    };
  }
}

/** Keys of a strategy that only one mode reads. */
const MODE_OF: Readonly<Record<string, readonly [mode: string, message: string]>> = {
  on_status_codes: ['fallback', RULE_MESSAGES.onFallbackOnly],
  sticky: ['loadbalance', RULE_MESSAGES.onLoadbalanceOnly],
};

function* strategyKeysFitMode(node: Node): ReturnType<Rule> {
  const strategy = strategyOf(node);
  for (const [key, [mode, message]] of Object.entries(MODE_OF)) {
    if (strategy[key] === undefined || typeof strategy.mode !== 'string' || strategy.mode === mode) continue;
    yield { path: ['strategy', key], message };
  }
}

/** What a strategy says of one target, so that it says nothing of several. */
function* strategyKeysFitTarget(node: Node): ReturnType<Rule> {
  if (strategyOf(node).concurrency === undefined || node.targets === undefined) return;
  yield { path: ['strategy', 'concurrency'], message: RULE_MESSAGES.onTargetOnly };
}

function* someWeight(node: Node): ReturnType<Rule> {
  if (strategyOf(node).mode !== 'loadbalance') return;
  const targets = list(node.targets);
  if (targets.length === 0 || targets.some((target) => !isNode(target) || target.weight !== 0)) return;
  yield { path: ['targets'], message: RULE_MESSAGES.someWeight };
}

function* conditionalIsComplete(node: Node): ReturnType<Rule> {
  const strategy = strategyOf(node);
  if (strategy.mode !== 'conditional') return;
  for (const key of ['conditions', 'default']) {
    if (strategy[key] === undefined) yield { path: ['strategy', key], message: RULE_MESSAGES.inConditional };
  }
}

/** Names of the targets, and whether one is given twice. */
function* namesAreDistinct(node: Node): ReturnType<Rule> {
  if (strategyOf(node).mode !== 'conditional') return;
  const seen = new Map<unknown, number>();
  for (const [index, target] of list(node.targets).entries()) {
    if (!isNode(target) || typeof target.name !== 'string') continue;
    const first = seen.get(target.name);
    if (first === undefined) seen.set(target.name, index);
    else
      yield {
        path: ['targets', index, 'name'],
        message: `is already the name of targets[${first}]: ${RULE_MESSAGES.namesDiffer}`,
      };
  }
}

function* conditionsLeadSomewhere(node: Node): ReturnType<Rule> {
  const strategy = strategyOf(node);
  if (strategy.mode !== 'conditional' || node.targets === undefined) return;
  const names = list(node.targets).flatMap((target) =>
    isNode(target) && typeof target.name === 'string' ? [target.name] : [],
  );
  const wishes: [Path, unknown][] = list(strategy.conditions).map((condition, index) => [
    ['strategy', 'conditions', index, 'then'],
    isNode(condition) ? condition.then : undefined,
  ]);
  for (const [path, wish] of [...wishes, [['strategy', 'default'], strategy.default] as const]) {
    if (typeof wish !== 'string' || names.includes(wish)) continue;
    const known = names.length === 0 ? 'no target has one' : names.slice(0, 20).join(', ');
    yield { path, message: `${RULE_MESSAGES.nameOfTarget} (${known})` };
  }
}

function* queriesAreValid(node: Node): ReturnType<Rule> {
  for (const [index, condition] of list(strategyOf(node).conditions).entries()) {
    if (!isNode(condition) || !isNode(condition.query)) continue;
    try {
      parseQuery(condition.query);
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      yield { path: ['strategy', 'conditions', index, 'query', ...error.path], message: error.message };
    }
  }
}

const ITEM_SETTINGS = ['deny', 'async', 'on_fail', 'on_success'];

/** A guardrail item without a name and without a check would pass everything. */
function* guardrailsCheckSomething(node: Node): ReturnType<Rule> {
  for (const key of ['input_guardrails', 'output_guardrails']) {
    for (const [index, item] of list(node[key]).entries()) {
      if (!isNode(item) || Object.keys(item).some((name) => !ITEM_SETTINGS.includes(name))) continue;
      yield {
        path: [key, index],
        message: 'needs the id of a guardrail, or a check such as default.wordCount with its parameters',
      };
    }
  }
}

const RULES: readonly Rule[] = [
  saysSomething,
  providerHasCredential,
  passthroughIsAlone,
  strategyHasTargets,
  strategyKeysFitMode,
  strategyKeysFitTarget,
  someWeight,
  conditionalIsComplete,
  namesAreDistinct,
  conditionsLeadSomewhere,
  queriesAreValid,
  guardrailsCheckSomething,
];

/** Problems of every rule at every node, down to `levels` levels; `[]` for what is no object. */
export function problemsOfTree(value: unknown, levels: number, path: Path = []): RuleProblem[] {
  if (!isNode(value)) return [];
  const own = RULES.flatMap((rule) =>
    [...rule(value)].map((problem) => ({ ...problem, path: [...path, ...problem.path] })),
  );
  if (levels <= 1) return own;
  const below = list(value.targets).flatMap((target, index) =>
    problemsOfTree(target, levels - 1, [...path, 'targets', index]),
  );
  return [...own, ...below];
}

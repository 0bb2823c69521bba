/** What the operator refuses for a rule of the language, `kubectl apply` refuses with the same words - within the reach of CEL. */
import { beforeAll, expect, it } from 'vitest';
import { CATALOG } from '#gateway/catalog.ts';
import { check } from '#operator/compile/check.ts';
import { BROKEN_RULES, CONDITIONAL, SUFFICIENT_CONFIGS } from '../crds/config-rules.ts';
import { BROKEN_USAGE_RULES, RATE, TAKEN, USAGE, WRONG } from '../crds/limits/policies.ts';
import { cluster } from './cluster.ts';
import { describeCluster } from './describe-cluster.ts';
import { CommandFailed } from './run-command.ts';

type Spec = Readonly<Record<string, unknown>>;

let namespace = '';
let count = 0;

function manifestOf(kind: string, spec: unknown): Readonly<Record<string, unknown>> {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { name: `case-${++count}`, namespace }, spec };
}

/** What kubectl says; '' where it takes it. */
async function serverSays(manifest: object): Promise<string> {
  try {
    await cluster().kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
    return '';
  } catch (error) {
    if (error instanceof CommandFailed) return error.stderr;
    throw error;
  }
}

/** What the operator says; '' where it takes it. */
function operatorSays(raw: Readonly<Record<string, unknown>>): string {
  const { name } = Object(raw.metadata);
  const manifest = { kind: String(raw.kind), namespace, name, uid: undefined, generation: 1, raw, place: undefined };
  const checked = check(manifest, { catalog: CATALOG, organisationNamespace: 'model-gateway' });
  return 'refused' in checked ? checked.refused.message : '';
}

/** Each problem that the operator names, as the server puts it: the path, what was found there, the words. */
function problems(message: string): { path: string; words: string }[] {
  return message.split('; ').map((problem) => {
    const [path = '', ...words] = problem.split(': ');
    return { path, words: words.join(': ') };
  });
}

/** A rule of CEL can name a field, but none inside a list: the server names the list. */
function pathOnServer(path: string): string {
  return path.replace(/\[\d+\]\.\w+$/, '');
}

/** CEL knows no index, and to collect the names of the targets costs more than a rule may. */
function wordsOnServer(words: string): string {
  return words.replace(/^is already (?:the name of|in) \w+\[\d+\]: /, '').replace(/ \([\w, ]+\)$/, '');
}

/** Guardrails and queries are values of no fixed type, which CEL cannot see; what holds without guardrails it cannot tell. */
const BEYOND_CEL = new Set([
  'nothing at all',
  'only a name',
  'passthrough switched off',
  'an empty target',
  'passthrough beside input guardrails',
  'passthrough beside output guardrails',
  'an unknown operator of a query',
]);

const WITHIN_CEL = BROKEN_RULES.filter(([title]) => !BEYOND_CEL.has(title)).map(
  ([title, spec]) => [title, spec] as const,
);

const mapping = (target_field: string, more: Spec = {}) => ({
  target_field,
  secret_name: 's',
  secret_key: 'k',
  ...more,
});

const INTEGRATIONS: readonly (readonly [title: string, spec: Spec])[] = [
  ['a credential mapped twice', { provider: 'openai', secret_mappings: [mapping('api_key'), mapping('api_key')] }],
  ['JSON for a field of text', { provider: 'openai', secret_mappings: [mapping('api_key', { value_format: 'json' })] }],
  ['text for a field of JSON', { provider: 'openai', secret_mappings: [mapping('cloud2_service_account_json')] }],
];

async function expectSameWords(manifest: Readonly<Record<string, unknown>>): Promise<void> {
  const said = await serverSays(manifest);
  const expected = problems(operatorSays(manifest));
  expect(expected.length).toBeGreaterThan(0);
  for (const { path, words } of expected) {
    const line = said.split('\n').find((candidate) => candidate.includes(`${pathOnServer(path)}: `)) ?? said;
    expect(line).toContain(`${pathOnServer(path)}: `);
    expect(line).toContain(wordsOnServer(words));
  }
}

describeCluster('the validity rules on a real API server', () => {
  beforeAll(async () => {
    await cluster().installCrds();
    namespace = await cluster().namespace('rules');
  });

  it.each(WITHIN_CEL)('kubectl apply refuses, with the words of the operator: %s', async (_title, spec) => {
    await expectSameWords(manifestOf('GatewayConfig', spec));
  });

  it.each(INTEGRATIONS)('kubectl apply refuses, with the words of the operator: %s', async (_title, spec) => {
    await expectSameWords(manifestOf('Integration', spec));
  });

  it.each(BROKEN_USAGE_RULES)('kubectl apply refuses, with the words of the operator: %s', async (_title, spec) => {
    await expectSameWords(manifestOf('UsageLimitPolicy', spec));
  });

  it.each(['RateLimitPolicy', 'UsageLimitPolicy'] as const)('takes every %s that the operator takes', async (kind) => {
    const items = TAKEN[kind].map((spec) => manifestOf(kind, spec));
    expect(items.map((manifest) => operatorSays(manifest)).filter((said) => said !== '')).toEqual([]);
    expect(await serverSays({ apiVersion: 'v1', kind: 'List', items })).toBe('');
  });

  it.each(['RateLimitPolicy', 'UsageLimitPolicy'] as const)('refuses each wrong %s at its field', async (kind) => {
    for (const [part, path] of WRONG[kind]) {
      const said = await serverSays(manifestOf(kind, { ...(kind === 'RateLimitPolicy' ? RATE : USAGE), ...part }));
      expect(said, JSON.stringify(part)).toContain(path === 'spec' ? 'unknown field' : path.replace(/\[\d+\]$/, ''));
    }
  });

  it('a rule holds in the targets too, and the server names the level', async () => {
    const target = {
      strategy: { mode: 'fallback', sticky: { hash_fields: ['params.user'] } },
      targets: [{ virtual_key: 'a' }],
    };
    const said = await serverSays(manifestOf('GatewayConfig', { strategy: { mode: 'single' }, targets: [target] }));
    expect(said).toContain('spec.targets[0].strategy.sticky: ');
    expect(said).toContain('is for mode "loadbalance" only');
  });

  it.each(BROKEN_RULES.filter(([title]) => BEYOND_CEL.has(title)).map(([title, spec]) => [title, spec] as const))(
    'the operator alone refuses: %s',
    async (_title, spec) => {
      const manifest = manifestOf('GatewayConfig', spec);
      expect(await serverSays(manifest)).toBe('');
      expect(operatorSays(manifest)).not.toBe('');
    },
  );

  it('takes every config that the operator takes, all in one request of kubectl', async () => {
    const manifests = [...SUFFICIENT_CONFIGS, CONDITIONAL].map((spec) => manifestOf('GatewayConfig', spec));
    expect(await serverSays({ apiVersion: 'v1', kind: 'List', items: manifests })).toBe('');
    const names = await cluster().kubectl(['get', 'gatewayconfigs', '-n', namespace, '-o', 'name']);
    expect(names.trim().split('\n').length).toBeGreaterThanOrEqual(manifests.length);
  });
});

/** The generated CRDs on a real API server, as kubectl shows them. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { KINDS } from '#crds/kinds/kinds.ts';
import { cluster } from './cluster.ts';
import { describeCluster } from './describe-cluster.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const CRDS = join(REPOSITORY, 'crds', 'generated');
const EXAMPLES = readdirSync(join(REPOSITORY, 'crds', 'examples')).filter((name) => name !== 'gitops');
const API = 'modelgateway.dev/v1alpha1';

let namespace = '';

const kubectl = (...args: string[]) => cluster().kubectl(['-n', namespace, ...args]);
const apply = (manifest: object) => cluster().kubectl(['apply', '-n', namespace, '-f', '-'], JSON.stringify(manifest));

function apiKey(name: string, spec: object = {}): object {
  return { apiVersion: API, kind: 'ApiKey', metadata: { name }, spec: { type: 'workspace-service', ...spec } };
}

/** Writes the conditions of an ApiKey, as the operator would; `observed` is their observedGeneration. */
async function report(
  name: string,
  conditions: Readonly<Record<string, 'True' | 'False'>>,
  observed: number,
  fields: object = {},
): Promise<void> {
  const status = {
    ...fields,
    observedGeneration: observed,
    conditions: Object.entries(conditions).map(([type, value]) => ({
      type,
      status: value,
      observedGeneration: observed,
      reason: 'Tested',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
  };
  const patch = JSON.stringify({ status });
  await kubectl('patch', 'apikey', name, '--subresource=status', '--type=merge', '-p', patch);
}

/** Cells of a table by its header. */
function row(table: string): Record<string, string> {
  const [header = '', cells = ''] = table.split('\n');
  const starts = [...header.matchAll(/\S+/g)].map((match) => [match[0], match.index] as const);
  return Object.fromEntries(
    starts.map(([name, start], index) => [name, cells.slice(start, starts[index + 1]?.[1]).trim()]),
  );
}

describeCluster('the CRDs on a real API server', () => {
  beforeAll(async () => {
    await cluster().installCrds();
    namespace = await cluster().namespace('crds');
  });

  it('are established, with names accepted and a structural schema', async () => {
    for (const { plural } of KINDS) {
      const crd = JSON.parse(await kubectl('get', 'crd', `${plural}.modelgateway.dev`, '-o', 'json'));
      const conditions = Object.fromEntries(
        crd.status.conditions.map(({ type, status }: { type: string; status: string }) => [type, status]),
      );
      expect(conditions, plural).toEqual({ Established: 'True', NamesAccepted: 'True' });
    }
  });

  it('are taken unchanged by a plain kubectl apply, and again', async () => {
    const files = readdirSync(CRDS).filter((name) => name.endsWith('.yaml'));
    expect(files.length).toBe(KINDS.length);
    await kubectl('apply', '-f', CRDS);
    expect((await kubectl('apply', '-f', CRDS)).match(/ unchanged$/gm)?.length).toBe(files.length);
  });

  it('are found by every name that a user would type', async () => {
    await apply(apiKey('by-name'));
    const names = KINDS.filter(({ kind }) => kind === 'ApiKey').flatMap((kind) => [
      kind.plural,
      kind.singular,
      kind.shortName,
    ]);
    for (const name of [...names, 'modelgateway', 'apikeys.v1alpha1.modelgateway.dev']) {
      expect(await kubectl('get', name, '-o', 'name'), name).toContain('apikey.modelgateway.dev/by-name');
    }
  });

  it('are explained by kubectl', async () => {
    expect(await kubectl('explain', 'gatewayconfig.spec.strategy.mode')).toMatch(
      /ENUM:\s+single\s+loadbalance\s+fallback\s+conditional\s/,
    );
    expect(await kubectl('explain', 'gak.spec.secret_name')).toContain('Secret of the same namespace');
  });

  it.each(EXAMPLES)('the example %s is taken', async (name) => {
    const own = await cluster().namespace('example');
    const directory = join(REPOSITORY, 'crds', 'examples', name);
    const list = JSON.parse(await cluster().kubectl(['apply', '--dry-run=client', '-o', 'json', '-f', directory]));
    const objects = (list.items as { kind: string; metadata: object }[]).filter(({ kind }) => kind !== 'Namespace');
    const items = objects.map((object) => ({ ...object, metadata: { ...object.metadata, namespace: own } }));
    const applied = await cluster().kubectl(['apply', '-f', '-', '-n', own], JSON.stringify({ ...list, items }));
    expect(applied.match(/ created$/gm)?.length).toBe(items.length);
  });

  it('an unknown field is refused, by name and by place', async () => {
    await expect(apply(apiKey('stray', { scope: ['completions.write'] }))).rejects.toThrow(
      /strict decoding error: unknown field "spec\.scope"/,
    );
    const target = { virtual_key: 'a', retries: 1 };
    const config = {
      apiVersion: API,
      kind: 'GatewayConfig',
      metadata: { name: 'stray' },
      spec: { strategy: { mode: 'single' }, targets: [target] },
    };
    await expect(apply(config)).rejects.toThrow(/unknown field "spec\.targets\[0\]\.retries"/);
    await expect(kubectl('get', 'gak', 'stray')).rejects.toThrow(/NotFound/);
  });

  it('a missing spec, a wrong type and a value out of bounds are refused', async () => {
    await expect(apply({ apiVersion: API, kind: 'ApiKey', metadata: { name: 'bare' } })).rejects.toThrow(
      /spec: Required value/,
    );
    await expect(apply(apiKey('wrong', { type: 'workspace' }))).rejects.toThrow(
      /spec\.type: Unsupported value: "workspace"/,
    );
    await expect(apply(apiKey('wrong', { scopes: ['everything'] }))).rejects.toThrow(
      /spec\.scopes\[0\]: Invalid value/,
    );
    await expect(apply(apiKey('wrong', { scopes: Array(65).fill('a.b') }))).rejects.toThrow(/spec\.scopes: Too many/);
  });

  it('defaults are filled in', async () => {
    await apply(apiKey('defaults'));
    const { spec } = JSON.parse(await kubectl('get', 'gak', 'defaults', '-o', 'json'));
    expect(spec).toEqual({
      type: 'workspace-service',
      defaults: { metadata: {}, allow_config_override: true },
      disabled: false,
    });
  });

  it('columns show what matters, and more with -o wide', async () => {
    await apply(apiKey('columns'));
    await report('columns', { Accepted: 'True', ResolvedRefs: 'True', Programmed: 'False', Ready: 'False' }, 1, {
      expires_at: '2027-01-01T00:00:00Z',
    });
    const shown = row(await kubectl('get', 'gak', 'columns'));
    expect(shown).toMatchObject({
      NAME: 'columns',
      TYPE: 'workspace-service',
      ACCEPTED: 'True',
      PROGRAMMED: 'False',
      READY: 'False',
    });
    expect(shown.AGE).toMatch(/^\d+s$/);
    expect(row(await kubectl('get', 'gak', 'columns', '-o', 'wide'))).toMatchObject({
      EXPIRES: '2027-01-01T00:00:00Z',
      REASON: 'Tested',
    });
  });

  it('kubectl get modelgateway lists every kind', async () => {
    const spec = { provider: 'simulator' };
    const about = { conditions: [{ key: 'workspace_id', value: '*' }], group_by: [{ key: 'api_key' }] };
    const specs = {
      GatewayConfig: spec,
      Integration: spec,
      ApiKey: { type: 'workspace-service' },
      RateLimitPolicy: { type: 'requests', unit: 'rpm', value: 1, ...about },
      UsageLimitPolicy: { type: 'cost', credit_limit: 1, ...about },
      Workspace: {},
      Guardrail: { checks: [{ id: 'notNull' }] },
      Prompt: { string: 'Hello' },
      PromptPartial: { string: 'Hello' },
    };
    for (const [kind, its] of Object.entries(specs))
      await apply({ apiVersion: API, kind, metadata: { name: 'listed' }, spec: its });
    const names = (await kubectl('get', 'modelgateway', '-o', 'name')).split('\n');
    for (const { singular } of KINDS.filter(({ kind }) => Object.hasOwn(specs, kind)))
      expect(names).toContain(`${singular}.modelgateway.dev/listed`);
  });

  it('the status is a subresource: writing it leaves the generation, writing the spec leaves the status', async () => {
    await apply(apiKey('apart'));
    await report('apart', { Ready: 'True' }, 1);
    expect(await kubectl('get', 'gak', 'apart', '-o', 'jsonpath={.metadata.generation}')).toBe('1');
    await apply({ ...apiKey('apart', { disabled: true }), status: { conditions: [] } });
    const path = 'jsonpath={.metadata.generation} {.status.conditions[0].type}';
    expect(await kubectl('get', 'gak', 'apart', '-o', path)).toBe('2 Ready');
  });

  it('kubectl wait takes a condition only if it is of the current generation', async () => {
    await apply(apiKey('waited'));
    await report('waited', { Programmed: 'True' }, 1);
    await kubectl('wait', '--for=condition=Programmed', 'gak/waited', '--timeout=10s');
    await apply(apiKey('waited', { disabled: true }));
    await expect(kubectl('wait', '--for=condition=Programmed', 'gak/waited', '--timeout=1s')).rejects.toThrow(
      /timed out/,
    );
    const waiting = kubectl('wait', '--for=condition=Programmed', 'gak/waited', '--timeout=20s');
    await report('waited', { Programmed: 'True' }, 2);
    expect(await waiting).toBe('apikey.modelgateway.dev/waited condition met\n');
  });
});

/** Roles: enough for what operator and gateway do, and nothing more. */
import { describe, expect, it } from 'vitest';
import { KINDS } from '#crds/kinds/kinds.ts';
import { snapshotObjects } from '#crds/snapshot/object-names.ts';
import { ACCEPTED_PREFIX } from '#operator/publish/accepted-shards.ts';
import { describeHelm } from './describe-helm.ts';
import { type Release, render } from './helm.ts';
import { at, type Manifest, ofKind } from './manifest.ts';
import { CASES, MATRIX, prefixOf } from './matrix.ts';
import { may, type Right, type Rule, rulesOf } from './rights.ts';

const KIND_RESOURCES = KINDS.map(({ plural }) => plural);
const WRITES = ['get', 'update', 'delete'];
const RESOURCE = { ConfigMap: 'configmaps', Secret: 'secrets' } as const;

function maxShardsOf({ values }: Release): number {
  return (values as { snapshot?: { maxShards?: number } } | undefined)?.snapshot?.maxShards ?? 16;
}

function hasToken({ values }: Release): boolean {
  return (values as { gateway?: { apiWatch?: boolean } } | undefined)?.gateway?.apiWatch ?? true;
}

/** Every right that rules with names give, as `verb resource/name`. */
function named(rules: readonly Rule[]): string[] {
  return rules.flatMap(({ verbs, resources, resourceNames = [] }) =>
    verbs.flatMap((verb) =>
      resources.flatMap((resource) => resourceNames.map((name) => `${verb} ${resource}/${name}`)),
    ),
  );
}

function published(release: Release, verbs: readonly string[]): string[] {
  const objects = snapshotObjects(prefixOf(release), maxShardsOf(release));
  return objects.flatMap(({ kind, name }) => verbs.map((verb) => `${verb} ${RESOURCE[kind]}/${name}`));
}

describeHelm('every rendering', () => {
  describe.each(CASES)('%s', (_title, release) => {
    const objects = render(release);
    const prefix = prefixOf(release);
    const own = release.namespace;

    it('lets the gateway read exactly what the operator publishes', () => {
      const rules = rulesOf(objects, `${prefix}-gateway`, own);
      const follow = [`${prefix}-snapshot-index`, `${prefix}-shares`].flatMap((name) =>
        ['list', 'watch'].map((verb) => `${verb} configmaps/${name}`),
      );
      const expected = hasToken(release) ? [...published(release, ['get']), ...follow] : [];
      expect(named(rules).sort()).toEqual(expected.sort());
      expect(rules.every(({ resourceNames }) => (resourceNames?.length ?? 0) > 0)).toBe(true);
    });

    it('gives the gateway nothing outside its namespace', () => {
      const bindings = [...ofKind(objects, 'ClusterRoleBinding'), ...ofKind(objects, 'RoleBinding')].filter((binding) =>
        at<{ name: string }[]>(binding, 'subjects')?.some(({ name }) => name === `${prefix}-gateway`),
      );
      expect(bindings.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual(
        hasToken(release) ? [`RoleBinding ${own}`] : [],
      );
    });

    it('lets the operator change exactly what it publishes, and its lease', () => {
      const [role] = ofKind(objects, 'Role').filter(({ metadata }) => metadata.name === `${prefix}-operator`);
      const expected = [
        ...published(release, WRITES),
        ...Array.from({ length: maxShardsOf(release) }, (_, shard) => `${prefix}-${ACCEPTED_PREFIX}-${shard}`).flatMap(
          (name) => WRITES.map((verb) => `${verb} secrets/${name}`),
        ),
        ...['get', 'update'].flatMap((verb) => [
          `${verb} leases/${prefix}-operator`,
          `${verb} configmaps/${prefix}-shares`,
        ]),
      ];
      expect(named(at<Rule[]>(role, 'rules') ?? []).sort()).toEqual(expected.sort());
    });

    it('has no wildcard in any role', () => {
      for (const role of [...ofKind(objects, 'Role'), ...ofKind(objects, 'ClusterRole')]) {
        for (const rule of at<Rule[]>(role, 'rules') ?? []) {
          expect([...rule.apiGroups, ...rule.resources, ...rule.verbs]).not.toContain('*');
        }
      }
    });
  });
});

/** What the control plane does for its callers. */
const CONTROLLED: Readonly<Record<string, readonly string[]>> = {
  ratelimitpolicies: ['create', 'update'],
  usagelimitpolicies: ['create', 'update'],
  apikeys: ['create', 'update', 'delete'],
  prompts: ['create', 'update', 'delete'],
  promptpartials: ['create', 'update', 'delete'],
  promptgroups: ['create', 'update', 'delete'],
  promptversions: ['create', 'patch'],
};

/** What the operator must do in a namespace that it serves. */
const SERVED: readonly Omit<Right, 'namespace'>[] = [
  ...KIND_RESOURCES.flatMap((resource) =>
    ['list', 'watch'].map((verb) => ({ verb, group: 'modelgateway.dev', resource })),
  ),
  ...KIND_RESOURCES.flatMap((resource) =>
    ['patch'].map((verb) => ({ verb, group: 'modelgateway.dev', resource: `${resource}/status`, name: 'x' })),
  ),
  ...['get', 'list', 'watch', 'create', 'patch'].map((verb) => ({ verb, resource: 'secrets', name: 'any' })),
  { verb: 'create', group: 'events.k8s.io', resource: 'events' },
  ...Object.entries(CONTROLLED).flatMap(([resource, verbs]) =>
    verbs.map((verb) => ({ verb, group: 'modelgateway.dev', resource, name: 'x' })),
  ),
];

/** What it must never do there. */
const NEVER: readonly Omit<Right, 'namespace'>[] = [
  ...KIND_RESOURCES.flatMap((resource) =>
    ['create', 'update', 'patch', 'delete', 'deletecollection']
      .filter((verb) => !CONTROLLED[resource]?.includes(verb))
      .map((verb) => ({ verb, group: 'modelgateway.dev', resource, name: 'x' })),
  ),
  ...['delete', 'update', 'deletecollection'].map((verb) => ({ verb, resource: 'secrets', name: 'any' })),
  { verb: 'get', resource: 'configmaps', name: 'any' },
  { verb: 'list', resource: 'pods' },
  { verb: 'create', resource: 'pods/exec', name: 'x' },
  { verb: 'create', resource: 'serviceaccounts/token', name: 'x' },
  { verb: 'impersonate', resource: 'users', name: 'x' },
  { verb: 'get', group: 'coordination.k8s.io', resource: 'leases', name: 'another' },
];

describeHelm('the operator of the whole cluster', () => {
  const objects = render(MATRIX.defaults);
  const can = (right: Right) => may(objects, 'demo-operator', right);

  it.each(SERVED)('may $verb $resource anywhere', (right) => {
    expect(can({ ...right, namespace: 'team-a' })).toBe(true);
  });

  it.each(NEVER)('may not $verb $resource', (right) => expect(can({ ...right, namespace: 'team-a' })).toBe(false));

  it('writes snapshots into its own namespace alone', () => {
    const right = { verb: 'update', resource: 'configmaps', name: 'demo-snapshot-index' };
    expect(can({ ...right, namespace: 'gw' })).toBe(true);
    expect(can({ ...right, namespace: 'team-a' })).toBe(false);
  });

  it('follows what it published by label, in its own namespace alone', () => {
    for (const verb of ['list', 'watch']) {
      expect(can({ verb, resource: 'configmaps', namespace: 'gw' })).toBe(true);
      expect(can({ verb, resource: 'configmaps', namespace: 'team-a' })).toBe(false);
    }
  });

  it('finds gateways by the slices of its namespace', () => {
    const right = { verb: 'watch', group: 'discovery.k8s.io', resource: 'endpointslices' };
    expect(can({ ...right, namespace: 'gw' })).toBe(true);
    expect(can({ ...right, namespace: 'team-a' })).toBe(false);
  });
});

describeHelm('the operator of named namespaces', () => {
  const release = MATRIX['named namespaces'];
  const objects = render(release);
  const can = (right: Right) => may(objects, 'tenants-operator', right);

  it('has no right that holds for the whole cluster', () => {
    expect(objects.filter(({ kind }) => /^ClusterRole/.test(kind))).toEqual([]);
  });

  it.each(release.values.watchNamespaces)('may do its work in %s', (namespace) => {
    expect(SERVED.filter((right) => !can({ ...right, namespace }))).toEqual([]);
    expect(NEVER.filter((right) => can({ ...right, namespace }))).toEqual([]);
  });

  it('follows what it published in its own namespace, were it not named', () => {
    const elsewhere = render({ ...release, namespace: 'apart' });
    for (const resource of ['configmaps', 'secrets']) {
      const right = { verb: 'watch', resource, namespace: 'apart' };
      expect(may(elsewhere, 'tenants-operator', right)).toBe(true);
    }
    const right = { verb: 'get', resource: 'secrets', name: 'another', namespace: 'apart' };
    expect(may(elsewhere, 'tenants-operator', right)).toBe(false);
  });

  it('may do nothing in another', () => {
    expect([...SERVED, ...NEVER].filter((right) => can({ ...right, namespace: 'team-c' }))).toEqual([]);
  });

  it('is told the same namespaces as its roles', () => {
    const deployment = ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name === 'tenants-operator');
    const args = at<string[]>(deployment, 'spec.template.spec.containers.0.args') ?? [];
    expect(args.filter((arg) => arg.startsWith('--watch-namespace='))).toEqual(
      release.values.watchNamespaces.map((name) => `--watch-namespace=${name}`),
    );
  });
});

describeHelm('rights of users', () => {
  const roles = (objects: readonly Manifest[]) => ofKind(objects, 'ClusterRole').filter(isAggregated);
  const isAggregated = ({ metadata }: Manifest) =>
    Object.keys(metadata.labels ?? {}).some((label) => label.includes('aggregate-to-'));

  it('are nobody else’s by default', () => expect(roles(render(MATRIX.defaults))).toEqual([]));

  it('hold for view, edit and admin where that is asked for, and never for a status', () => {
    const found = roles(render(MATRIX.everything));
    expect(found.map(({ metadata }) => metadata.name.replace(/.*:/, ''))).toEqual(['edit', 'view']);
    const resources = found.flatMap((role) => at<Rule[]>(role, 'rules')?.flatMap((rule) => rule.resources) ?? []);
    expect(resources).toEqual([...KIND_RESOURCES, ...KIND_RESOURCES]);
  });
});

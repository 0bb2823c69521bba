/** What holds for every object of every rendering. */
import { describe, expect, it } from 'vitest';
import { describeHelm } from './describe-helm.ts';
import { render } from './helm.ts';
import { at, type Container, idOf, ofKind, type PodTemplate, podTemplates, selectorOf, selects } from './manifest.ts';
import { CASES, MATRIX, prefixOf } from './matrix.ts';

/** What a pod may take of its node, if it takes anything. */
const OF_NODES = ['hostNetwork', 'hostPID', 'hostIPC'];
const CLUSTER_KINDS = ['ClusterRole', 'ClusterRoleBinding', 'CustomResourceDefinition'];
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

function containersOf({ spec }: PodTemplate): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

describeHelm('every rendering', () => {
  describe.each(CASES)('%s', (_title, release) => {
    const objects = render(release);
    const pods = podTemplates(objects);
    const prefix = prefixOf(release);

    it('has each object once', () => {
      expect(objects.length).toBeGreaterThan(8);
      expect(new Set(objects.map(idOf)).size).toBe(objects.length);
    });

    it('names all by the release, and what is not its own namespace by both', () => {
      for (const object of objects.filter(({ kind }) => kind !== 'CustomResourceDefinition')) {
        const { name, namespace } = object.metadata;
        const isOwn = namespace === release.namespace && !name.startsWith('modelgateway.dev:');
        const expected = isOwn ? prefix : `modelgateway.dev:${release.namespace}:${prefix}`;
        expect(name === expected || /^[-:]/.test(name.slice(expected.length)), name).toBe(true);
        expect(name.startsWith(expected), name).toBe(true);
      }
    });

    it('says the namespace of every object, and of none that has none', () => {
      for (const object of objects) {
        expect(object.metadata.namespace === undefined, idOf(object)).toBe(CLUSTER_KINDS.includes(object.kind));
      }
    });

    it('labels every object and every pod', () => {
      const labelled = [...objects, ...pods.map(([, pod]) => pod)];
      for (const { metadata } of labelled) {
        expect(metadata.labels).toMatchObject({
          'app.kubernetes.io/name': 'model-gateway',
          'app.kubernetes.io/instance': release.name,
          'app.kubernetes.io/version': '0.1.0',
          'app.kubernetes.io/managed-by': 'Helm',
          'helm.sh/chart': 'model-gateway-0.1.0',
        });
      }
    });

    it('has no name or label that is longer than the API server takes', () => {
      for (const { kind, metadata } of objects) {
        const limit = ['Service', 'Deployment', 'Pod'].includes(kind) ? 63 : 253;
        expect(metadata.name.length, metadata.name).toBeLessThanOrEqual(limit);
        for (const value of Object.values(metadata.labels ?? {})) expect(value.length).toBeLessThanOrEqual(63);
      }
    });

    it('runs every container restricted, on a read-only root', () => {
      expect(pods.length).toBe(3);
      for (const [id, pod] of pods) {
        expect(at(pod, 'spec.securityContext'), id).toMatchObject({
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        const contexts = containersOf(pod).map(({ securityContext }) => securityContext);
        expect(contexts, id).toEqual(contexts.map(() => RESTRICTED));
        expect(Object.keys(pod.spec).filter((field) => OF_NODES.includes(field))).toEqual([]);
        expect(JSON.stringify(pod.spec.volumes ?? [])).not.toContain('hostPath');
      }
    });

    it('sets resources for every container', () => {
      for (const [id, pod] of pods) {
        for (const container of containersOf(pod)) {
          expect(at(container, 'resources.requests'), id).toMatchObject({ memory: expect.any(String) });
          expect(at(container, 'resources.limits'), id).toMatchObject({ memory: expect.any(String) });
        }
      }
    });

    it('mounts a token where it is needed, and by the pod alone', () => {
      const values = (release.values ?? {}) as { gateway?: { apiWatch?: boolean } };
      const expected = new Map([
        [`Deployment ${release.namespace}/${prefix}-operator`, true],
        [`Deployment ${release.namespace}/${prefix}-gateway`, values.gateway?.apiWatch ?? true],
        [`Pod ${release.namespace}/${prefix}-test`, false],
      ]);
      expect(new Map(pods.map(([id, { spec }]) => [id, spec.automountServiceAccountToken]))).toEqual(expected);
      const accounts = ofKind(objects, 'ServiceAccount');
      expect(accounts.map(({ automountServiceAccountToken }) => automountServiceAccountToken)).toEqual([false, false]);
    });

    it('has accounts, roles and bindings that fit', () => {
      const ids = new Set(objects.map(idOf));
      for (const binding of [...ofKind(objects, 'RoleBinding'), ...ofKind(objects, 'ClusterRoleBinding')]) {
        const role = at<{ kind: string; name: string }>(binding, 'roleRef');
        const [subject] = at<{ kind: string; name: string; namespace: string }[]>(binding, 'subjects') ?? [];
        const namespace = role?.kind === 'ClusterRole' ? '' : binding.metadata.namespace;
        expect(ids).toContain(`${role?.kind} ${namespace}/${role?.name}`);
        expect(ids).toContain(`${subject?.kind} ${subject?.namespace}/${subject?.name}`);
      }
      for (const [id, { spec }] of pods.filter(([, pod]) => pod.spec.serviceAccountName !== undefined)) {
        expect(ids, id).toContain(`ServiceAccount ${release.namespace}/${spec.serviceAccountName}`);
      }
    });

    it('finds by each selector the pods of one component', () => {
      const selectors = objects.flatMap((object) => {
        const selector = selectorOf(object);
        return selector === undefined ? [] : [[idOf(object), selector] as const];
      });
      expect(selectors.length).toBeGreaterThanOrEqual(3);
      for (const [id, selector] of selectors) {
        const found = pods.filter(([, pod]) => selects(selector, pod.metadata.labels)).map(([pod]) => pod);
        expect(found, id).toHaveLength(1);
        expect(found[0]?.replace(/^\S+ /, ''), id).toBe(id.replace(/^\S+ /, ''));
      }
    });

    it('pulls one image everywhere', () => {
      const images = new Set(pods.flatMap(([, pod]) => containersOf(pod).map(({ image }) => image)));
      expect(images.size).toBe(1);
    });
  });
});

describeHelm('the image', () => {
  const image = (values: object) =>
    podTemplates(render({ name: 'demo', namespace: 'gw', values: { image: values } }))[0]?.[1].spec.containers[0]
      ?.image;

  it.each([
    ['by default', {}, 'model-gateway:0.1.0'],
    ['of a registry', { repository: 'r.example:5000/a/b' }, 'r.example:5000/a/b:0.1.0'],
    ['of another version', { tag: '2.0.0-rc.1' }, 'model-gateway:2.0.0-rc.1'],
    ['pinned', { digest: `sha256:${'a'.repeat(64)}` }, `model-gateway:0.1.0@sha256:${'a'.repeat(64)}`],
  ])('%s', (_title, values, expected) => expect(image(values)).toBe(expected));
});

describeHelm('values of a pod', () => {
  const objects = render(MATRIX.everything);
  const values = MATRIX.everything.values;

  it.each(['operator', 'gateway'] as const)('reach the %s', (component) => {
    const deployment = ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith(component));
    const pod = at<PodTemplate>(deployment, 'spec.template');
    const given = values[component];
    expect(pod?.metadata).toMatchObject({ labels: given.podLabels, annotations: given.podAnnotations });
    expect(pod?.spec).toMatchObject({
      nodeSelector: given.nodeSelector,
      tolerations: given.tolerations,
      affinity: given.affinity,
      priorityClassName: given.priorityClassName,
      imagePullSecrets: values.image.pullSecrets,
      securityContext: { runAsUser: 1234, runAsGroup: 1234, fsGroup: 1234 },
    });
    expect(pod?.spec.volumes).toEqual(expect.arrayContaining([...given.extraVolumes]));
    expect(pod?.spec.topologySpreadConstraints).toEqual([
      expect.objectContaining({ topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' }),
    ]);
    expect(pod?.spec.containers[0]).toMatchObject({
      env: expect.arrayContaining([...given.extraEnv]),
      resources: given.resources,
      imagePullPolicy: 'Always',
      volumeMounts: expect.arrayContaining([...given.extraVolumeMounts]),
    });
    expect(pod?.spec.containers[0]?.args).toContain('--log-level=debug');
  });

  it('that are absent leave nothing behind', () => {
    for (const [id, { spec }] of podTemplates(render(MATRIX.minimal))) {
      for (const field of ['nodeSelector', 'tolerations', 'affinity', 'priorityClassName', 'topologySpreadConstraints'])
        expect(spec[field], id).toBeUndefined();
      expect(spec.securityContext, id).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    }
  });
});

describeHelm('budgets of disruption', () => {
  it('let one pod of each component go at a time', () => {
    const budgets = ofKind(render(MATRIX.defaults), 'PodDisruptionBudget');
    expect(budgets.map(({ metadata, spec }) => [metadata.name, at(spec, 'maxUnavailable')])).toEqual([
      ['demo-gateway', 1],
      ['demo-operator', 1],
    ]);
  });

  it('take a percentage, or are none', () => {
    const [budget] = ofKind(render(MATRIX.everything), 'PodDisruptionBudget');
    expect(at(budget, 'spec.maxUnavailable')).toBe('25%');
    expect(ofKind(render(MATRIX.minimal), 'PodDisruptionBudget')).toEqual([]);
  });
});

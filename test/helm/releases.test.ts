/** Two releases, in one namespace and in one cluster. */
import { describe, expect, it } from 'vitest';
import { describeHelm } from './describe-helm.ts';
import { type Release, render } from './helm.ts';
import { idOf, type Manifest, podTemplates, selectorOf, selects } from './manifest.ts';
import { isAllowed } from './traffic.ts';

const values = {
  rbac: { aggregateToDefaultRoles: true },
  monitoring: { podMonitor: { enabled: true }, rules: { enabled: true }, dashboard: { enabled: true } },
};

/** Names that could be mistaken for each other. */
const PAIRS: readonly (readonly [title: string, Release, Release])[] = [
  ['in one namespace', { name: 'one', namespace: 'gw', values }, { name: 'two', namespace: 'gw', values }],
  ['of one name in two namespaces', { name: 'one', namespace: 'a', values }, { name: 'one', namespace: 'b', values }],
  [
    'whose names and namespaces read the same in one line',
    { name: 'b-c', namespace: 'a', values },
    { name: 'c', namespace: 'a-b', values },
  ],
  [
    'of which one is called like a part of the other',
    { name: 'one', namespace: 'gw', values },
    { name: 'one-gateway', namespace: 'gw', values },
  ],
  [
    'that serve the same namespaces',
    { name: 'one', namespace: 'a', values: { ...values, watchNamespaces: ['team'] } },
    { name: 'one', namespace: 'b', values: { ...values, watchNamespaces: ['team'] } },
  ],
];

/** The CRDs are one in a cluster: the second release leaves them to the first. */
function withoutCrds(release: Release): readonly Manifest[] {
  return render(release).filter(({ kind }) => kind !== 'CustomResourceDefinition');
}

describeHelm('pairs of releases', () => {
  describe.each(PAIRS)('two releases %s', (_title, first, second) => {
    const one = withoutCrds(first);
    const two = withoutCrds(second);

    it('have no object in common', () => {
      const ids = new Set(one.map(idOf));
      expect(ids.size).toBeGreaterThan(15);
      expect(two.map(idOf).filter((id) => ids.has(id))).toEqual([]);
    });

    it('do not select each other’s pods in one namespace', () => {
      const pods = first.namespace === second.namespace ? podTemplates(two) : [];
      const selectors = one.map(selectorOf).filter((selector) => selector !== undefined);
      expect(selectors.length).toBeGreaterThan(5);
      for (const selector of selectors) {
        expect(pods.filter(([, { metadata }]) => selects(selector, metadata.labels))).toEqual([]);
      }
    });

    it('do not let each other at their admin ports', () => {
      const labels = (objects: readonly Manifest[], component: string) =>
        podTemplates(objects).find(([id]) => id.endsWith(`-${component}`))?.[1].metadata.labels ?? {};
      const from = (objects: readonly Manifest[], { namespace }: Release) =>
        isAllowed(one, labels(one, 'gateway'), 'ingress', {
          other: { pod: labels(objects, 'operator'), namespace },
          port: 8788,
        });
      expect(from(one, first)).toBe(true);
      expect(from(two, second)).toBe(false);
    });

    it('write their snapshots and leases apart', () => {
      const args = (objects: readonly Manifest[]) =>
        podTemplates(objects)
          .find(([id]) => id.endsWith('-operator'))?.[1]
          .spec.containers[0]?.args.filter((arg) => /^--(?:release|namespace|lease|gateway-service)=/.test(arg));
      expect(args(one)).toHaveLength(4);
      expect(args(one)).not.toEqual(args(two));
    });
  });
});

/** Controllers and nodes on paper. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OwnCluster, startOwnCluster } from './cluster.ts';
import { NODE_PARTS } from './controllers.ts';
import { describeCluster } from './describe-cluster.ts';

const START_TIMEOUT_MS = 90_000;
const WAIT = '--timeout=25s';

function deployment(name: string, replicas: number): string {
  const labels = { app: name };
  const containers = [{ name: 'main', image: 'registry.example/none:1' }];
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  });
}

describeCluster(
  'controllers and nodes on paper',
  () => {
    let own: OwnCluster;
    let namespace = '';
    const kubectl = (args: readonly string[], input?: string) => own.cluster.kubectl(['-n', namespace, ...args], input);

    beforeAll(async () => {
      own = await startOwnCluster({ fakeNodes: 2 });
      namespace = await own.cluster.namespace('nodes');
    }, START_TIMEOUT_MS);

    afterAll(() => own.plane.stop());

    it('nodes are ready', async () => {
      await kubectl(['wait', '--for=condition=Ready', 'node/node-1', 'node/node-2', WAIT]);
    });

    it('a Deployment is rolled out, and its Service has endpoints', async () => {
      await kubectl(['apply', '-f', '-'], deployment('web', 3));
      await kubectl(['expose', 'deployment', 'web', '--port=80']);
      await kubectl(['rollout', 'status', 'deployment/web', WAIT]);
      const selector = [
        '-l',
        'kubernetes.io/service-name=web',
        '-o',
        'jsonpath={.items[*].endpoints[*].conditions.ready}',
      ];
      await expect
        .poll(() => kubectl(['get', 'endpointslices', ...selector]), { timeout: 20_000 })
        .toBe('true true true');
      const addresses = await kubectl(['get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].status.podIP}']);
      expect(new Set(addresses.split(' ')).size).toBe(3);
    });

    it('a deleted pod is gone, and another takes its place', async () => {
      await kubectl(['apply', '-f', '-'], deployment('healed', 1));
      await kubectl(['rollout', 'status', 'deployment/healed', WAIT]);
      const [first = ''] = (await kubectl(['get', 'pods', '-l', 'app=healed', '-o', 'name'])).split('\n');
      await kubectl(['delete', first, WAIT]);
      await kubectl(['rollout', 'status', 'deployment/healed', WAIT]);
      expect(await kubectl(['get', 'pods', '-l', 'app=healed', '-o', 'name'])).not.toContain(first);
    });

    it('a Job succeeds', async () => {
      await kubectl(['create', 'job', 'once', '--image=registry.example/none:1']);
      await kubectl(['wait', '--for=condition=Complete', 'job/once', WAIT]);
    });

    it('what an object owns goes with it, and a namespace with all that it has', async () => {
      await kubectl(['create', 'configmap', 'owner']);
      const uid = await kubectl(['get', 'configmap', 'owner', '-o', 'jsonpath={.metadata.uid}']);
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
      const owned = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'owned', ownerReferences } };
      await kubectl(['apply', '-f', '-'], JSON.stringify(owned));
      await kubectl(['delete', 'configmap', 'owner', WAIT]);
      await kubectl(['wait', '--for=delete', 'secret/owned', WAIT]);
      await own.cluster.kubectl(['delete', 'namespace', namespace, WAIT]);
    });
  },
  NODE_PARTS,
);

/** The chart on a real API server: what it takes, what helm does with it twice, and what its roles allow. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { KINDS } from '#crds/kinds/kinds.ts';
import { snapshotObjects } from '#crds/snapshot/object-names.ts';
import { type OwnCluster, startOwnCluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { CHART, REPOSITORY, render } from './helm.ts';
import { CASES, prefixOf } from './matrix.ts';

/** Pods are judged by the standard on their way in; Deployments by a warning, which fails the command. */
const RESTRICTED = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
/** A server that has just been told of a kind. */
const TRY_AGAIN = 429;
const CRD_NAMES = KINDS.map(({ plural, group }) => `${plural}.${group}`);
/** Kinds of other projects, which a bare cluster does not have. */
const FOREIGN = ['PodMonitor', 'PrometheusRule'];

describeCluster('the chart on a real API server', () => {
  let own: OwnCluster;

  beforeAll(async () => {
    own = await startOwnCluster();
  }, 90_000);
  afterAll(() => own?.plane.stop());

  const kubectl = (args: readonly string[], input?: string) => own.cluster.kubectl(args, input);
  const helm = (args: readonly string[], values: object = {}) =>
    own.cluster.helm([...args, '--values', '-'], JSON.stringify(values));
  const install = (name: string, namespace: string, values: object = {}) =>
    helm(['install', name, CHART, '--namespace', namespace], values);

  /** A namespace where only restricted pods run. */
  async function namespace(name: string): Promise<string> {
    await kubectl(['apply', '-f', '-'], stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
    await kubectl(['label', '--overwrite', 'namespace', name, ...RESTRICTED]);
    return name;
  }

  async function crdOwners(): Promise<string[]> {
    const path =
      'jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.meta\\.helm\\.sh/release-name}{"\\n"}{end}';
    const text = await kubectl(['get', 'crd', '-o', path]);
    return text.split('\n').filter((line) => line !== '');
  }

  describe('every object is taken, strictly and without a warning', () => {
    it.each(CASES)('%s', { timeout: 60_000 }, async (_title, release) => {
      await namespace(release.namespace);
      const watched = (release.values as { watchNamespaces?: string[] } | undefined)?.watchNamespaces ?? [];
      for (const name of watched) await namespace(name);
      const objects = render(release).filter(({ kind }) => !FOREIGN.includes(kind));
      // The account comes with the release; a dry run leaves none behind for the pod of the test.
      await kubectl(
        ['apply', '-f', '-'],
        stringify({
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: `${prefixOf(release)}-gateway`, namespace: release.namespace },
        }),
      );
      const args = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
      const input = objects.map((object) => stringify(object)).join('---\n');
      const told = await kubectl([...args, '--warnings-as-errors', '-f', '-'], input);
      expect(told.trim().split('\n')).toHaveLength(objects.length);
    });

    it('where a pod that is not restricted would not be', async () => {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'loose', namespace: await namespace('gw') },
        spec: { serviceAccountName: 'demo-gateway', containers: [{ name: 'loose', image: 'x' }] },
      };
      await expect(kubectl(['apply', '--dry-run=server', '-f', '-'], stringify(pod))).rejects.toThrow(
        /violates PodSecurity/,
      );
    });
  });

  describe('helm', { timeout: 60_000 }, () => {
    it('installs, upgrades, and leaves another release’s CRDs alone', async () => {
      const place = await namespace('pair');
      expect(await install('first', place)).not.toContain('These CRDs');
      const told = await install('second', place);
      expect(told).toContain(`These CRDs belong to another release or another tool and were left alone`);
      expect(told).toContain('meta.helm.sh/release-name=second');
      expect(await crdOwners()).toEqual(CRD_NAMES.map((name) => `${name} first`).sort());
      await helm(['upgrade', 'second', CHART, '--namespace', place], { gateway: { replicas: 4 } });
      await helm(['upgrade', 'first', CHART, '--namespace', place], { gateway: { apiWatch: false } });
      expect(await kubectl(['get', 'rolebinding', '-n', place, '-o', 'name'])).not.toContain('/first-gateway');
      expect(await crdOwners()).toEqual(CRD_NAMES.map((name) => `${name} first`).sort());
    });

    it('lets a release take the CRDs over by the commands of the notes', async () => {
      const place = await namespace('pair');
      const told = await helm(['upgrade', 'second', CHART, '--namespace', place]);
      const commands = told.match(/^ {2}kubectl (?:annotate|label) .*$/gm) ?? [];
      expect(commands).toHaveLength(2);
      for (const command of commands) await kubectl(command.trim().split(' ').slice(1));
      expect(await helm(['upgrade', 'second', CHART, '--namespace', place])).not.toContain('These CRDs');
      expect(await crdOwners()).toEqual(CRD_NAMES.map((name) => `${name} second`).sort());
    });

    it('leaves the CRDs and what was made of them when a release goes', async () => {
      const place = await namespace('pair');
      await kubectl(['apply', '-n', place, '-f', join(REPOSITORY, 'crds/examples/quickstart')]);
      await own.cluster.helm(['uninstall', 'first', '--namespace', place]);
      await own.cluster.helm(['uninstall', 'second', '--namespace', place]);
      expect((await crdOwners()).length).toBe(CRD_NAMES.length);
      expect(await kubectl(['get', 'gatewayconfigs', '-n', place, '-o', 'name'])).toContain('/chat');
      expect(await kubectl(['get', 'all,role,clusterrole', '-n', place, '-o', 'name'])).not.toMatch(/first|second/);
    });
  });

  it('the examples are taken in the order of their names', { timeout: 60_000 }, async () => {
    await own.cluster.installCrds();
    const folder = join(REPOSITORY, 'crds', 'examples', 'cluster');
    const told = await kubectl(['apply', '--validate=strict', '--warnings-as-errors', '-f', folder]);
    expect(told.trim().split('\n')).toHaveLength(5);
    expect(told).toMatch(/^namespace\/model-gateway-demo created/);
  });

  describe('the roles of a release', { timeout: 60_000 }, () => {
    const [index] = snapshotObjects('demo', 16);
    const tokens = { operator: '', gateway: '' };

    /** Status of a request by the account of a component. */
    async function asked(component: 'operator' | 'gateway', path: string, method: 'GET' | 'POST' = 'GET', body = {}) {
      const call = { method, path, token: tokens[component], ...(method === 'POST' ? { body } : {}) };
      let status = TRY_AGAIN;
      await waitFor(async () => {
        ({ status } = await own.cluster.request(call));
        return status !== TRY_AGAIN;
      }, 'an API server that has taken in its new kinds');
      return status;
    }

    beforeAll(async () => {
      await namespace('rights');
      await namespace('team-a');
      await namespace('team-b');
      await install('demo', 'rights', { watchNamespaces: ['team-a'] });
      tokens.operator = await own.cluster.tokenFor('rights', 'demo-operator');
      tokens.gateway = await own.cluster.tokenFor('rights', 'demo-gateway');
    }, 60_000);

    it.each([
      ['reads the index', `configmaps/${index?.name}`, 404],
      ['lists the index by its name', `configmaps?fieldSelector=metadata.name%3D${index?.name}`, 200],
      ['reads a shard of keys', 'secrets/demo-keys-15', 404],
      ['reads no shard beyond the last', 'secrets/demo-keys-16', 403],
      ['reads nothing that the operator keeps for itself', 'secrets/demo-accepted-0', 403],
      ['reads no other Secret', 'secrets/another', 403],
      ['lists no ConfigMaps', 'configmaps', 403],
      ['lists no Secrets', 'secrets', 403],
    ])('a gateway %s', async (_title, path, status) => {
      expect(await asked('gateway', `/api/v1/namespaces/rights/${path}`)).toBe(status);
    });

    it('a gateway reads no custom resource, and nothing of another namespace', async () => {
      expect(await asked('gateway', '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys')).toBe(403);
      expect(await asked('gateway', '/api/v1/namespaces/team-a/secrets')).toBe(403);
    });

    it.each(KINDS.map(({ plural }) => plural))(
      'an operator lists %s where it shall, and only there',
      async (plural) => {
        const path = (name: string) => `/apis/modelgateway.dev/v1alpha1/${name}${plural}`;
        expect(await asked('operator', path('namespaces/team-a/'))).toBe(200);
        expect(await asked('operator', path('namespaces/team-b/'))).toBe(403);
        expect(await asked('operator', path(''))).toBe(403);
      },
    );

    it('an operator publishes into its own namespace, and deletes only what is its own', async () => {
      const object = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
      const path = '/api/v1/namespaces/rights/configmaps';
      for (const name of ['demo-snapshot-0', 'another']) {
        expect(await asked('operator', path, 'POST', object(name))).toBe(201);
      }
      const remove = async (name: string) => {
        const call = { method: 'DELETE', path: `${path}/${name}`, token: tokens.operator } as const;
        return (await own.cluster.request(call)).status;
      };
      expect([await remove('demo-snapshot-0'), await remove('another')]).toEqual([200, 403]);
      expect(await asked('operator', '/api/v1/namespaces/team-a/configmaps', 'POST', object('x'))).toBe(403);
    });

    it('an operator writes keys of callers where it shall, and only there', async () => {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'k' } };
      expect(await asked('operator', '/api/v1/namespaces/team-a/secrets', 'POST', secret)).toBe(201);
      expect(await asked('operator', '/api/v1/namespaces/team-b/secrets', 'POST', secret)).toBe(403);
    });
  });
}, ['helm']);

/** The examples for GitOps as its tools build and apply them. */
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { cluster } from '../cluster/cluster.ts';
import { describeCluster } from '../cluster/describe-cluster.ts';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { REPOSITORY } from './helm.ts';
import { at, idOf, type Manifest, only } from './manifest.ts';

const EXAMPLES = join(REPOSITORY, 'crds', 'examples');
/** Folders that a Kustomization or an Application names, and those that are applied by hand. */
const FOLDERS = ['cluster', 'gitops/argocd', 'gitops/flux', 'gitops/flux/release'];

describeCluster('crds/examples by GitOps', () => {
  let folder: Folder;
  beforeAll(async () => {
    folder = makeFolder();
    cpSync(EXAMPLES, folder.at('examples'), { recursive: true });
    await cluster().installCrds();
  }, 60_000);
  afterAll(() => folder?.remove());

  /** With the kustomization that Flux makes for a folder that has none: every file of it. */
  async function build(path: string, more: object = {}): Promise<readonly Manifest[]> {
    const resources = readdirSync(join(EXAMPLES, path)).filter((name) => name.endsWith('.yaml'));
    const kustomization = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources, ...more };
    folder.write(`examples/${path}/kustomization.yaml`, stringify(kustomization));
    const text = await cluster().kubectl(['kustomize', folder.at(`examples/${path}`)]);
    return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  }

  describe.each(FOLDERS)('%s', (path) => {
    it('is built whole', async () => {
      const built = await build(path);
      const files = readdirSync(join(EXAMPLES, path)).filter((name) => name.endsWith('.yaml'));
      expect(built.length).toBeGreaterThanOrEqual(files.length);
      expect(new Set(built.map(idOf)).size).toBe(built.length);
    });
  });

  it('a tenant’s objects are taken, strictly and without a warning, as they are built', async () => {
    const name = await cluster().namespace('gitops');
    const built = (await build('cluster', { namespace: name })).filter(({ kind }) => kind !== 'Namespace');
    expect(built).toHaveLength(4);
    expect(new Set(built.map(({ metadata }) => metadata.namespace))).toEqual(new Set([name]));
    const apply = [
      'apply',
      '--server-side',
      '--dry-run=server',
      '--validate=strict',
      '--warnings-as-errors',
      '-f',
      '-',
    ];
    const told = await cluster().kubectl(apply, built.map((object) => stringify(object)).join('---\n'));
    expect(told.trim().split('\n')).toHaveLength(built.length);
  });

  it('a tenant’s objects that have a status are applied again without a change', async () => {
    const name = await cluster().namespace('gitops');
    const built = (await build('cluster', { namespace: name })).filter(({ kind }) => kind !== 'Namespace');
    // A Secret's stringData is nothing that is ever live.
    const text = built
      .filter(({ kind }) => kind !== 'Secret')
      .map((object) => stringify(object))
      .join('---\n');
    const apply = ['apply', '--server-side', '--field-manager=gitops', '-f', '-'];
    for (const object of (await cluster().kubectl(apply, text)).matchAll(/^(\S+) /gm)) {
      const patch = ['patch', object[1] ?? '', '-n', name, '--subresource=status', '--type=merge'];
      await cluster().kubectl([...patch, '-p', '{"status": {"observedGeneration": 1}}']);
    }
    const versions = async () =>
      cluster().kubectl(['get', 'modelgateway', '-n', name, '-o', 'jsonpath={.items[*].metadata.resourceVersion}']);
    const before = await versions();
    expect(before.split(' ')).toHaveLength(3);
    expect(await cluster().kubectl(['diff', '--server-side', '--field-manager=gitops', '-f', '-'], text)).toBe('');
    await cluster().kubectl(apply, text);
    expect(await versions()).toBe(before);
  });

  it('the ConfigMap for Argo CD is one that it can be merged into', async () => {
    const health = only(await build('gitops/argocd'), 'ConfigMap', 'argocd-cm');
    const namespace = await cluster().namespace('argocd');
    const kubectl = (args: readonly string[], input?: string) => cluster().kubectl(['-n', namespace, ...args], input);
    await kubectl(['create', 'configmap', 'argocd-cm', '--from-literal=url=https://argocd.example']);
    await kubectl(['patch', 'configmap', 'argocd-cm', '--type=merge', '-p', JSON.stringify({ data: health['data'] })]);
    const data = at<object>(JSON.parse(await kubectl(['get', 'configmap', 'argocd-cm', '-o', 'json'])), 'data');
    expect(Object.keys(data ?? {}).sort()).toEqual(['resource.customizations', 'url']);
  });
});

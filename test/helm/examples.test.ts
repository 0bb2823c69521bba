/** The examples for a cluster: valid, applicable in the order of their names, and answering without an account. */
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { chartValues } from '#crds/chart/values.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import { endAll, start } from '../operator/embedded-process.ts';
import { makeFolder } from '../operator/folder.ts';
import { hasHelm, REPOSITORY, template } from './helm.ts';
import { at, idOf, type Manifest, ofKind, only } from './manifest.ts';

const EXAMPLES = join(REPOSITORY, 'crds', 'examples');

function read(path: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  });
}

/** Objects of a folder in the order in which kubectl applies them. */
function readFolder(path: string): readonly Manifest[] {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
  return names.sort().flatMap((name) => read(join(path, name)));
}

describe('crds/examples/cluster', () => {
  const objects = readFolder(join(EXAMPLES, 'cluster'));
  afterEach(endAll);

  it('has what it takes to answer a caller, a Secret and the namespace of all', () => {
    expect(objects.map(({ kind }) => kind).sort()).toEqual(
      ['GatewayConfig', 'Integration', 'ApiKey', 'Namespace', 'Secret'].sort(),
    );
  });

  it('makes the namespace first, and everything in it', () => {
    const [first, ...rest] = objects;
    expect(first?.kind).toBe('Namespace');
    expect(new Set(rest.map(({ metadata }) => metadata.namespace))).toEqual(new Set([first?.metadata.name]));
  });

  it('is what the notes of the chart wait for and read', () => {
    const notes = readFileSync(join(REPOSITORY, 'helm', 'templates', 'NOTES.txt'), 'utf8');
    const [namespace] = objects;
    const key = only(objects, 'ApiKey', 'demo');
    const kinds = KINDS.filter(({ kind }) => objects.some((one) => one.kind === kind)).map(({ plural }) => plural);
    expect(notes).toContain('kubectl apply --filename crds/examples/cluster/');
    expect(notes).toContain(`--namespace ${namespace?.metadata.name} wait --for=condition=Ready ${kinds.join(',')}`);
    expect(notes).toContain(`--namespace ${namespace?.metadata.name} get secret ${key.metadata.name}-api-key`);
  });

  it('answers without an account, after a fallback', async () => {
    const folder = makeFolder();
    cpSync(join(EXAMPLES, 'cluster'), folder.at('objects'), { recursive: true });
    const { origin, out } = await start(folder, ['--manifests', 'objects', '--data', 'state']);
    const ours = objects.filter(({ kind }) => KINDS.some((row) => row.kind === kind));
    for (const object of ours) {
      const line = `^${object.kind} +${object.metadata.namespace}/${object.metadata.name} +True +True +True +True `;
      expect(out()).toMatch(new RegExp(line, 'm'));
    }
    const secret = read(folder.at('state/secrets/model-gateway-demo/demo-api-key.yaml'));
    const key = at<string>(secret[0], 'stringData.api_key') ?? '';
    const answer = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect([answer.status, at(await answer.json(), 'choices.0.message.content')]).toEqual([200, 'Hello']);
  });
});

describe('crds/examples/gitops', () => {
  const argo = readFolder(join(EXAMPLES, 'gitops', 'argocd'));
  const flux = readFolder(join(EXAMPLES, 'gitops', 'flux'));
  const valuesOf = [
    ['Argo CD', at<object>(only(argo, 'Application', 'model-gateway'), 'spec.source.helm.valuesObject')],
    ['Flux', at<object>(only(flux, 'HelmRelease', 'model-gateway'), 'spec.values')],
  ] as const;

  it('has no object twice', () => {
    const ids = [...argo, ...flux].map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names folders that there are', () => {
    const paths = [
      ...ofKind(argo, 'Application').map((object) => at<string>(object, 'spec.source.path')),
      ...ofKind(flux, 'Kustomization').map((object) => at<string>(object, 'spec.path')),
      at<string>(only(flux, 'HelmRelease', 'model-gateway'), 'spec.chart.spec.chart'),
    ];
    expect(paths).toHaveLength(5);
    for (const path of paths) expect(statSync(join(REPOSITORY, path ?? 'nowhere')).isDirectory(), path).toBe(true);
  });

  it.each(valuesOf)('%s gives the chart values that it takes', (_tool, values) => {
    expect(values).toBeDefined();
    expect(chartValues.safeParse(values)).toMatchObject({ success: true });
    if (hasHelm) expect(template({ name: 'x', namespace: 'y', values: values ?? {} }).status).toBe(0);
  });

  it('installs under the release and namespace that it deploys to', () => {
    const release = only(flux, 'HelmRelease', 'model-gateway');
    const [namespace] = ofKind(flux, 'Namespace');
    expect(at(release, 'spec.targetNamespace')).toBe(namespace?.metadata.name);
    expect(at(release, 'spec.storageNamespace')).toBe(namespace?.metadata.name);
  });

  it('waits for the objects with Flux, after the gateway', () => {
    const [gateway, demo] = ['model-gateway', 'model-gateway-demo'].map((name) => only(flux, 'Kustomization', name));
    expect([at(gateway, 'spec.wait'), at(demo, 'spec.wait')]).toEqual([true, true]);
    expect(at(demo, 'spec.dependsOn')).toEqual([{ name: 'model-gateway' }]);
  });

  it('teaches Argo CD the conditions that objects have', () => {
    const text = at<Record<string, string>>(only(argo, 'ConfigMap', 'argocd-cm'), 'data')?.['resource.customizations'];
    const [customization] = parseAllDocuments(text ?? '').map((document) => document.toJS());
    const lua = customization['modelgateway.dev/*']['health.lua'] as string;
    for (const type of ['Accepted', 'ResolvedRefs', 'Ready']) expect(lua).toContain(`condition.type == "${type}"`);
    const words = lua.replaceAll(/"[^"]*"/g, '').match(/\b\w+\b/g) ?? [];
    const opened = words.filter((word) => word === 'if' || word === 'for');
    expect(opened).toHaveLength(words.filter((word) => word === 'end').length);
    expect([...lua.matchAll(/status = "(\w+)"/g)].map(([, status]) => status).sort()).toEqual([
      'Degraded',
      'Healthy',
      'Progressing',
      'Progressing',
    ]);
  });
});

/** The CRDs of the chart are those that are generated, and they stay. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { chartFolders } from '#crds/generate/chart-files.ts';
import { customResourceDefinition } from '#crds/generate/crd.ts';
import { staleFiles } from '#crds/generate/outputs.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import { describeHelm } from './describe-helm.ts';
import { REPOSITORY, render } from './helm.ts';
import { ofKind, only } from './manifest.ts';
import { MATRIX } from './matrix.ts';

describe('generated files of the chart', () => {
  it.each(chartFolders(KINDS).map((folder) => [folder.path, folder] as const))('are current in %s', (path, folder) => {
    expect(folder.files.size).toBeGreaterThan(0);
    expect(staleFiles(`${REPOSITORY}/${path}`, folder.files, folder.isOurs)).toEqual([]);
  });

  it('leave what is written by hand beside them alone', () => {
    const folder = chartFolders(KINDS).find(({ path }) => path === 'helm/');
    expect(folder?.isOurs).toBe(false);
    expect(readFileSync(`${REPOSITORY}/helm/Chart.yaml`, 'utf8')).toContain('apiVersion: v2');
  });

  it('keep braces from helm', () => {
    const [kind] = KINDS;
    if (kind === undefined) throw new Error('no kinds');
    const folders = chartFolders([{ ...kind, plural: 'braces', description: 'Text with {{ braces }}.' }]);
    const text = folders[0]?.files.get('braces.yaml');
    expect(text).toContain('Text with {{ "{{" }} braces }}.');
  });
});

describeHelm('the CRDs', () => {
  it.each(KINDS.map((kind) => [kind.kind, kind] as const))('of %s says what is generated', (_kind, kind) => {
    const expected = JSON.parse(JSON.stringify(customResourceDefinition(kind)));
    const { metadata, ...rest } = only(
      render(MATRIX.defaults),
      'CustomResourceDefinition',
      `${kind.plural}.${kind.group}`,
    );
    const { metadata: _own, ...body } = expected;
    expect(rest).toEqual(body);
    expect(metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  });

  it('are all there, or none', () => {
    expect(ofKind(render(MATRIX.defaults), 'CustomResourceDefinition')).toHaveLength(KINDS.length);
    expect(ofKind(render(MATRIX.minimal), 'CustomResourceDefinition')).toEqual([]);
  });
});

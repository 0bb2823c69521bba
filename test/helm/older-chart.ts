/** Charts as users have them installed who upgrade to this one. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { type Folder, makeFolder } from '../operator/folder.ts';
import { CHART, REPOSITORY } from './helm.ts';

/** Field and printer column of ApiKey that the older chart lacks. */
export const NEW_FIELD = 'disabled';
export const NEW_COLUMN = 'Expires';
export const OLDER_VERSION = '0.0.9';

/** Our chart, a version older: the CRD of ApiKey lacks a field and a column. The chart is in `chart`. */
export function olderChart(): Folder {
  const folder = makeFolder();
  cpSync(CHART, folder.at('chart'), { recursive: true });
  edit(folder.at('chart/Chart.yaml'), /^version: .*$/m, `version: ${OLDER_VERSION}`);
  const crd = folder.at('chart/templates/crds/apikeys.yaml');
  edit(crd, new RegExp(`^( +)${NEW_FIELD}:\\n(?:\\1 +.*\\n)+`, 'm'), '');
  edit(crd, new RegExp(`^( +)- name: ${NEW_COLUMN}\\n(?:\\1 +.*\\n)+`, 'm'), '');
  return folder;
}

/** The chart of the commit before, in `helm`; undefined where there is no history at hand, or no chart in it. */
export function chartOfCommitBefore(): Folder | undefined {
  const archive = spawnSync('git', ['archive', 'HEAD~1', 'helm'], { cwd: REPOSITORY, maxBuffer: 2 ** 27 });
  if (archive.status !== 0) return undefined;
  const folder = makeFolder();
  const unpacked = spawnSync('tar', ['-x', '-C', folder.path], { input: archive.stdout });
  if (unpacked.status === 0) return folder;
  folder.remove();
  return undefined;
}

/** Throws where there is nothing to change. */
function edit(path: string, from: RegExp, to: string): void {
  const before = readFileSync(path, 'utf8');
  const after = before.replace(from, to);
  if (after === before) throw new Error(`${path} has nothing that matches ${from}`);
  writeFileSync(path, after);
}

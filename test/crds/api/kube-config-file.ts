/** A kubeconfig as a user has it, in a folder of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface KubeConfigEntries {
  readonly cluster?: object;
  readonly user?: object;
  readonly namespace?: string;
}

/** A folder that is gone after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kube-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function write(folder: string, name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
}

/** Path of a file whose context `one` is current; a context `other` has the cluster `https://other.example`. */
export function kubeConfigFile(entries: KubeConfigEntries, folder = newFolder()): string {
  const { cluster = {}, user = {}, namespace } = entries;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'one',
    clusters: [
      { name: 'c', cluster: { server: 'https://one.example:6443', ...cluster } },
      { name: 'd', cluster: { server: 'https://other.example' } },
    ],
    users: [
      { name: 'u', user },
      { name: 'v', user: { token: 'of-v' } },
    ],
    contexts: [
      { name: 'one', context: { cluster: 'c', user: 'u', ...(namespace === undefined ? {} : { namespace }) } },
      { name: 'other', context: { cluster: 'd', user: 'v', namespace: 'elsewhere' } },
      { name: 'no-cluster', context: { cluster: 'x', user: 'u' } },
      { name: 'no-user', context: { cluster: 'c', user: 'x' } },
    ],
  };
  return write(folder, 'config', JSON.stringify(config));
}

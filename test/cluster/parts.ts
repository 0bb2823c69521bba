/** The programs that a control plane is made of: where they come from, and where they are on this machine. */
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

interface PartRow {
  /** Folder beside this file that has the Go module. */
  readonly module: 'etcd' | 'kubernetes' | 'helm';
  /** What the module requires, by which its version is known. */
  readonly requires: string;
  /** Main package of the program. */
  readonly package: string;
}

function kubernetesPart(name: string): PartRow {
  return { module: 'kubernetes', requires: 'k8s.io/kubernetes', package: `k8s.io/kubernetes/cmd/${name}` };
}

export const PART_ROWS = {
  etcd: { module: 'etcd', requires: 'go.etcd.io/etcd/server/v3', package: 'go.etcd.io/etcd/server/v3' },
  'kube-apiserver': kubernetesPart('kube-apiserver'),
  kubectl: kubernetesPart('kubectl'),
  'kube-controller-manager': kubernetesPart('kube-controller-manager'),
  'kube-scheduler': kubernetesPart('kube-scheduler'),
  helm: { module: 'helm', requires: 'helm.sh/helm/v4', package: 'helm.sh/helm/v4/cmd/helm' },
  kwok: { module: 'helm', requires: 'sigs.k8s.io/kwok', package: 'sigs.k8s.io/kwok/cmd/kwok' },
} as const satisfies Readonly<Record<string, PartRow>>;

export type Part = keyof typeof PART_ROWS;

export const PARTS = Object.keys(PART_ROWS) as readonly Part[];

/** What every cluster needs. */
export const CORE_PARTS: readonly Part[] = ['etcd', 'kube-apiserver', 'kubectl'];

/** Paths of the programs that this machine has; a part that it has not is absent. */
export type FoundParts = Readonly<Partial<Record<Part, string>>>;

type Environment = Readonly<Record<string, string | undefined>>;

export function moduleFolder(part: Part): string {
  return join(import.meta.dirname, PART_ROWS[part].module);
}

/** As its go.mod requires it, e.g. `v1.36.3`. */
export function versionOf(part: Part): string {
  const { requires } = PART_ROWS[part];
  const lines = readFileSync(join(moduleFolder(part), 'go.mod'), 'utf8').split('\n');
  const version = lines
    .map((line) =>
      line
        .trim()
        .split(/\s+/)
        .filter((word) => word !== 'require'),
    )
    .find(([name]) => name === requires)?.[1];
  if (version === undefined) throw new Error(`${moduleFolder(part)}/go.mod must require ${requires}`);
  return version;
}

/** Where a part is built to: outside the work tree, one folder for each version. */
export function cachedPath(part: Part, env: Environment): string {
  const cache = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const { requires } = PART_ROWS[part];
  const name = requires.split('/').find((word) => ['kubernetes', 'etcd', 'kwok'].includes(word)) ?? 'helm';
  return join(cache, 'model-gateway', `${name}-${versionOf(part)}-${process.platform}-${process.arch}`, part);
}

/** The user's own, in the folder KUBEBUILDER_ASSETS, come before built ones. */
export function findParts(env: Environment): FoundParts {
  const assets = env.KUBEBUILDER_ASSETS;
  const rows = PARTS.flatMap((part) => {
    const places = [...(assets ? [join(assets, part)] : []), cachedPath(part, env)];
    const path = places.find(isProgram);
    return path === undefined ? [] : [[part, path] as const];
  });
  return Object.fromEntries(rows);
}

/** Path of a program on the PATH; undefined: there is none. */
export function onPath(program: string, env: Environment): string | undefined {
  const folders = (env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The service accounts and roles of a rendered release on an API server, and how their bearers reach it. */
import { stringify } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { writeKubeconfig } from '../cluster/cluster-access.ts';
import { type Release, render } from '../helm/helm.ts';
import type { Component } from '../helm/running.ts';

const KINDS: ReadonlySet<string> = new Set(['ServiceAccount', 'Role', 'RoleBinding']);

/** The release must watch namespaces by name: then its rights are in namespaces alone. */
export async function grant(cluster: Cluster, release: Release): Promise<void> {
  const objects = render(release).filter(({ kind }) => KINDS.has(kind));
  await cluster.kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
}

/** Path of a kubeconfig with a token of the component's account. `origin`: another way to the API server. */
export async function kubeconfigOf(
  { cluster, release }: { readonly cluster: Cluster; readonly release: Release },
  component: Component,
  origin: string = cluster.origin,
): Promise<string> {
  const { name, namespace } = release;
  const token = await cluster.tokenFor(namespace, `${name}-${component}`);
  const port = new URL(origin).port;
  return writeKubeconfig({ ...cluster.access, origin }, `${namespace}-${component}-${port}`, token, namespace);
}

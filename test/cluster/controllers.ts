/** What makes objects come to life: controllers, a scheduler, and nodes whose pods run on paper. */
import { join } from 'node:path';
import { askApi, callApi } from './cluster-access.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Part } from './parts.ts';

export const CONTROLLER_PARTS: readonly Part[] = ['kube-controller-manager'];
export const NODE_PARTS: readonly Part[] = ['kube-controller-manager', 'kube-scheduler', 'kwok'];

const STAGES = join(import.meta.dirname, 'stages.yaml');

/** Garbage collection, deletion of namespaces, service accounts, Deployments, EndpointSlices and the rest. */
export async function startControllers(plane: ControlPlane): Promise<void> {
  const { folder, kubeconfig } = plane.access;
  plane.run('kube-controller-manager', [
    ...clientArguments(kubeconfig),
    `--service-account-private-key-file=${join(folder, 'sa.key')}`,
    `--root-ca-file=${plane.access.caFile}`,
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ]);
  await plane.until('the controllers to work', async () => {
    const account = await callApi(plane.access, { path: '/api/v1/namespaces/default/serviceaccounts/default' });
    return account.status === 200;
  });
}

/** Nodes `node-1` ...: a pod that is scheduled there is Running and Ready at once, a deleted one is gone at once. */
export async function startFakeNodes(plane: ControlPlane, count: number): Promise<void> {
  const { kubeconfig } = plane.access;
  plane.run('kube-scheduler', clientArguments(kubeconfig));
  plane.run('kwok', [
    `--kubeconfig=${kubeconfig}`,
    '--manage-all-nodes=true',
    `--config=${STAGES}`,
    '--node-lease-duration-seconds=40',
  ]);
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`);
  for (const name of names)
    await askApi(plane.access, { method: 'POST', path: '/api/v1/nodes', body: nodeObject(name) });
  await plane.until('the nodes to be ready', async () => {
    const { items } = await askApi(plane.access, { path: '/api/v1/nodes' });
    return (items as readonly Node[]).filter(isReady).length === count;
  });
}

interface Node {
  readonly spec?: { readonly taints?: readonly unknown[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** A new node is tainted until the controllers have seen it ready. */
function isReady({ spec, status }: Node): boolean {
  const ready = (status?.conditions ?? []).some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  );
  return ready && (spec?.taints ?? []).length === 0;
}

function nodeObject(name: string): object {
  const capacity = { cpu: '16', memory: '64Gi', pods: '110' };
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status: { capacity, allocatable: capacity } };
}

function clientArguments(kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
    '--leader-elect=false',
  ];
}

/** Flags of the two servers of a control plane. Everything is on loopback and in one folder. */
import { join } from 'node:path';

export interface Ports {
  /** Of the API server. */
  readonly port: number;
  readonly etcdPort: number;
  readonly peerPort: number;
}

export interface Place extends Ports {
  /** Where data, keys, tokens and certificates are. */
  readonly folder: string;
}

export function etcdFlags({ folder, etcdPort, peerPort }: Place): string[] {
  const clients = `http://127.0.0.1:${etcdPort}`;
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${clients}`,
    `--advertise-client-urls=${clients}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

export interface ServerOptions {
  readonly watchCache: boolean;
  /** Notes every request in `audit.log`, by the policy in `audit.json`. */
  readonly audit: boolean;
}

export function apiServerFlags({ folder, port, etcdPort, watchCache, audit }: Place & ServerOptions): string[] {
  const auditFlags = [
    `--audit-log-path=${join(folder, 'audit.log')}`,
    `--audit-policy-file=${join(folder, 'audit.json')}`,
    '--audit-log-mode=blocking',
  ];
  return [
    ...(audit ? auditFlags : []),
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    // Signs its own certificate into this folder, which is kept for the next start.
    `--cert-dir=${folder}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--endpoint-reconciler-type=none',
    '--authorization-mode=RBAC',
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
    `--watch-cache=${watchCache}`,
    '--profiling=false',
  ];
}

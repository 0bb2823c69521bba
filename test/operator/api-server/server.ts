/** A server that the rules are tried on: the one in memory, or a real one. */
import { ApiClient } from '#crds/api/api-client.ts';
import { loadCluster } from '#crds/api/kube-config.ts';
import type { Transport } from '#crds/api/transport.ts';
import { undiciTransport } from '#crds/api/undici-transport.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { startApiServer } from '../../fakes/api-server/api-server.ts';
import { NAMESPACES } from '../../fakes/api-server/resources.ts';
import { Asking } from './asking.ts';

export interface RuleServer {
  /** In a namespace of its own. */
  asking(): Promise<Asking>;
  /** Forgets what happened. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

export interface Rule {
  readonly name: string;
  readonly run: (asking: Asking, server: Pick<RuleServer, 'compact'>) => Promise<unknown>;
}

export function inMemory(): RuleServer {
  const server = startApiServer();
  return serverOf(
    server.transport('rules'),
    async () => server.compact(),
    async () => server.close(),
  );
}

/** `compact`: of a control plane of one's own. */
export async function inCluster(cluster: Cluster, compact?: () => Promise<void>): Promise<RuleServer> {
  await cluster.installCrds();
  const transport = undiciTransport(await loadCluster({ kubeconfig: cluster.kubeconfig }));
  const shared = () => Promise.reject(new Error('the shared server is not compacted'));
  return serverOf(transport, compact ?? shared, () => transport.close());
}

let count = 0;

function serverOf(transport: Transport, compact: () => Promise<void>, close: () => Promise<void>): RuleServer {
  const client = new ApiClient(transport);
  return {
    compact,
    close,
    async asking() {
      count += 1;
      const name = `rule-${process.pid}-${count}-${Math.random().toString(36).slice(2, 7)}`;
      const { apiVersion, kind } = NAMESPACES;
      await client.create(NAMESPACES, { apiVersion, kind, metadata: { name } }, 'rules');
      return new Asking(transport, name);
    },
  };
}

/** Lines of all answers; what went wrong in the rule itself is thrown. */
export async function linesOf(rule: Rule, server: RuleServer): Promise<readonly string[]> {
  const asking = await server.asking();
  await rule.run(asking, server);
  return asking.lines;
}

/** Where the API server is and who asks it, from a kubeconfig file or from a pod's service account. */
import { type Cluster as ClusterEntry, KubeConfig, type User } from '@kubernetes/client-node';
import { type ClusterTls, credentialsOf, firstLine } from './cluster-credentials.ts';

export interface LoadClusterOptions {
  /** Path of a kubeconfig file. Default: what KUBECONFIG names, `~/.kube/config`, or the pod's service account. */
  readonly kubeconfig?: string | undefined;
  /** Of the file. Default: its current one. */
  readonly context?: string | undefined;
}

export interface Cluster {
  /** `https://host:port`, without a path. */
  readonly origin: string;
  readonly tls: ClusterTls;
  /** Of the context, or the service account's. */
  readonly namespace: string;
  /** Value of the Authorization header; undefined: a certificate says who asks. Rejects where a token cannot be had. */
  authorization(): Promise<string | undefined>;
  /** The server refused this one: unless there is another by now, the next is taken from its source. */
  refused(authorization: string | undefined): void;
}

/** Name that KubeConfig gives to the context which it makes up where there is none. */
const MADE_UP_CONTEXT = 'loaded-context';
/** Rejects with one line that says what is wrong, and where. */
export async function loadCluster(options: LoadClusterOptions = {}): Promise<Cluster> {
  const { cluster, user, namespace } = entriesOf(load(options));
  const credentials = credentialsOf(() => load(options), user);
  return {
    origin: originOf(cluster),
    tls: await credentials.tls(),
    namespace,
    authorization: () => credentials.authorization(),
    refused: (authorization) => credentials.refused(authorization),
  };
}

function load({ kubeconfig, context }: LoadClusterOptions): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    const file = kubeconfig === undefined ? 'kubeconfig' : `kubeconfig ${kubeconfig}`;
    throw new Error(`the ${file} cannot be read: ${firstLine(cause)}`, { cause });
  }
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}

interface Entries {
  readonly cluster: ClusterEntry;
  readonly user: User;
  readonly namespace: string;
}

function entriesOf(config: KubeConfig): Entries {
  const name = config.getCurrentContext();
  if (name === MADE_UP_CONTEXT) {
    throw new Error('there is no cluster: this is no pod with a service account, and there is no kubeconfig');
  }
  if (!name) throw new Error('the kubeconfig has no current-context: name one of its contexts');
  const context = config.getContextObject(name);
  if (context === null) {
    const names = config.getContexts().map((one) => one.name);
    throw new Error(`the kubeconfig has no context ${name}; it has ${names.join(', ') || 'none'}`);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(`the kubeconfig's context ${name} names the cluster ${context.cluster}, which it has not`);
  const user = config.getCurrentUser();
  if (user === null)
    throw new Error(`the kubeconfig's context ${name} names the user ${context.user}, which it has not`);
  return { cluster: supported(cluster), user: permitted(user), namespace: context.namespace?.trim() || 'default' };
}

function supported(cluster: ClusterEntry): ClusterEntry {
  if (!cluster.proxyUrl) return cluster;
  throw new Error(`the kubeconfig's cluster ${cluster.name} has a proxy-url, which is not supported`);
}

/** To leave the impersonation out would be to ask with more rights than were meant. */
function permitted(user: User): User {
  if (!user.impersonateUser) return user;
  throw new Error(`the kubeconfig's user ${user.name} impersonates another (as), which is not supported`);
}

function originOf({ name, server }: ClusterEntry): string {
  const url = URL.parse(server);
  if (url === null || url.hostname === 'undefined') {
    throw new Error(`the server of the cluster ${name} is no URL: ${server}`);
  }
  if (url.pathname !== '/')
    throw new Error(`the server of the cluster ${name} has a path, which is not supported: ${server}`);
  return url.origin;
}

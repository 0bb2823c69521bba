/** Redis servers of a test: one, a cluster, one with a sentinel, one with TLS. They end with the process that started them. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePorts } from '../../cluster/free-ports.ts';
import { GuardedFolder, GuardedProcess } from '../../cluster/guarded-process.ts';
import { newAuthority } from '../../crds/api/certificate.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { redisProgram } from './describe-redis.ts';

export interface RedisNode {
  readonly port: number;
  readonly process: GuardedProcess;
  /** For the test's own commands. */
  readonly client: Redis;
}

export interface RedisServers {
  /** As `--store` takes it. */
  readonly url: string;
  /** File of the certificate that theirs lead to. */
  readonly caFile: string | undefined;
  readonly nodes: readonly RedisNode[];
  stop(): Promise<void>;
}

const START_MS = 20_000;

class Servers implements RedisServers {
  url = '';
  caFile: string | undefined;
  readonly nodes: RedisNode[] = [];
  readonly #folder = new GuardedFolder(mkdtempSync(join(tmpdir(), 'model-gateway-redis-')));

  async start(port: number, settings: readonly string[] = [], client = {}): Promise<RedisNode> {
    const folder = join(this.#folder.path, String(port));
    mkdirSync(folder);
    const file = join(folder, 'redis.conf');
    writeFileSync(file, `${['bind 127.0.0.1', 'save ""', `dir ${folder}`, ...settings].join('\n')}\n`);
    const program = redisProgram() ?? 'redis-server';
    const sentinel = settings.some((line) => line.startsWith('sentinel ')) ? ['--sentinel'] : [];
    const process = new GuardedProcess('redis', program, [file, ...sentinel], join(folder, 'log'));
    const own = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50, maxRetriesPerRequest: null, ...client });
    own.on('error', () => undefined);
    const node = { port, process, client: own };
    this.nodes.push(node);
    await waitFor(async () => process.isRunning && (await own.ping()) === 'PONG', `a Redis at ${port}`, START_MS);
    return node;
  }

  path(name: string, text: string): string {
    const path = join(this.#folder.path, name);
    writeFileSync(path, text);
    return path;
  }

  async stop(): Promise<void> {
    for (const { client } of this.nodes) client.disconnect();
    await Promise.all(this.nodes.map(({ process }) => process.kill()));
    this.#folder.remove();
  }
}

/** `port`: where it listens; a free one by default. */
export async function startRedis(settings: readonly string[] = [], port?: number): Promise<RedisServers> {
  const servers = new Servers();
  const at = port ?? (await freePort());
  await servers.start(at, [`port ${at}`, ...settings]);
  servers.url = `redis://127.0.0.1:${at}`;
  return servers;
}

/** Speaks TLS alone; its certificate is of an authority that nobody else knows. */
export async function startTlsRedis(): Promise<RedisServers> {
  const servers = new Servers();
  const authority = newAuthority('stores');
  const { cert, key } = authority.issue('127.0.0.1');
  const port = await freePort();
  servers.caFile = servers.path('ca.pem', authority.cert);
  const files = [`tls-cert-file ${servers.path('cert.pem', cert)}`, `tls-key-file ${servers.path('key.pem', key)}`];
  const tls = ['port 0', `tls-port ${port}`, ...files, `tls-ca-cert-file ${servers.caFile}`, 'tls-auth-clients no'];
  await servers.start(port, [...tls, 'requirepass se:cret/1'], { tls: { ca: authority.cert }, password: 'se:cret/1' });
  servers.url = `rediss://:${encodeURIComponent('se:cret/1')}@127.0.0.1:${port}`;
  return servers;
}

/** Three masters. */
export async function startRedisCluster(): Promise<RedisServers> {
  const servers = new Servers();
  const ports = (await freePorts(6)).map(String);
  const [first, second, third] = await Promise.all(
    [0, 1, 2].map((at) => {
      const bus = `cluster-port ${ports[at + 3]}`;
      return servers.start(Number(ports[at]), [`port ${ports[at]}`, 'cluster-enabled yes', bus]);
    }),
  );
  const nodes = [first, second, third].filter((node) => node !== undefined);
  const bounds = [0, 5461, 10_923, 16_384];
  for (const [at, { client }] of nodes.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', bounds[at] ?? 0, (bounds[at + 1] ?? 0) - 1);
    await client.call('CLUSTER', 'MEET', '127.0.0.1', ports[0] ?? '', ports[3] ?? '');
  }
  const isWhole = async (node: RedisNode) => {
    const info = String(await node.client.call('CLUSTER', 'INFO'));
    return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3');
  };
  for (const node of nodes) await waitFor(() => isWhole(node), 'a whole cluster', START_MS);
  servers.url = `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  return servers;
}

/** A master, its replica, and a sentinel that needs nobody's consent. Nodes in this order. */
export async function startSentinelRedis(): Promise<RedisServers> {
  const servers = new Servers();
  const [master = 0, replica = 0, sentinel = 0] = await freePorts(3);
  await servers.start(master, [`port ${master}`, 'repl-diskless-sync-delay 0']);
  await servers.start(replica, [`port ${replica}`, `replicaof 127.0.0.1 ${master}`]);
  const { client } = await servers.start(sentinel, [
    `port ${sentinel}`,
    `sentinel monitor counts 127.0.0.1 ${master} 1`,
    'sentinel down-after-milliseconds counts 1000',
    'sentinel failover-timeout counts 3000',
  ]);
  const knowsReplica = async () => {
    const [found] = (await client.call('SENTINEL', 'REPLICAS', 'counts')) as string[][];
    return found?.includes(String(replica)) === true && found.includes('slave');
  };
  await waitFor(knowsReplica, 'a sentinel that knows the replica', START_MS);
  servers.url = `redis+sentinel://127.0.0.1:${sentinel}/counts`;
  return servers;
}

/** What tells the counts of one test from those of others. */
export function newPrefix(): string {
  return `test-${randomUUID()}`;
}

async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

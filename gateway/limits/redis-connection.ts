/** A connection to a shared store: scripts run there, and what went wrong has a name. */
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { StoreAddress } from '#crds/command/store-address.ts';
import { SCRIPTS, type ScriptName } from './redis-scripts.ts';

/** Why a store does not do what it should. */
export type FaultReason = keyof typeof FAULTS;

/** By the word that an error begins with or has in it; the first that fits. */
const FAULTS = {
  readonly: /^READONLY|^-?MISCONF|NOREPLICAS/,
  wrong_type: /WRONGTYPE/,
  loading: /^LOADING|^BUSY|MASTERDOWN/,
  cluster_down: /CLUSTERDOWN|^MOVED|^ASK|^TRYAGAIN|Cluster/,
  refused: /^NOAUTH|^WRONGPASS|^NOPERM|^OOM|ERR AUTH/,
  script: /^ERR/,
  timeout: /^timeout$/,
  slow: /^slow$/,
  flushed: /^flushed$/,
  disconnected: /(?:)/,
} as const;

export function faultReason({ message }: Error): FaultReason {
  const found = Object.entries(FAULTS).find(([, pattern]) => pattern.test(message));
  return (found?.[0] ?? 'disconnected') as FaultReason;
}

export interface ConnectionOptions {
  readonly address: StoreAddress;
  /** PEM certificates that a TLS server's must lead to; default: those that Node.js trusts. */
  readonly ca: string | undefined;
}

export type Reply = string | number | null | readonly Reply[];

const CONNECT_MS = 1000;
const MAX_RETRY_MS = 500;
const RETRY_STEP_MS = 50;

export class RedisConnection {
  readonly #client: Redis | Cluster;

  /** Connects, and goes on trying. */
  constructor(options: ConnectionOptions) {
    this.#client = open(options);
    // Of what fails, each call tells; this is for those that nobody called for.
    this.#client.on('error', () => undefined);
  }

  /** Rejects with the store's error, or at once where there is no connection. `keys` come first. */
  async run(name: ScriptName, keys: readonly string[], values: readonly (string | number)[]): Promise<Reply> {
    const { sha1, lua } = SCRIPTS[name];
    try {
      return (await this.#client.evalsha(sha1, keys.length, ...keys, ...values)) as Reply;
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return (await this.#client.eval(lua, keys.length, ...keys, ...values)) as Reply;
    }
  }

  /** So that no call has to be made twice, and none overtakes another by it. `key`: one of those that scripts will have. */
  async load(key: string): Promise<void> {
    await Promise.all(Object.values(SCRIPTS).map(({ lua }) => this.#client.eval(lua, 1, key)));
  }

  /** Names of the fields of a hash. */
  fields(key: string): Promise<readonly string[]> {
    return this.#client.hkeys(key);
  }

  /** A value as it lies there; null: none does. */
  value(key: string): Promise<Buffer | null> {
    return this.#client.getBuffer(key);
  }

  /** `lifeMs`: whole milliseconds; undefined: for ever. `onlyNew`: what is there stays. */
  async keep(
    key: string,
    value: Buffer,
    { lifeMs, onlyNew }: { readonly lifeMs?: number; readonly onlyNew?: boolean },
  ): Promise<void> {
    const life = lifeMs === undefined ? [] : ['PX', lifeMs];
    await this.#client.call('SET', key, value, ...life, ...(onlyNew === true ? ['NX'] : []));
  }

  remove(key: string): Promise<number> {
    return this.#client.del(key);
  }

  /** What waits is given up, and a new connection is made: the server may be another one by now. */
  reconnect(): void {
    this.#client.disconnect(true);
  }

  close(): void {
    this.#client.disconnect();
  }
}

function open({ address, ca }: ConnectionOptions): Redis | Cluster {
  const { kind, isTls, nodes, database, master, username, password } = address;
  const tls = isTls ? { tls: ca === undefined ? {} : { ca } } : {};
  const options = {
    ...tls,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    connectTimeout: CONNECT_MS,
    // What cannot be sent now, or was not answered, is the caller's: it has gone on without.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: retryMs,
  } satisfies RedisOptions;
  const [node = { host: 'localhost', port: 6379 }] = nodes;
  if (kind === 'cluster') return new Cluster([...nodes], clusterOptions(options));
  if (kind === 'single') return new Redis({ ...options, ...node, db: database });
  const atSentinels = password === undefined ? {} : { sentinelPassword: password };
  const sentinelTls = isTls ? { enableTLSForSentinelMode: true, sentinelTLS: tls.tls ?? {} } : {};
  return new Redis({
    ...options,
    ...{ sentinels: [...nodes], name: master, db: database, sentinelRetryStrategy: retryMs },
    ...atSentinels,
    ...sentinelTls,
  });
}

function clusterOptions<T extends RedisOptions>(redisOptions: T) {
  return {
    redisOptions,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryMs,
    slotsRefreshTimeout: CONNECT_MS,
    // Names of nodes in certificates are those that the cluster announces.
    dnsLookup: (address, callback) => callback(null, address),
  } satisfies ClusterOptions;
}

function retryMs(times: number): number {
  return Math.min(times * RETRY_STEP_MS, MAX_RETRY_MS);
}

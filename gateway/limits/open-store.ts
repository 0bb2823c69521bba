/** From flags to the place where limits are counted. */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Log } from '#crds/command/log.ts';
import { type StoreAddress, shownAddress } from '#crds/command/store-address.ts';
import type { BudgetUse } from './memory-store.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { Share } from './share.ts';
import type { LimitStore } from './store.ts';

/** A store as a gateway runs it. */
export interface GatewayStore extends LimitStore {
  /** Default `own`: it counts what this process does. `total`: what all replicas do. */
  readonly mode?: 'own' | 'total';
  /** Default `ok`. `degraded`: it does not keep its promise now. */
  state?(): 'ok' | 'degraded';
  /** What went wrong since the process began, by reason. */
  faults?(): ReadonlyMap<string, number>;
  /** What was used of each budget. */
  usage?(): Iterable<BudgetUse>;
}

/** What a gateway gives to a store. */
export interface StoreTools {
  /** This replica's part of limits that no store counts for all. */
  readonly share: () => Share;
  readonly log: Pick<Log, 'event'>;
}

/** Rejects with a `StoreProblem` where it cannot be had. */
export type OpenStore = (tools: StoreTools) => Promise<GatewayStore>;

/** A flag that cannot be followed: the message names it and says why. */
export class StoreProblem extends Error {
  override readonly name = 'StoreProblem';
}

export interface SharedStoreOptions {
  readonly address: StoreAddress;
  /** What tells this installation from others that use the same store. */
  readonly prefix: string;
  readonly passwordFile: string | undefined;
  readonly caFile: string | undefined;
  readonly timeoutMs: number;
}

export type ConnectionTo = Pick<SharedStoreOptions, 'address' | 'passwordFile' | 'caFile'>;

/** Rejects with a `StoreProblem` where a file cannot be read; whether the store answers is not waited for. */
export async function openConnection({ address, passwordFile, caFile }: ConnectionTo): Promise<RedisConnection> {
  const filePassword = await textOf('--store-password-file', passwordFile);
  const password = filePassword?.trimEnd() ?? address.password;
  const ca = await textOf('--store-ca-file', caFile);
  // Loaded here: where no store is shared, its client need not be.
  const connections = await import('./redis-connection.ts');
  return new connections.RedisConnection({ address: { ...address, password }, ca });
}

/** A store of all replicas. One that is away does not keep a gateway from starting. */
export function sharedStore(options: SharedStoreOptions): OpenStore {
  const { address, prefix, timeoutMs } = options;
  return async ({ share, log }) => {
    const connection = await openConnection(options);
    const { RedisCounts } = await import('./redis-counts.ts');
    const { FallbackStore } = await import('./fallback-store.ts');
    const store = new FallbackStore({ shared: new RedisCounts(connection, prefix), log, share, timeoutMs });
    await store.start();
    log.event('info', 'limits are counted for all replicas', { store: shownAddress(address), state: store.state() });
    return store;
  };
}

/** Counts of this process that outlive it, in the SQLite file `path`; its directory is made. */
export function keptStore(path: string): OpenStore {
  return async ({ log }) => {
    const { SqliteStore } = await import('./sqlite-store.ts');
    try {
      await mkdir(dirname(path), { recursive: true });
      return new SqliteStore({ path, log });
    } catch (error) {
      throw new StoreProblem(`--data: usage cannot be kept in ${path}: ${(error as Error).message}`);
    }
  };
}

async function textOf(flag: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new StoreProblem(`${flag}: ${path} cannot be read: ${(error as Error).message}`);
  }
}

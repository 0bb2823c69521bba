/** From flags to the cache of a gateway. */
import { readFile } from 'node:fs/promises';
import type { EmbeddingModel } from '#crds/command/embedding-model.ts';
import type { Log } from '#crds/command/log.ts';
import { openConnection, type SharedStoreOptions, StoreProblem } from '../limits/open-store.ts';
import type { Connections } from '../upstream/connections.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import { AnswerCache } from './answer-cache.ts';
import { CacheEncryption } from './cache-encryption.ts';
import type { CacheFaults, CacheMeans } from './cache-means.ts';
import type { CacheStore } from './cache-store.ts';
import { Embedder } from './embedder.ts';
import { Flights } from './flights.ts';
import { MemoryCache } from './memory-cache.ts';
import { RedisCache } from './redis-cache.ts';
import { Vectors } from './vectors.ts';

const DEFAULT_BYTES = 64 * 1024 * 1024;
/** Of the bytes, where meanings are kept beside answers. */
const VECTOR_SHARE = 0.25;

export interface CacheSettings {
  /** Of all that is kept in this process; default 64 MiB. */
  readonly bytes?: number;
  /** What entries are encrypted with; undefined: they are not. */
  readonly keyFile?: string | undefined;
  /** Where all replicas keep their answers; undefined: in this process. */
  readonly shared?: SharedStoreOptions | undefined;
  /** Who says what texts mean; undefined: `semantic` is `simple`. */
  readonly embedding?: EmbeddingModel | undefined;
}

export interface CacheTools {
  readonly log: Pick<Log, 'event'>;
  readonly connections: Connections;
  readonly deadlines: Deadlines;
}

/** Rejects with a `StoreProblem` naming the flag that cannot be followed. */
export async function openCacheMeans(settings: CacheSettings, tools: CacheTools): Promise<CacheMeans> {
  const { bytes = DEFAULT_BYTES, keyFile, shared, embedding } = settings;
  const faults: CacheFaults = { store: 0, embedding: 0 };
  const vectorBytes = vectorBytesOf(settings, bytes);
  const store =
    shared === undefined ? new MemoryCache({ maxBytes: bytes - vectorBytes }) : await sharedCache(shared, faults);
  const encryption = keyFile === undefined ? undefined : await readKeys(keyFile);
  const vectors = embedding === undefined ? {} : { vectors: new Vectors({ maxBytes: vectorBytes }) };
  return {
    answers: new AnswerCache({ store, encryption, ...vectors }),
    isShared: shared !== undefined,
    flights: new Flights(),
    embedder: embedding && embedderOf(embedding, tools, faults),
    faults,
  };
}

/** Answers themselves take nothing here where all replicas share them. */
function vectorBytesOf({ shared, embedding }: CacheSettings, bytes: number): number {
  if (embedding === undefined) return 0;
  return shared === undefined ? Math.floor(bytes * VECTOR_SHARE) : bytes;
}

async function sharedCache(options: SharedStoreOptions, faults: CacheFaults): Promise<CacheStore> {
  const { prefix, timeoutMs } = options;
  const onFault = () => {
    faults.store += 1;
  };
  return new RedisCache({ values: await openConnection(options), prefix, timeoutMs, onFault });
}

function embedderOf(embedding: EmbeddingModel, tools: CacheTools, faults: CacheFaults): Embedder {
  const { log, connections, deadlines } = tools;
  const onFault = ({ message }: Error) => {
    faults.embedding += 1;
    log.event('warn', 'a text was not embedded: only equal requests are answered from the cache', { reason: message });
  };
  return new Embedder({ embedding, connections, deadlines, onFault });
}

async function readKeys(file: string): Promise<CacheEncryption> {
  try {
    return CacheEncryption.read(await readFile(file, 'utf8'));
  } catch (error) {
    throw new StoreProblem(`--cache-key-file: ${file}: ${(error as Error).message}`);
  }
}

/** A whole gateway: public listener, admin listener, the snapshot in use, and its way out. */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { LineSink } from '#crds/command/line-writer.ts';
import type { LogLevel } from '#crds/command/log.ts';
import { SNAPSHOT_FORMAT } from '#crds/snapshot/contract.ts';
import type { EncodedSnapshot } from '#crds/snapshot/encode.ts';
import type { Shares } from '#crds/snapshot/shares.ts';
import { startAdmin } from './admin.ts';
import { buildApi } from './api.ts';
import { registerCacheMetrics } from './cache/cache-metrics.ts';
import { type CacheSettings, openCacheMeans } from './cache/open-cache.ts';
import { drainRequests } from './drain.ts';
import type { GatewayState, TimeLimits } from './gateway-state.ts';
import { AsyncGuards } from './guardrails/async-guards.ts';
import { checkMeansOf } from './guardrails/means/check-means.ts';
import { Turnstiles } from './limits/concurrency.ts';
import { MemoryStore } from './limits/memory-store.ts';
import type { OpenStore } from './limits/open-store.ts';
import { PublishedShares, type SharingReplica } from './limits/published-shares.ts';
import { registerStoreMetrics } from './limits/store-metrics.ts';
import type { Ledger } from './money/ledger.ts';
import { OperatorLink } from './operator-link.ts';
import { startSimulator } from './providers/simulator/server.ts';
import { Roster } from './roster.ts';
import { Breakers } from './route/breakers.ts';
import { RetryBudgets } from './route/retry-budget.ts';
import { type Ack, SnapshotLoads } from './snapshot/snapshot-loads.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { type BreakerReading, createMetrics } from './telemetry/metrics.ts';
import { startTracing } from './telemetry/tracing.ts';
import { Connections } from './upstream/connections.ts';
import { Deadlines } from './upstream/deadlines.ts';
import { UsageAsked } from './usage-asked.ts';
import { type UsagePage, usagePage } from './usage-page.ts';
import { beginYoung } from './young-objects.ts';

const LIMITS: TimeLimits = {
  firstByteMs: 300_000,
  attemptsMs: 600_000,
  headersMs: 10_000,
  requestMs: 30_000,
  writeIdleMs: 60_000,
};

/** What guardrails beside the last requests have to come to a verdict. */
const LAST_VERDICTS_MS = 1_000;

export interface GatewayOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** No key is asked for. */
  readonly open: boolean;
  readonly logLevel: LogLevel;
  /** How long a draining gateway keeps accepting after readiness turned. */
  readonly graceMs: number;
  /** How long running requests may take to finish. */
  readonly drainMs: number;
  /** Origin of the operator, which answers for the control plane; undefined: nobody does. */
  readonly operatorUrl?: string | undefined;
  /** SQLite file of the ledger, made where there is none; undefined: the log alone is the ledger. */
  readonly ledgerFile?: string | undefined;
  /** The `OTEL_*` variables. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: 300 s to a first byte, 600 s for all attempts; callers have 10 s for headers, 30 s for a request, 60 s to read on. */
  readonly limits?: Partial<TimeLimits>;
  /** What circuit breakers measure their cooldown by, milliseconds; default the monotonic clock. */
  readonly breakerClock?: () => number;
  /** Unix milliseconds, for the periods of budgets and the store's own clock where it is the default; default the system's. */
  readonly limitClock?: () => number;
  /** Where log lines go; default standard output. */
  readonly logSink?: LineSink;
  /** Shards of one kind that it may read; default: as many as there can be. */
  readonly maxShards?: number;
  /** Where limits are counted, or what opens it; it is closed with the gateway. Default: this process. */
  readonly store?: GatewayState['store'] | OpenStore;
  /** How answers are kept; default: 64 MiB of them in this process, and none is given to what only means the same. */
  readonly cache?: CacheSettings;
  /** This one among the replicas of a release: its name, and how many there shall be. Default: it is alone. */
  readonly replica?: Pick<SharingReplica, 'name' | 'replicas'>;
  /** What is at hand is loaded before the first request is taken: a restart refuses connections rather than requests. */
  readonly beforeListening?: (gateway: Pick<Gateway, 'load' | 'log' | 'takeShares'>) => Promise<void>;
}

export interface Gateway {
  readonly origin: string;
  readonly adminOrigin: string;
  /** For lines of the process that runs it. */
  readonly log: Pick<Log, 'event'>;
  /** Swaps the snapshot between two requests; a bad one changes nothing. `source` is where it came from, for the log. */
  load(encoded: EncodedSnapshot, source?: string): Ack;
  /** What the operator says of the replicas; false: it is no newer than what is known. */
  takeShares(shares: Shares): boolean;
  /** What `/usage` says. */
  usage(): Promise<UsagePage>;
  /** Finishes what runs, then ends everything; once, however often it is called. */
  drain(): Promise<void>;
}

/** Rejects with the listener's error (`EADDRINUSE`, ...) where a port cannot be had. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  beginYoung();
  const loads = new SnapshotLoads(options.maxShards);
  const gateway = await makeState(options, loads);
  const simulator = await startSimulator();
  const load: Gateway['load'] = (encoded, source) => loads.load(gateway, encoded, simulator.origin, source);
  const takeShares: Gateway['takeShares'] = (shares) => gateway.shares.take(shares);
  await options.beforeListening?.({ load, takeShares, log: gateway.log });
  const asked = new UsageAsked();
  const api = buildApi(gateway);
  const origin = await api.listen({ host: options.host, port: options.port });
  const admin = await startAdmin({
    host: options.adminHost,
    port: options.adminPort,
    view: adminView(gateway, loads, asked),
  }).catch(async (error: unknown) => {
    await api.close();
    await simulator.close();
    throw error;
  });
  const end = async (): Promise<void> => {
    await drainRequests(gateway, api, options);
    await Promise.race([gateway.asyncGuards.settled(), wait(LAST_VERDICTS_MS)]);
    if (options.replica !== undefined) await asked.lastTime(await usageOf(gateway));
    await Promise.all([admin.close(), simulator.close(), gateway.connections.close(), gateway.tracing.shutdown()]);
    gateway.deadlines.close();
    await gateway.store.close();
    await gateway.cache.answers.close();
    gateway.ledger?.close();
    await gateway.log.close();
  };
  let ended: Promise<void> | undefined;
  return {
    origin,
    adminOrigin: admin.origin,
    log: gateway.log,
    load,
    takeShares,
    usage: () => usageOf(gateway),
    drain() {
      ended ??= end();
      return ended;
    },
  };
}

/** Default: the counts are of this process, which takes its share of limits. */
async function storeOf(
  { store, limitClock: now }: GatewayOptions,
  { share }: PublishedShares,
  log: Log,
): Promise<GatewayState['store']> {
  if (store === undefined) return new MemoryStore(now === undefined ? { share } : { share, now });
  return typeof store === 'function' ? store({ share, log }) : store;
}

async function makeState(options: GatewayOptions, loads: SnapshotLoads): Promise<GatewayState> {
  const log = createLog({
    level: options.logLevel,
    ...(options.logSink === undefined ? {} : { sink: options.logSink }),
  });
  const connections = new Connections();
  const deadlines = new Deadlines();
  const breakers = new Breakers(options.breakerClock ?? (() => performance.now()));
  const incarnation = randomUUID();
  const shares = new PublishedShares({ name: '', replicas: 1, ...options.replica, incarnation });
  const gateway: GatewayState = {
    incarnation,
    shares,
    store: await storeOf(options, shares, log),
    open: options.open,
    limits: { ...LIMITS, ...options.limits },
    connections,
    operator: new OperatorLink(options.operatorUrl, connections),
    deadlines,
    cache: await openCacheMeans(options.cache ?? {}, { log, connections, deadlines }),
    breakers,
    budgets: new RetryBudgets(),
    checkMeans: checkMeansOf(() => gateway),
    asyncGuards: new AsyncGuards(),
    turnstiles: new Turnstiles(),
    limitClock: options.limitClock ?? Date.now,
    metrics: createMetrics({
      breakers: () => breakerReadings(breakers),
      config: () =>
        gateway.snapshot && {
          generation: gateway.snapshot.generation,
          loadedAtMs: gateway.snapshot.loadedAt.getTime(),
        },
      refused: () => loads.refused,
      droppedLogLines: () => log.dropped,
    }),
    log,
    tracing: await startTracing(options.env ?? {}),
    ledger: options.ledgerFile === undefined ? undefined : await ledgerAt(options.ledgerFile, log),
    snapshot: undefined,
    draining: false,
    running: new Roster(),
  };
  registerStoreMetrics(gateway.metrics.registry, gateway.store);
  registerCacheMetrics(gateway.metrics.registry, gateway.cache);
  return gateway;
}

async function ledgerAt(file: string, log: Log): Promise<Ledger> {
  // Loaded here: where nobody asks for it, there need be no SQLite.
  const { openLedger } = await import('./money/ledger.ts');
  const onFault = (error: Error) => log.event('error', 'the ledger cannot be written', { file, error: error.message });
  return openLedger(file, { onFault });
}

/** Those of stored configs: a caller who writes a new config into each request must not add a series with each. */
function* breakerReadings(breakers: Breakers): Generator<BreakerReading> {
  for (const { breakerKey, phase } of breakers.states())
    if (!breakerKey.startsWith('inline '))
      yield { key: breakerKey, state: phase === 'half-open' ? 'half_open' : phase };
}

function usageOf(gateway: GatewayState): Promise<UsagePage> {
  const { incarnation, store, shares } = gateway;
  return usagePage({ incarnation, store, sharesVersion: shares.version, lastUsed: gateway.snapshot?.lastUsed() });
}

function adminView(
  gateway: GatewayState,
  loads: SnapshotLoads,
  asked: UsageAsked,
): Parameters<typeof startAdmin>[0]['view'] {
  return {
    ready: () =>
      gateway.draining ? 'draining' : gateway.snapshot === undefined ? 'no snapshot is loaded yet' : undefined,
    metrics: async () => ({ contentType: gateway.metrics.contentType, text: await gateway.metrics.text() }),
    config: () => {
      const { snapshot } = gateway;
      const { refusal: refused } = loads;
      return {
        generation: snapshot?.generation ?? 0,
        hash: snapshot?.hash ?? '',
        loaded_at: snapshot?.loadedAt.toISOString() ?? null,
        format: SNAPSHOT_FORMAT,
        ...(refused === undefined ? {} : { refused }),
      };
    },
    objects: () => gateway.snapshot?.objects() ?? [],
    async usage() {
      const page = await usageOf(gateway);
      asked.answered(page);
      return page;
    },
  };
}

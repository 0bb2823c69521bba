/** A whole gateway: public listener, admin listener, the snapshot in use, and its way out. */

import type { LineSink } from '#crds/command/line-writer.ts';
import type { LogLevel } from '#crds/command/log.ts';
import { SNAPSHOT_FORMAT } from '#crds/snapshot/contract.ts';
import type { EncodedSnapshot } from '#crds/snapshot/encode.ts';
import { startAdmin } from './admin.ts';
import { buildApi } from './api.ts';
import { drainRequests } from './drain.ts';
import type { GatewayState, TimeLimits } from './gateway-state.ts';
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
import { beginYoung } from './young-objects.ts';

const LIMITS: TimeLimits = {
  firstByteMs: 300_000,
  attemptsMs: 600_000,
  headersMs: 10_000,
  requestMs: 30_000,
  writeIdleMs: 60_000,
};

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
  /** The `OTEL_*` variables. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: 300 s to a first byte, 600 s for all attempts; callers have 10 s for headers, 30 s for a request, 60 s to read on. */
  readonly limits?: Partial<TimeLimits>;
  /** What circuit breakers measure their cooldown by, milliseconds; default the monotonic clock. */
  readonly breakerClock?: () => number;
  /** Where log lines go; default standard output. */
  readonly logSink?: LineSink;
  /** Shards of one kind that it may read; default: as many as there can be. */
  readonly maxShards?: number;
  /** What is at hand is loaded before the first request is taken: a restart refuses connections rather than requests. */
  readonly beforeListening?: (gateway: Pick<Gateway, 'load' | 'log'>) => Promise<void>;
}

export interface Gateway {
  readonly origin: string;
  readonly adminOrigin: string;
  /** For lines of the process that runs it. */
  readonly log: Pick<Log, 'event'>;
  /** Swaps the snapshot between two requests; a bad one changes nothing. `source` is where it came from, for the log. */
  load(encoded: EncodedSnapshot, source?: string): Ack;
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
  await options.beforeListening?.({ load, log: gateway.log });
  const api = buildApi(gateway);
  const origin = await api.listen({ host: options.host, port: options.port });
  const admin = await startAdmin({
    host: options.adminHost,
    port: options.adminPort,
    view: adminView(gateway, loads),
  }).catch(async (error: unknown) => {
    await api.close();
    await simulator.close();
    throw error;
  });
  const end = async (): Promise<void> => {
    await drainRequests(gateway, api, options);
    await Promise.all([admin.close(), simulator.close(), gateway.connections.close(), gateway.tracing.shutdown()]);
    gateway.deadlines.close();
    await gateway.log.close();
  };
  let ended: Promise<void> | undefined;
  return {
    origin,
    adminOrigin: admin.origin,
    log: gateway.log,
    load,
    drain() {
      ended ??= end();
      return ended;
    },
  };
}

async function makeState(options: GatewayOptions, loads: SnapshotLoads): Promise<GatewayState> {
  const log = createLog({
    level: options.logLevel,
    ...(options.logSink === undefined ? {} : { sink: options.logSink }),
  });
  const breakers = new Breakers(options.breakerClock ?? (() => performance.now()));
  const gateway: GatewayState = {
    open: options.open,
    limits: { ...LIMITS, ...options.limits },
    connections: new Connections(),
    deadlines: new Deadlines(),
    breakers,
    budgets: new RetryBudgets(),
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
    snapshot: undefined,
    draining: false,
    running: new Roster(),
  };
  return gateway;
}

/** Those of stored configs: a caller who writes a new config into each request must not add a series with each. */
function* breakerReadings(breakers: Breakers): Generator<BreakerReading> {
  for (const { breakerKey, phase } of breakers.states())
    if (!breakerKey.startsWith('inline '))
      yield { key: breakerKey, state: phase === 'half-open' ? 'half_open' : phase };
}

function adminView(gateway: GatewayState, loads: SnapshotLoads): Parameters<typeof startAdmin>[0]['view'] {
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
  };
}

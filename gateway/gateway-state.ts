/** What all requests of one gateway share. */
import type { RequestContext } from './request-context.ts';
import type { Roster } from './roster.ts';
import type { Breakers } from './route/breakers.ts';
import type { RetryBudgets } from './route/retry-budget.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Tracing } from './telemetry/tracing.ts';
import type { Connections } from './upstream/connections.ts';
import type { Deadlines } from './upstream/deadlines.ts';

/** Of the installation, milliseconds; the first two hold where a config sets no `request_timeout`. */
export interface TimeLimits {
  /** To the first body byte of an attempt. */
  readonly firstByteMs: number;
  /** All attempts of a request together; a running stream is not cut by it. */
  readonly attemptsMs: number;
  /** A caller's request: its headers, and all of it. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** A caller who takes nothing of an answer for so long is cut off. */
  readonly writeIdleMs: number;
}

export interface GatewayState {
  /** No key is asked for (loopback only). */
  readonly open: boolean;
  readonly limits: TimeLimits;
  readonly connections: Connections;
  readonly deadlines: Deadlines;
  readonly breakers: Breakers;
  readonly budgets: RetryBudgets;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly tracing: Tracing;
  /** What new requests are served with; undefined before the first. */
  snapshot: ActiveSnapshot | undefined;
  draining: boolean;
  /** Requests between their first header and their settlement. */
  readonly running: Roster<RequestContext>;
}

/** What all requests of one gateway share. */

import type { CacheMeans } from './cache/cache-means.ts';
import type { AsyncGuards } from './guardrails/async-guards.ts';
import type { MeansOf } from './guardrails/guard-book.ts';
import type { Turnstiles } from './limits/concurrency.ts';
import type { PublishedShares } from './limits/published-shares.ts';
import type { LimitStore } from './limits/store.ts';
import type { Ledger } from './money/ledger.ts';
import type { OperatorLink } from './operator-link.ts';
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
import type { UsageStore } from './usage-page.ts';

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
  /** Who is under way where requests in flight are capped. */
  readonly turnstiles: Turnstiles;
  /** Unix milliseconds: which period of a budget it is. */
  readonly limitClock: () => number;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly tracing: Tracing;
  /** Where entries of settled requests go besides the log; undefined: the log alone. */
  readonly ledger: Ledger | undefined;
  /** Where requests to the control plane go. */
  readonly operator: OperatorLink;
  /** What checks reach the world with. */
  readonly checkMeans: MeansOf;
  /** Guardrails that run beside requests. */
  readonly asyncGuards: AsyncGuards;
  /** What was answered before. */
  readonly cache: CacheMeans;
  /** Names this process: another one after each start. */
  readonly incarnation: string;
  /** Where limits are counted. */
  readonly store: LimitStore & UsageStore;
  /** What is known of the other replicas. */
  readonly shares: PublishedShares;
  /** What new requests are served with; undefined before the first. */
  snapshot: ActiveSnapshot | undefined;
  draining: boolean;
  /** Requests between their first header and their settlement. */
  readonly running: Roster<RequestContext>;
}

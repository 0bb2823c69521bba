/**
 * A shared store as long as it answers in time; while it does not, this replica alone: rate limits by its share, budgets as
 * each says. Nobody waits for a store that is known to be away; what was used meanwhile is handed in when it is back.
 */
import type { Log } from '#crds/command/log.ts';
import { type BudgetUse, type Journal, MemoryStore } from './memory-store.ts';
import { type FaultReason, faultReason } from './redis-connection.ts';
import type { Handed, RedisCounts } from './redis-counts.ts';
import { type Share, WHOLE } from './share.ts';
import type { Decision, Demand, LimitStore } from './store.ts';

export type SharedCounts = Pick<
  RedisCounts,
  'reserve' | 'handIn' | 'beat' | 'reconnect' | 'close' | 'known' | 'waiting' | 'forgotten'
>;

export interface FallbackOptions {
  readonly shared: SharedCounts;
  readonly log: Pick<Log, 'event'>;
  /** This replica's part while the store is away; default: all. */
  readonly share?: () => Share;
  /** How long a request waits for the store; default 25. A store that takes a fifth of it for half a second is too slow. */
  readonly timeoutMs?: number;
}

/** A request that waits for the store. */
interface Call {
  readonly demands: readonly Demand[];
  readonly startedMs: number;
  readonly decide: (decision: Decision) => void;
}

/** Counts of a time without the store. */
interface Alone {
  readonly store: MemoryStore;
  readonly journal: Journal;
}

const TIMEOUT_MS = 25;
const SLOW_PART = 5;
const TICK_MS = 250;
const BEAT_MS = 5_000;
/** A connection on which nothing comes for so long is given up. */
const SILENT_MS = 1_000;
const GOOD_BEATS = 2;
/** A store is slow that was so for as long, in as many samples. */
const SLOW_MS = 500;
const SLOW_SAMPLES = 4;
const ROWS_PER_CALL = 200;
const CLOSE_MS = 2_000;
const POLL_MS = 5;

export class FallbackStore implements LimitStore {
  readonly mode = 'total';
  readonly #shared: SharedCounts;
  readonly #log: Pick<Log, 'event'>;
  readonly #share: () => Share;
  readonly #timeoutMs: number;
  readonly #calls = new Set<Call>();
  readonly #faults = new Map<FaultReason, number>();
  /** Of times that are over, with requests that still run. */
  readonly #past = new Set<Alone>();
  #ticks: NodeJS.Timeout | undefined;
  #alone: Alone | undefined;
  #awaySinceMs = 0;
  #watch: NodeJS.Timeout | undefined;
  #sampled: { readonly call: Call; readonly idleMs: number } | undefined;
  #waits = { sinceMs: 0, sumMs: 0, count: 0 };
  #beating: { readonly sinceMs: number } | undefined;
  #lastBeatMs = Number.NEGATIVE_INFINITY;
  #goodBeats = 0;

  constructor({ shared, log, share = () => WHOLE, timeoutMs = TIMEOUT_MS }: FallbackOptions) {
    this.#shared = shared;
    this.#log = log;
    this.#share = share;
    this.#timeoutMs = timeoutMs;
  }

  /** `degraded`: this replica counts alone. */
  state(): 'ok' | 'degraded' {
    return this.#alone === undefined ? 'ok' : 'degraded';
  }

  /** Calls that the store failed, by reason. */
  faults(): ReadonlyMap<FaultReason, number> {
    const { forgotten } = this.#shared;
    return forgotten === 0 ? this.#faults : new Map([...this.#faults, ['flushed', forgotten]]);
  }

  /** First words with the store, before the first request; resolves also where it is away, after two seconds at most. */
  async start(): Promise<void> {
    const untilMs = performance.now() + CLOSE_MS;
    let problem: Error | undefined;
    do {
      problem = await within(this.#shared.beat(), untilMs - performance.now());
      if (problem === undefined) break;
      await pause(TICK_MS / 5);
    } while (performance.now() < untilMs);
    this.#lastBeatMs = performance.now();
    if (problem !== undefined) this.#leave(faultReason(problem));
    this.#ticks = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  reserve(demands: readonly Demand[]): Decision | Promise<Decision> {
    if (this.#alone !== undefined) return reserveAlone(this.#alone, demands);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const call: Call = { demands, startedMs: performance.now(), decide: resolve };
    this.#calls.add(call);
    this.#sampled ??= { call, idleMs: idleMs() };
    this.#watch ??= this.#checkIn(this.#timeoutMs);
    this.#shared.reserve(demands).then(
      (decision) => this.#answered(call, decision),
      (error: Error) => this.#failed(call, faultReason(error)),
    );
    return promise;
  }

  /** Of all replicas, as this one last heard. */
  *usage(): Generator<BudgetUse> {
    for (const [key, { used }] of this.#shared.known) yield { key, used };
  }

  async close(): Promise<void> {
    clearInterval(this.#ticks);
    clearTimeout(this.#watch);
    const untilMs = performance.now() + CLOSE_MS;
    if (this.#alone !== undefined) this.#past.add(this.#alone);
    this.#handIn();
    while (this.#shared.waiting > 0 && this.#alone === undefined && performance.now() < untilMs) await pause(POLL_MS);
    await within(this.#shared.close(), untilMs - performance.now());
  }

  #answered(call: Call, decision: Decision): void {
    const isAwaited = this.#calls.delete(call);
    this.#measure(call);
    if (isAwaited) call.decide(decision);
    // Too late: the request has gone on by this replica's own counts.
    else if (decision.ok) decision.hold.settle(call.demands.map(() => 0));
  }

  #failed(call: Call, reason: FaultReason): void {
    if (!this.#calls.delete(call)) return;
    this.#count(reason);
    const alone = this.#leave(reason);
    call.decide(reserveAlone(alone, call.demands));
  }

  /** What this process waited for the store without anything else to do: a busy process must not think the store slow. */
  #measure(call: Call): void {
    if (this.#sampled?.call !== call) return;
    const waitedMs = Math.min(idleMs() - this.#sampled.idleMs, performance.now() - call.startedMs);
    this.#sampled = undefined;
    const waits = this.#waits;
    waits.sumMs += waitedMs;
    waits.count++;
    const now = performance.now();
    if (now - waits.sinceMs < SLOW_MS) return;
    this.#waits = { sinceMs: now, sumMs: 0, count: 0 };
    if (waits.count < SLOW_SAMPLES || waits.sumMs / waits.count <= this.#timeoutMs / SLOW_PART) return;
    if (this.#alone !== undefined) return;
    this.#count('slow');
    this.#leave('slow');
  }

  #checkIn(ms: number): NodeJS.Timeout {
    // After what has arrived was read: time that this process was busy is not the store's.
    return setTimeout(() => setImmediate(() => this.#check()), ms).unref();
  }

  #check(): void {
    this.#watch = undefined;
    const [oldest] = this.#calls;
    if (oldest === undefined) return;
    const leftMs = this.#timeoutMs - (performance.now() - oldest.startedMs);
    if (leftMs > 0) {
      this.#watch = this.#checkIn(leftMs);
      return;
    }
    this.#count('timeout');
    this.#leave('timeout');
  }

  #count(reason: FaultReason): void {
    this.#faults.set(reason, (this.#faults.get(reason) ?? 0) + 1);
  }

  /** Everybody who waits goes on. */
  #leave(reason: FaultReason): Alone {
    if (this.#alone !== undefined) return this.#alone;
    const journal: Journal = { changed: new Set(), open: new Set() };
    const known: Share = { ...WHOLE, usedByOthers: (key) => this.#shared.known.get(key)?.used ?? 0n };
    const store = new MemoryStore({ share: this.#share, budgetShare: () => known, journal });
    const alone: Alone = { store, journal };
    this.#alone = alone;
    this.#awaySinceMs = performance.now();
    this.#goodBeats = 0;
    this.#log.event('warn', 'the shared store is away: this replica counts alone', { reason });
    const calls = [...this.#calls];
    this.#calls.clear();
    for (const { demands, decide } of calls) decide(reserveAlone(alone, demands));
    return alone;
  }

  #tick(): void {
    const now = performance.now();
    this.#handInPast();
    if (this.#beating !== undefined) {
      if (now - this.#beating.sinceMs < SILENT_MS) return;
      this.#beating = undefined;
      this.#goodBeats = 0;
      this.#count('timeout');
      this.#leave('timeout');
      this.#shared.reconnect();
      return;
    }
    if (this.#alone !== undefined || now - this.#lastBeatMs >= BEAT_MS) this.#beat(now);
  }

  #beat(now: number): void {
    const beating = { sinceMs: now };
    this.#beating = beating;
    const idleBefore = idleMs();
    this.#shared.beat().then(
      () => this.#isAlive(beating, idleMs() - idleBefore),
      (error: Error) => this.#isNotAlive(beating, faultReason(error)),
    );
  }

  #isAlive(beating: object, waitedMs: number): void {
    if (this.#beating !== beating) return;
    this.#beating = undefined;
    this.#lastBeatMs = performance.now();
    this.#goodBeats = waitedMs > this.#timeoutMs / SLOW_PART ? 0 : this.#goodBeats + 1;
    if (this.#alone !== undefined && this.#goodBeats >= GOOD_BEATS) this.#return(this.#alone);
  }

  #isNotAlive(beating: object, reason: FaultReason): void {
    if (this.#beating !== beating) return;
    this.#beating = undefined;
    this.#goodBeats = 0;
    this.#count(reason);
    this.#leave(reason);
    // The server that may write is another one now.
    if (reason === 'readonly') this.#shared.reconnect();
  }

  #return(alone: Alone): void {
    const awayMs = Math.round(performance.now() - this.#awaySinceMs);
    this.#handInRows(windowsOf(alone.store));
    this.#past.add(alone);
    this.#alone = undefined;
    this.#waits = { sinceMs: performance.now(), sumMs: 0, count: 0 };
    this.#handIn();
    this.#log.event('info', 'the shared store is back', { away_ms: awayMs });
  }

  #handInPast(): void {
    if (this.#past.size > 0 && this.#alone === undefined) this.#handIn();
  }

  /** What was used of budgets in times without the store. */
  #handIn(): void {
    for (const past of this.#past) {
      this.#handInRows(budgetsOf(past.store));
      if (past.journal.open.size === 0) this.#past.delete(past);
    }
  }

  #handInRows(rows: readonly Handed[]): void {
    for (let from = 0; from < rows.length; from += ROWS_PER_CALL)
      this.#shared.handIn(rows.slice(from, from + ROWS_PER_CALL));
  }
}

function reserveAlone({ store }: Alone, demands: readonly Demand[]): Decision {
  const denied = demands.findIndex(({ counter: { rule } }) => rule.kind === 'budget' && rule.onUnavailable === 'deny');
  if (denied < 0) return store.reserve(demands);
  return { ok: false, readings: store.readings(demands), refused: denied, retryMs: undefined };
}

function windowsOf(store: MemoryStore): Handed[] {
  const now = store.now();
  const rows: Handed[] = [];
  for (const count of store.counts()) {
    if (count.kind !== 'rate') continue;
    const amount = count.amount(now);
    if (amount > 0) rows.push({ key: count.key, rule: count.rule, amount: BigInt(amount) });
  }
  return rows;
}

/** They are handed in by who asks, and must not be again. */
function budgetsOf(store: MemoryStore): Handed[] {
  const rows: Handed[] = [];
  for (const count of store.counts()) {
    if (count.kind !== 'budget' || count.used === 0n) continue;
    rows.push({ key: count.key, rule: count.rule, amount: count.used });
    count.used = 0n;
  }
  return rows;
}

/** Since the process began, milliseconds in which it had nothing to do. */
function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** undefined: it was done in time. */
async function within(work: Promise<unknown>, ms: number): Promise<Error | undefined> {
  const { promise, resolve } = Promise.withResolvers<Error>();
  const timer = setTimeout(() => resolve(new Error('timeout')), Math.max(ms, 0));
  const done = work.then(
    () => undefined,
    (error: Error) => error,
  );
  const outcome = await Promise.race([done, promise]);
  clearTimeout(timer);
  return outcome;
}

import type { BreakerRule } from '../plan/plan.ts';

/**
 *   closed --failureThreshold failures since the last success--> open
 *   open --cooldownMs over, one request enters--> half-open
 *   half-open --the probe succeeds--> closed, --it fails--> open, --it is abandoned--> open, free for the next probe
 */
type Phase =
  | { readonly name: 'closed'; failures: number }
  | { readonly name: 'open'; readonly sinceMs: number }
  | { readonly name: 'half-open'; readonly sinceMs: number; readonly probe: number };

export type PhaseName = Phase['name'];

/** What became of a request that entered. 'streaming': its first byte is there, its end is not. */
export type Outcome = 'success' | 'streaming' | 'failure' | 'abandoned';

/** Numbers the requests that enter, so that the outcome of one from before a change of phase is known as stale. */
export interface Permits {
  last: number;
}

/** The circuit breaker of one target, in the caller's clock. */
export class Breaker {
  rule: BreakerRule;
  #phase: Phase = { name: 'closed', failures: 0 };
  /** Permits up to this one belong to an earlier phase. */
  #stale = -1;
  readonly #permits: Permits;

  constructor(rule: BreakerRule, permits: Permits) {
    this.rule = rule;
    this.#permits = permits;
  }

  get phase(): PhaseName {
    return this.#phase.name;
  }

  /** Whether a request may go through: always when closed, one when the cooldown is over. */
  admits(nowMs: number): boolean {
    if (this.#phase.name === 'closed') return true;
    return this.#phase.name === 'open' && nowMs - this.#phase.sinceMs >= this.rule.cooldownMs;
  }

  /** A request goes through, as the probe if it is due, also where all targets are open and are tried all the same. */
  enter(permit: number, nowMs: number): void {
    if (this.#phase.name !== 'open' || !this.admits(nowMs)) return;
    this.#phase = { name: 'half-open', sinceMs: this.#phase.sinceMs, probe: permit };
  }

  record(permit: number, outcome: Outcome, nowMs: number): void {
    if (permit > this.#stale) this[outcome](permit, nowMs);
  }

  /** A stream that ended well, whenever it began. It closes nothing: its first byte did. */
  noteStreamSuccess(): void {
    if (this.#phase.name === 'closed') this.#phase.failures = 0;
  }

  /** A stream that broke after its first byte. */
  noteStreamFailure(nowMs: number): void {
    if (this.#phase.name === 'closed') this.#count(this.#phase, nowMs);
  }

  private success(): void {
    if (this.#phase.name === 'closed') this.#phase.failures = 0;
    else this.#change({ name: 'closed', failures: 0 });
  }

  /**
   * While closed neither good nor bad yet. Else the circuit closes on probation: the next failure, such as this very
   * stream's, opens it again. The slot is not held for as long as a stream may run.
   */
  private streaming(): void {
    if (this.#phase.name !== 'closed') this.#change({ name: 'closed', failures: this.rule.failureThreshold - 1 });
  }

  private failure(permit: number, nowMs: number): void {
    if (this.#phase.name === 'closed') this.#count(this.#phase, nowMs);
    else if (this.#isProbe(permit)) this.#change({ name: 'open', sinceMs: nowMs });
  }

  /** Neither: the client left, or the upstream was never asked. Another request may probe at once. */
  private abandoned(permit: number): void {
    if (this.#phase.name === 'half-open' && this.#isProbe(permit))
      this.#phase = { name: 'open', sinceMs: this.#phase.sinceMs };
  }

  #isProbe(permit: number): boolean {
    return this.#phase.name === 'half-open' && this.#phase.probe === permit;
  }

  #count(phase: { failures: number }, nowMs: number): void {
    phase.failures += 1;
    if (phase.failures >= this.rule.failureThreshold) this.#change({ name: 'open', sinceMs: nowMs });
  }

  #change(phase: Phase): void {
    this.#phase = phase;
    this.#stale = this.#permits.last;
  }
}

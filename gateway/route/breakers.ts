import type { BreakerRule, Target } from '../plan/plan.ts';
import { Breaker, type Outcome, type Permits, type PhaseName } from './breaker.ts';
import type { Reply } from './reply.ts';

export interface BreakerState {
  readonly breakerKey: string;
  readonly phase: PhaseName;
}

/** Whether this reply is one of the failures that the rule counts. */
export function isBreakerFailure(rule: BreakerRule, reply: Reply): boolean {
  if (rule.statusCodes !== undefined) return rule.statusCodes.has(reply.status);
  return reply.status >= 500 || reply.failure === 'network' || reply.failure === 'timeout';
}

/**
 * The circuit breakers of this replica, by `Target.breakerKey`. A target has an entry only once it failed; at most
 * `maxTargets` are kept. Targets without `settings.breaker` are always closed and need not be told of.
 */
export class Breakers {
  readonly #breakers = new Map<string, Breaker>();
  readonly #permits: Permits = { last: 0 };
  readonly #now: () => number;
  readonly #maxTargets: number;
  #notClosed = 0;

  /** `now`: a clock in milliseconds that never goes back. */
  constructor(now: () => number, maxTargets = 10_000) {
    this.#now = now;
    this.#maxTargets = maxTargets;
  }

  /** True: no target anywhere needs to be skipped. The common case, in one comparison. */
  get allClosed(): boolean {
    return this.#notClosed === 0;
  }

  /** Whether the target may be asked: its circuit is closed, or its probe is due. */
  admits(target: Target): boolean {
    return this.allClosed || (this.#find(target)?.admits(this.#now()) ?? true);
  }

  /** Begins a request; the permit goes back with `record`, exactly once. */
  enter(target: Target): number {
    this.#permits.last += 1;
    if (!this.allClosed) this.#find(target)?.enter(this.#permits.last, this.#now());
    return this.#permits.last;
  }

  record(target: Target, permit: number, outcome: Outcome): void {
    const breaker = outcome === 'failure' ? this.#findOrAdd(target) : this.#find(target);
    if (breaker !== undefined) this.#watch(breaker, () => breaker.record(permit, outcome, this.#now()));
  }

  /** A stream of this target ended well. */
  noteStreamSuccess(target: Target): void {
    this.#find(target)?.noteStreamSuccess();
  }

  /** A stream of this target broke after its first byte: 502 for a cut, 408 for a stall, as in every list of statuses. */
  noteStreamFailure(target: Target, status: 502 | 408 = 502): void {
    const codes = target.settings.breaker?.statusCodes;
    const breaker = codes === undefined || codes.has(status) ? this.#findOrAdd(target) : undefined;
    if (breaker !== undefined) this.#watch(breaker, () => breaker.noteStreamFailure(this.#now()));
  }

  /** Forgets the targets that a new snapshot no longer has. */
  retain(isKnown: (breakerKey: string) => boolean): void {
    for (const key of this.#breakers.keys()) if (!isKnown(key)) this.#forget(key);
  }

  /** For metrics: targets that failed at some time. */
  *states(): Generator<BreakerState> {
    for (const [breakerKey, { phase }] of this.#breakers) yield { breakerKey, phase };
  }

  #find(target: Target): Breaker | undefined {
    const { breakerKey } = target;
    const rule = target.settings.breaker;
    const breaker = this.#breakers.get(breakerKey);
    if (breaker === undefined || rule === undefined || breaker.rule === rule) return rule && breaker;
    if (sameRule(breaker.rule, rule)) {
      // The same words in a newer snapshot.
      breaker.rule = rule;
      return breaker;
    }
    this.#forget(breakerKey);
    return undefined;
  }

  #findOrAdd(target: Target): Breaker | undefined {
    const found = this.#find(target);
    const rule = target.settings.breaker;
    if (found !== undefined || rule === undefined) return found;
    const breaker = new Breaker(rule, this.#permits);
    this.#breakers.set(target.breakerKey, breaker);
    if (this.#breakers.size > this.#maxTargets) this.#forgetOldest();
    return breaker;
  }

  #watch(breaker: Breaker, step: () => void): void {
    const before = breaker.phase;
    step();
    this.#notClosed += Number(breaker.phase !== 'closed') - Number(before !== 'closed');
  }

  #forget(breakerKey: string): void {
    const breaker = this.#breakers.get(breakerKey);
    if (breaker !== undefined && breaker.phase !== 'closed') this.#notClosed -= 1;
    this.#breakers.delete(breakerKey);
  }

  #forgetOldest(): void {
    for (const oldest of this.#breakers.keys()) {
      this.#forget(oldest);
      return;
    }
  }
}

function sameRule(one: BreakerRule, other: BreakerRule): boolean {
  if (one.failureThreshold !== other.failureThreshold || one.cooldownMs !== other.cooldownMs) return false;
  const [a, b] = [one.statusCodes, other.statusCodes];
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && a.isSubsetOf(b);
}

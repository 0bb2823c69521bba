import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BreakerRule, Target } from '#gateway/plan/plan.ts';
import type { Outcome } from '#gateway/route/breaker.ts';
import { Breakers, isBreakerFailure } from '#gateway/route/breakers.ts';
import type { Reply } from '#gateway/route/reply.ts';
import { breakerRule, NETWORK, reply, TIMEOUT, target } from './world.ts';

class Clock {
  nowMs = 0;
  readonly breakers: Breakers;

  constructor(maxTargets?: number) {
    this.breakers = new Breakers(() => this.nowMs, maxTargets);
  }

  /** One request that ends at once. */
  pass(at: Target, outcome: Outcome): void {
    this.breakers.record(at, this.breakers.enter(at), outcome);
  }

  passAll(at: Target, ...outcomes: Outcome[]): void {
    for (const outcome of outcomes) this.pass(at, outcome);
  }

  phase(at: Target): string {
    for (const { breakerKey, phase } of this.breakers.states()) if (breakerKey === at.breakerKey) return phase;
    return 'unknown';
  }
}

const A = target('a', { breaker: breakerRule(3) });
const B = target('b', { breaker: breakerRule(1) });

describe('which replies count', () => {
  const byDefault = breakerRule(1);
  const listed = (...codes: number[]) => breakerRule(1, { statusCodes: new Set(codes) });
  test.each<[string, BreakerRule, Reply, boolean]>([
    ['500', byDefault, reply(500), true],
    ['503', byDefault, reply(503), true],
    ['529', byDefault, reply(529), true],
    ['network', byDefault, NETWORK, true],
    ['timeout', byDefault, TIMEOUT, true],
    ['200', byDefault, reply(200), false],
    ['246', byDefault, reply(246), false],
    ['400', byDefault, reply(400), false],
    ['401', byDefault, reply(401), false],
    ['403', byDefault, reply(403), false],
    ['404', byDefault, reply(404), false],
    ['an upstream 408', byDefault, reply(408), false],
    ['429', byDefault, reply(429), false],
    ['446', byDefault, reply(446), false],
    ['401 listed', listed(401), reply(401), true],
    ['403 listed', listed(403), reply(403), true],
    ['429 listed', listed(429), reply(429), true],
    ['500 not listed', listed(429), reply(500), false],
    ['network, 502 listed', listed(502), NETWORK, true],
    ['network, 502 not listed', listed(500), NETWORK, false],
    ['timeout, 408 listed', listed(408), TIMEOUT, true],
    ['timeout, 408 not listed', listed(504), TIMEOUT, false],
  ])('%s', (_name, rule, answered, expected) => {
    expect(isBreakerFailure(rule, answered)).toBe(expected);
  });
});

function countAfter(failures: number, outcome: Outcome): number {
  if (outcome === 'success') return 0;
  return outcome === 'failure' ? failures + 1 : failures;
}

type Step =
  | { readonly do: 'enter' }
  | { readonly do: 'cut' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'end'; readonly which: number; readonly outcome: Outcome };

/** Plays requests of one target that overlap in any way. */
class Play {
  readonly clock = new Clock();
  readonly at = target('x', { breaker: breakerRule(2) });
  readonly running: number[] = [];

  step(step: Step): void {
    if (step.do === 'wait') this.clock.nowMs += step.ms;
    else if (step.do === 'cut') this.clock.breakers.noteStreamFailure(this.at);
    else if (step.do === 'enter') this.#enter();
    else this.#end(step.which, step.outcome);
    expect(this.clock.breakers.allClosed).toBe(this.#isClosed());
  }

  #enter(): void {
    const { breakers } = this.clock;
    if (!breakers.admits(this.at)) return;
    const wasClosed = this.#isClosed();
    this.running.push(breakers.enter(this.at));
    expect(breakers.admits(this.at)).toBe(wasClosed);
  }

  #end(which: number, outcome: Outcome): void {
    const [permit] = this.running.splice(which % (this.running.length || 1), 1);
    if (permit !== undefined) this.clock.breakers.record(this.at, permit, outcome);
  }

  #isClosed(): boolean {
    return ['closed', 'unknown'].includes(this.clock.phase(this.at));
  }
}

describe('one circuit', () => {
  test.each<[outcomes: Outcome[], phase: string]>([
    [[], 'unknown'],
    [['success'], 'unknown'],
    [['abandoned'], 'unknown'],
    [['streaming'], 'unknown'],
    [['failure'], 'closed'],
    [['failure', 'failure'], 'closed'],
    [['failure', 'failure', 'failure'], 'open'],
    [['failure', 'failure', 'success', 'failure', 'failure'], 'closed'],
    [['failure', 'failure', 'success', 'failure', 'failure', 'failure'], 'open'],
    [['failure', 'failure', 'abandoned', 'failure'], 'open'],
    [['failure', 'failure', 'streaming', 'failure'], 'open'],
  ])('threshold 3, %j: %s', (outcomes, phase) => {
    const clock = new Clock();
    clock.passAll(A, ...outcomes);
    expect(clock.phase(A)).toBe(phase);
    expect(clock.breakers.admits(A)).toBe(phase !== 'open');
    expect(clock.breakers.allClosed).toBe(phase !== 'open');
  });

  function opened(): Clock {
    const clock = new Clock();
    clock.pass(B, 'failure');
    expect(clock.phase(B)).toBe('open');
    return clock;
  }

  test('admits nobody before the cooldown is over', () => {
    const clock = opened();
    for (const nowMs of [0, 1, 15_000, 29_999]) {
      clock.nowMs = nowMs;
      expect(clock.breakers.admits(B)).toBe(false);
    }
    clock.nowMs = 30_000;
    expect(clock.breakers.admits(B)).toBe(true);
    expect(clock.phase(B)).toBe('open');
  });

  test('exactly one probe', () => {
    const clock = opened();
    clock.nowMs = 30_000;
    clock.breakers.enter(B);
    expect(clock.phase(B)).toBe('half-open');
    for (const nowMs of [30_000, 60_000, 600_000]) {
      clock.nowMs = nowMs;
      expect(clock.breakers.admits(B)).toBe(false);
    }
  });

  test('a probe that succeeds closes', () => {
    const clock = opened();
    clock.nowMs = 30_000;
    clock.pass(B, 'success');
    expect(clock.phase(B)).toBe('closed');
    expect(clock.breakers.allClosed).toBe(true);
  });

  test('a circuit that closed counts from nothing', () => {
    const clock = new Clock();
    clock.passAll(A, 'failure', 'failure', 'failure');
    clock.nowMs = 30_000;
    clock.passAll(A, 'success', 'failure', 'failure');
    expect(clock.phase(A)).toBe('closed');
    clock.pass(A, 'failure');
    expect(clock.phase(A)).toBe('open');
  });

  test('a probe that fails opens again, for a whole cooldown', () => {
    const clock = opened();
    clock.nowMs = 31_000;
    const probe = clock.breakers.enter(B);
    clock.nowMs = 40_000;
    clock.breakers.record(B, probe, 'failure');
    clock.nowMs = 69_999;
    expect(clock.breakers.admits(B)).toBe(false);
    clock.nowMs = 70_000;
    expect(clock.breakers.admits(B)).toBe(true);
  });

  test('a probe that is abandoned frees its slot at once', () => {
    const clock = opened();
    clock.nowMs = 30_000;
    const probe = clock.breakers.enter(B);
    expect(clock.breakers.admits(B)).toBe(false);
    clock.breakers.record(B, probe, 'abandoned');
    expect(clock.phase(B)).toBe('open');
    expect(clock.breakers.admits(B)).toBe(true);
    clock.pass(B, 'success');
    expect(clock.phase(B)).toBe('closed');
  });

  test('only the probe frees its own slot', () => {
    const clock = opened();
    const early = clock.breakers.enter(B);
    clock.nowMs = 30_000;
    clock.breakers.enter(B);
    const late = clock.breakers.enter(B);
    clock.breakers.record(B, early, 'abandoned');
    clock.breakers.record(B, late, 'abandoned');
    expect(clock.breakers.admits(B)).toBe(false);
  });

  test('requests that entered before it opened change nothing any more', () => {
    const clock = new Clock();
    const slow = clock.breakers.enter(B);
    const slower = clock.breakers.enter(B);
    clock.pass(B, 'failure');
    clock.nowMs = 20_000;
    clock.breakers.record(B, slow, 'success');
    expect(clock.phase(B)).toBe('open');
    clock.breakers.record(B, slower, 'failure');
    clock.nowMs = 30_000;
    expect(clock.breakers.admits(B)).toBe(true);
  });

  test('nor does one that entered after the failing request, but before it failed', () => {
    const clock = new Clock();
    const failing = clock.breakers.enter(B);
    const later = clock.breakers.enter(B);
    clock.breakers.record(B, failing, 'failure');
    clock.breakers.record(B, later, 'success');
    expect(clock.phase(B)).toBe('open');
  });

  test('a failure from before it closed does not open it', () => {
    const clock = new Clock();
    const slow = clock.breakers.enter(B);
    clock.pass(B, 'failure');
    clock.nowMs = 30_000;
    clock.pass(B, 'success');
    clock.breakers.record(B, slow, 'failure');
    expect(clock.phase(B)).toBe('closed');
  });

  test('where all are tried though open: a success closes, a failure does not prolong', () => {
    const clock = opened();
    clock.nowMs = 20_000;
    clock.pass(B, 'failure');
    clock.nowMs = 30_000;
    expect(clock.breakers.admits(B)).toBe(true);
    const other = opened();
    other.nowMs = 20_000;
    other.pass(B, 'success');
    expect(other.phase(B)).toBe('closed');
  });

  test('in any sequence it is open exactly after `threshold` failures since the last success', () => {
    const outcome = fc.constantFrom<Outcome>('success', 'failure', 'abandoned', 'streaming');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(outcome, { maxLength: 40 }), (threshold, outcomes) => {
        const clock = new Clock();
        const at = target('x', { breaker: breakerRule(threshold) });
        let failures = 0;
        for (const each of outcomes) {
          if (!clock.breakers.admits(at)) break;
          clock.pass(at, each);
          failures = countAfter(failures, each);
          expect(clock.breakers.admits(at)).toBe(failures < threshold);
        }
      }),
    );
  });

  test('whatever happens, at most one probe runs and `allClosed` tells the truth', () => {
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.record({ do: fc.constant('enter' as const) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
      fc.record({
        do: fc.constant('end' as const),
        which: fc.nat(),
        outcome: fc.constantFrom<Outcome>('success', 'failure', 'abandoned', 'streaming'),
      }),
      fc.record({ do: fc.constant('cut' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const play = new Play();
        for (const each of steps) play.step(each);
        for (const permit of play.running) play.clock.breakers.record(play.at, permit, 'abandoned');
        play.clock.nowMs += 30_000;
        expect(play.clock.breakers.admits(play.at)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('streams', () => {
  test('broken streams open the circuit though each began well', () => {
    const clock = new Clock();
    for (let stream = 1; stream <= 3; stream += 1) {
      expect(clock.breakers.admits(A)).toBe(true);
      clock.pass(A, 'streaming');
      clock.breakers.noteStreamFailure(A);
    }
    expect(clock.phase(A)).toBe('open');
  });

  test('a stream that ended well resets the count', () => {
    const clock = new Clock();
    clock.passAll(A, 'failure', 'failure', 'streaming');
    clock.breakers.noteStreamSuccess(A);
    clock.passAll(A, 'failure', 'failure');
    expect(clock.phase(A)).toBe('closed');
  });

  test('the first byte of a probe closes on probation: the next failure opens', () => {
    const clock = new Clock();
    clock.passAll(A, 'failure', 'failure', 'failure');
    clock.nowMs = 30_000;
    clock.pass(A, 'streaming');
    expect(clock.phase(A)).toBe('closed');
    clock.breakers.noteStreamFailure(A);
    expect(clock.phase(A)).toBe('open');
    clock.nowMs = 59_999;
    expect(clock.breakers.admits(A)).toBe(false);
  });

  test('probation ends with the stream', () => {
    const clock = new Clock();
    clock.passAll(A, 'failure', 'failure', 'failure');
    clock.nowMs = 30_000;
    clock.pass(A, 'streaming');
    clock.breakers.noteStreamSuccess(A);
    clock.passAll(A, 'failure', 'failure');
    expect(clock.phase(A)).toBe('closed');
  });

  test('the end of an old stream neither closes an open circuit nor prolongs it', () => {
    const clock = new Clock();
    clock.pass(B, 'streaming');
    clock.pass(B, 'failure');
    clock.breakers.noteStreamSuccess(B);
    expect(clock.phase(B)).toBe('open');
    clock.nowMs = 10_000;
    clock.breakers.noteStreamFailure(B);
    clock.nowMs = 30_000;
    expect(clock.breakers.admits(B)).toBe(true);
  });

  test.each<[codes: number[] | undefined, status: 502 | 408, phase: string]>([
    [undefined, 502, 'open'],
    [undefined, 408, 'open'],
    [[502], 502, 'open'],
    [[502], 408, 'unknown'],
    [[408], 408, 'open'],
    [[503], 502, 'unknown'],
  ])('listed %j, broken as %d: %s', (codes, status, phase) => {
    const clock = new Clock();
    const at = target('x', { breaker: breakerRule(1, { statusCodes: codes && new Set(codes) }) });
    clock.breakers.noteStreamFailure(at, status);
    expect(clock.phase(at)).toBe(phase);
  });

  test('a target without a breaker is not counted', () => {
    const clock = new Clock();
    const plain = target('plain');
    clock.breakers.noteStreamFailure(plain);
    clock.breakers.noteStreamSuccess(plain);
    expect([...clock.breakers.states()]).toEqual([]);
  });
});

describe('many circuits', () => {
  test('targets are independent', () => {
    const clock = new Clock();
    clock.pass(B, 'failure');
    expect(clock.breakers.admits(A)).toBe(true);
    expect(clock.breakers.admits(B)).toBe(false);
    expect(clock.breakers.allClosed).toBe(false);
  });

  test('a rule of the same words keeps the state, in a new snapshot too', () => {
    const clock = new Clock();
    const reloaded = () => target('x', { breaker: breakerRule(2, { statusCodes: new Set([500, 503]) }) });
    clock.pass(reloaded(), 'failure');
    clock.pass(reloaded(), 'failure');
    expect(clock.phase(reloaded())).toBe('open');
    expect(clock.breakers.admits(reloaded())).toBe(false);
  });

  test.each<[string, BreakerRule | undefined, boolean]>([
    ['the same words', breakerRule(1, { statusCodes: new Set([503, 500]) }), false],
    ['another threshold', breakerRule(2, { statusCodes: new Set([500, 503]) }), true],
    ['another cooldown', breakerRule(1, { cooldownMs: 31_000, statusCodes: new Set([500, 503]) }), true],
    ['another list', breakerRule(1, { statusCodes: new Set([500, 504]) }), true],
    ['a longer list', breakerRule(1, { statusCodes: new Set([500, 503, 504]) }), true],
    ['no list', breakerRule(1), true],
    ['no rule', undefined, true],
  ])('%s after it opened', (_name, breaker, admitted) => {
    const clock = new Clock();
    clock.pass(target('x', { breaker: breakerRule(1, { statusCodes: new Set([500, 503]) }) }), 'failure');
    const changed = target('x', breaker === undefined ? {} : { breaker });
    expect(clock.breakers.admits(changed)).toBe(admitted);
  });

  test('a changed rule starts from nothing and leaves nothing open behind', () => {
    const clock = new Clock();
    clock.pass(B, 'failure');
    const changed = target('b', { breaker: breakerRule(2) });
    clock.pass(changed, 'failure');
    expect(clock.phase(changed)).toBe('closed');
    expect(clock.breakers.allClosed).toBe(true);
  });

  test('targets that disappear are forgotten', () => {
    const clock = new Clock();
    clock.pass(B, 'failure');
    clock.pass(A, 'failure');
    clock.breakers.retain((key) => key === 'a');
    expect([...clock.breakers.states()]).toEqual([{ breakerKey: 'a', phase: 'closed' }]);
    expect(clock.breakers.allClosed).toBe(true);
    expect(clock.breakers.admits(B)).toBe(true);
  });

  test('at most so many are kept', () => {
    const clock = new Clock(10);
    for (let index = 0; index < 1000; index += 1)
      clock.pass(target(`x-${index}`, { breaker: breakerRule(1) }), 'failure');
    expect([...clock.breakers.states()]).toHaveLength(10);
    clock.breakers.retain(() => false);
    expect(clock.breakers.allClosed).toBe(true);
  });
});

/**
 * Puts guardrails to a subject. Those that only look run side by side; one that rewrites runs alone, on what the one before it
 * left. After a denial nothing is begun any more. As long as no check has to wait there is no promise.
 */
import { type CheckRun, runChecks } from '../checks/run-checks.ts';
import type { Subject } from '../checks/subject.ts';
import type { Denial } from './denial.ts';
import type { Guard } from './guard.ts';
import { asyncResult, brokenResult, type HookResult, resultOf, skippedResult } from './hook-results.ts';

export interface GuardsRun {
  /** In the order of the guardrails. */
  readonly results: readonly HookResult[];
  /** As rewritten; with `transformed` false it is the one that was given. */
  readonly subject: Subject;
  readonly transformed: boolean;
  /** Some guardrail failed, whatever that leads to. */
  readonly failed: boolean;
  /** The first that ends the request. */
  readonly denial: Denial | undefined;
}

export interface GuardTerms {
  /** The caller's; where nothing ever waits, one that never aborts. */
  readonly signal: AbortSignal;
  /** When all of it must be over, `performance.now()` milliseconds. */
  readonly endsAt: number;
  /** Runs one that must not hold anybody up. */
  startAsync(guard: Guard, subject: Subject): void;
  /** Told of every verdict. */
  note(result: HookResult): void;
  onDefect(id: string, thrown: unknown): void;
}

/** Never throws and is never rejected. */
export function runGuards(
  guards: readonly Guard[],
  subject: Subject,
  terms: GuardTerms,
): GuardsRun | Promise<GuardsRun> {
  const run = new Run(guards, subject, terms);
  const waiting = run.from(0);
  return waiting === undefined ? run.outcome() : waiting.then(() => run.outcome());
}

/** One alone, whether or not it is asynchronous. */
export function runGuard(
  guard: Guard,
  subject: Subject,
  { signal, onDefect, endsAt }: Pick<GuardTerms, 'signal' | 'onDefect' | 'endsAt'>,
): CheckRun | Promise<CheckRun> {
  const { checks, sequential } = guard;
  const totalMs = endsAt - performance.now();
  return runChecks(checks, subject, { sequential, totalMs, signal, onDefect });
}

class Run {
  readonly #guards: readonly Guard[];
  readonly #terms: GuardTerms;
  readonly #results: HookResult[] = [];
  #subject: Subject;
  #transformed = false;
  #denial: Denial | undefined;
  #pending: Promise<void>[] = [];

  constructor(guards: readonly Guard[], subject: Subject, terms: GuardTerms) {
    this.#guards = guards;
    this.#subject = subject;
    this.#terms = terms;
  }

  outcome(): GuardsRun {
    return {
      results: this.#results,
      subject: this.#subject,
      transformed: this.#transformed,
      failed: this.#results.some(({ verdict }) => !verdict),
      denial: this.#denial,
    };
  }

  from(first: number): Promise<void> | undefined {
    for (let index = first; index < this.#guards.length; index += 1) {
      const guard = this.#guards[index];
      if (guard === undefined) continue;
      if (this.#mustWaitFor(guard, index)) return this.#settled().then(() => this.from(index));
      const waiting = this.#start(guard, index);
      if (waiting !== undefined) this.#pending.push(waiting);
    }
    return this.#pending.length === 0 ? undefined : this.#settled();
  }

  #mustWaitFor({ mutates }: Guard, index: number): boolean {
    return this.#pending.length > 0 && (mutates || this.#guards[index - 1]?.mutates === true);
  }

  async #settled(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    await Promise.all(pending);
  }

  #start(guard: Guard, index: number): Promise<void> | undefined {
    if (this.#denial !== undefined) {
      this.#results[index] = skippedResult(guard);
    } else if (guard.isAsync) {
      this.#results[index] = asyncResult(guard);
      this.#terms.startAsync(guard, this.#subject);
    } else if (guard.broken !== undefined) {
      this.#finish(guard, index, brokenResult(guard));
    } else return this.#ask(guard, index);
    return undefined;
  }

  #ask(guard: Guard, index: number): Promise<void> | undefined {
    const beganAt = performance.now();
    const run = runGuard(guard, this.#subject, this.#terms);
    if (!(run instanceof Promise)) return this.#take(guard, index, run, beganAt);
    return run.then((waited) => this.#take(guard, index, waited, beganAt));
  }

  #take(guard: Guard, index: number, run: CheckRun, beganAt: number): undefined {
    if (run.transformed) {
      this.#subject = run.subject;
      this.#transformed = true;
    }
    return this.#finish(guard, index, resultOf(guard, run, beganAt));
  }

  #finish(guard: Guard, index: number, result: HookResult): undefined {
    this.#results[index] = result;
    this.#terms.note(result);
    if (!result.verdict && guard.deny) this.#denial ??= { guard, result };
  }
}

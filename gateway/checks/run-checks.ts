/**
 * Runs the checks of a guardrail. Side by side, unless `sequential`; a mutator always runs alone, on what the one before it
 * made of the body, so that no rewriting is lost. As long as no check has to wait there is no promise.
 */
import type { Json } from '../providers/provider.ts';
import { type CheckData, CheckError, type CompiledCheck, type Finding } from './check.ts';
import { applyRewrites } from './rewrite.ts';
import type { Subject } from './subject.ts';
import { withDeadline } from './with-deadline.ts';

/** One row of `hook_results[].checks`. */
export interface CheckResult {
  readonly id: string;
  readonly verdict: boolean;
  readonly data: CheckData | null;
  /** Set where there was no verdict; the verdict is then `!fail_on_error`. */
  readonly error: { readonly message: string } | null;
  readonly fail_on_error: boolean;
  readonly transformed: boolean;
  /** When it began, ISO 8601. */
  readonly created_at: string;
  /** Milliseconds. */
  readonly execution_time: number;
}

export interface CheckRun {
  /** In the order of the checks. */
  readonly results: readonly CheckResult[];
  /** All of them passed. */
  readonly verdict: boolean;
  /** As mutators left it; with `transformed` false it is the body of before. */
  readonly subject: Subject;
  readonly transformed: boolean;
}

export interface RunOptions {
  readonly sequential: boolean;
  /** For all of them together. */
  readonly totalMs: number;
  /** The caller's. */
  readonly signal: AbortSignal;
  /** Told of whatever a check threw that is no CheckError: a defect. */
  readonly onDefect: (id: string, thrown: unknown) => void;
}

/** Never throws and is never rejected: whatever happens is the result of a check. */
export function runChecks(
  checks: readonly CompiledCheck[],
  subject: Subject,
  options: RunOptions,
): CheckRun | Promise<CheckRun> {
  const run = new Run(checks, subject, options);
  const waiting = run.from(0);
  return waiting === undefined ? run.outcome() : waiting.then(() => run.outcome());
}

class Run {
  readonly #checks: readonly CompiledCheck[];
  readonly #options: RunOptions;
  readonly #results: CheckResult[] = [];
  readonly #endsAt: number;
  #subject: Subject;
  #transformed = false;
  #pending: Promise<void>[] = [];

  constructor(checks: readonly CompiledCheck[], subject: Subject, options: RunOptions) {
    this.#checks = checks;
    this.#options = options;
    this.#subject = subject;
    this.#endsAt = performance.now() + options.totalMs;
  }

  outcome(): CheckRun {
    const results = this.#results;
    return {
      results,
      verdict: results.every(({ verdict }) => verdict),
      subject: this.#subject,
      transformed: this.#transformed,
    };
  }

  from(first: number): Promise<void> | undefined {
    for (let index = first; index < this.#checks.length; index++) {
      const check = this.#checks[index];
      if (check === undefined) continue;
      if (this.#pending.length > 0 && (this.#options.sequential || check.mutates || this.#lastMutates(index)))
        return this.#settled().then(() => this.from(index));
      const waiting = this.#start(check, index);
      if (waiting !== undefined) this.#pending.push(waiting);
    }
    return this.#pending.length === 0 ? undefined : this.#settled();
  }

  #lastMutates(index: number): boolean {
    return this.#checks[index - 1]?.mutates ?? false;
  }

  async #settled(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    await Promise.all(pending);
  }

  #start(check: CompiledCheck, index: number): Promise<void> | undefined {
    const began = performance.now();
    const { side } = this.#subject;
    const place: Place = { check, index, began, createdAt: isoTime(Date.now()) };
    if (check.sides !== 'both' && check.sides !== side) {
      this.#passed(place, { verdict: true, data: { explanation: `It looks at the ${check.sides} alone.` } });
      return undefined;
    }
    try {
      const left = this.#timeLeft(began);
      const finding =
        check.timeoutMs === undefined
          ? check.run(this.#subject, this.#options.signal)
          : withDeadline(
              (signal) => check.run(this.#subject, signal),
              Math.min(check.timeoutMs, left),
              this.#options.signal,
            );
      if (!(finding instanceof Promise)) {
        this.#passed(place, finding);
        return undefined;
      }
      return finding.then((waited) => this.#passed(place, waited)).catch((thrown) => this.#failed(place, thrown));
    } catch (thrown) {
      this.#failed(place, thrown);
      return undefined;
    }
  }

  #timeLeft(now: number): number {
    this.#options.signal.throwIfAborted();
    if (now >= this.#endsAt) throw new CheckError('There was no time left for this check.');
    return this.#endsAt - now;
  }

  #passed(place: Place, { verdict, data, rewrites = [] }: Finding): void {
    if (rewrites.length > 0) {
      this.#subject = this.#subject.withBody(applyRewrites(this.#subject.body, rewrites) as Json);
      this.#transformed = true;
    }
    this.#results[place.index] = result(place, verdict, data, null, rewrites.length > 0);
  }

  #failed(place: Place, thrown: unknown): void {
    const { check } = place;
    if (!(thrown instanceof CheckError) && !this.#options.signal.aborted) this.#options.onDefect(check.id, thrown);
    const message = thrown instanceof CheckError ? thrown.message : this.#unexpected();
    const data = thrown instanceof CheckError ? (thrown.data ?? null) : null;
    this.#results[place.index] = result(place, !check.failOnError, data, { message }, false);
  }

  #unexpected(): string {
    return this.#options.signal.aborted ? 'The caller has left.' : 'Something went wrong in this check.';
  }
}

interface Place {
  readonly check: CompiledCheck;
  readonly index: number;
  readonly began: number;
  readonly createdAt: string;
}

function result(
  { check, began, createdAt }: Place,
  verdict: boolean,
  data: CheckData | null,
  error: CheckResult['error'],
  transformed: boolean,
): CheckResult {
  return {
    id: check.id,
    verdict,
    data,
    error,
    fail_on_error: check.failOnError,
    transformed,
    created_at: createdAt,
    execution_time: Math.round((performance.now() - began) * 1000) / 1000,
  };
}

let lastMs = 0;
let lastIso = '';

/** Checks of one millisecond share one text. */
function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastIso = new Date(ms).toISOString();
  }
  return lastIso;
}

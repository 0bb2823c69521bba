/** The guardrails of one running stream. */
import { CheckError, type CompiledCheck } from '../checks/check.ts';
import type { Subject } from '../checks/subject.ts';
import type { GatewayError } from '../errors.ts';
import { proceed } from '../limits/proceed.ts';
import type { Dialect, Json } from '../providers/provider.ts';
import type { StreamTransform } from '../stream/transform.ts';
import type { Guard } from './guard.ts';
import type { Inspection } from './inspection.ts';
import type { GuardsRun } from './run-guards.ts';
import { withResultsEvent } from './shown-results.ts';
import { answerSubject } from './subjects.ts';
import type { StreamWatch } from './watched-stream.ts';

export class StreamGuards implements StreamWatch {
  readonly dialect: Dialect;
  readonly windowGuards: readonly Guard[];
  readonly wholeGuards: readonly Guard[];
  readonly #inspection: Inspection;
  readonly #provider: string;

  constructor(inspection: Inspection, guards: readonly Guard[], provider: string) {
    this.dialect = inspection.context.endpoint.dialect;
    this.#inspection = inspection;
    this.#provider = provider;
    this.wholeGuards = guards;
    this.windowGuards = guards.filter((guard) => guard.deny && !guard.isAsync).flatMap(windowGuard);
  }

  subjectOf(answer: Json): Subject {
    return answerSubject(this.#inspection.context, answer, this.#provider);
  }

  judgeWindow(guards: readonly Guard[], window: Subject): ReturnType<StreamWatch['judgeWindow']> {
    return proceed(this.#inspection.askStream(guards, window, false), (run) => this.#errorOf(run));
  }

  judgeWhole(subject: Subject, tooLong: boolean): ReturnType<StreamWatch['judgeWhole']> {
    const guards = tooLong ? this.wholeGuards.map(ofWindowAlone) : this.wholeGuards;
    return proceed(this.#inspection.askStream(guards, subject, true), (run) => this.#errorOf(run));
  }

  ending(bytes: Buffer, model: string | undefined): Buffer {
    const { told, context } = this.#inspection;
    const identity = { id: context.exchange.id, model };
    return told === undefined ? bytes : withResultsEvent(bytes, told, context.endpoint, identity);
  }

  noteDenial(sentChars: number, stream: StreamTransform): void {
    const { exchange } = this.#inspection.context;
    exchange.inspected = { ...exchange.inspected, sentChars };
    exchange.usage = stream.usage;
    exchange.outputEvents = stream.contentEvents;
    exchange.answeredModel = stream.model;
  }

  #errorOf({ denial }: GuardsRun): GatewayError | undefined {
    return denial && this.#inspection.denial(denial, 'answer');
  }
}

function windowGuard(guard: Guard): readonly Guard[] {
  const checks = guard.checks.filter((check) => guard.windowed.has(check));
  return checks.length === 0 ? [] : [{ ...guard, checks }];
}

/** What can only be said of an answer as a whole cannot be said of this one. */
function ofWindowAlone(guard: Guard): Guard {
  return { ...guard, checks: guard.checks.map((check) => (guard.windowed.has(check) ? check : tooLong(check))) };
}

function tooLong(check: CompiledCheck): CompiledCheck {
  return {
    ...check,
    run() {
      throw new CheckError('The answer is too long to be judged as a whole while it runs.');
    },
  };
}

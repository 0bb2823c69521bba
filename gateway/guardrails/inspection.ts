/** One request and its guardrails: what they are asked, what they said, and what that makes of its answers. */
import { askTarget } from '../cache/ask-target.ts';
import type { Subject } from '../checks/subject.ts';
import type { GatewayError } from '../errors.ts';
import { refusedReply } from '../failed-reply.ts';
import { proceed } from '../limits/proceed.ts';
import type { PlanNode, Target } from '../plan/plan.ts';
import type { Json, Operation } from '../providers/provider.ts';
import { CallerLeft } from '../read-body.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import type { StreamTransform } from '../stream/transform.ts';
import { asking } from './asking.ts';
import { type Denial, denialError, deniedBy, isDenial, type Judged } from './denial.ts';
import { type Guard, PHASE_MS } from './guard.ts';
import type { SideGuards } from './guard-book.ts';
import type { HookResult, HookResults } from './hook-results.ts';
import { judgeHeldStream, judgeWhole } from './judge-answer.ts';
import { noteDefect, noteVerdict } from './note-verdict.ts';
import { type GuardsRun, runGuards } from './run-guards.ts';
import { StreamGuards } from './stream-guards.ts';
import { requestSubject } from './subjects.ts';
import { WatchedStream } from './watched-stream.ts';

/** 2xx, though a guardrail did not pass. */
export const FAILED_STATUS = 246;

/** What says something. */
const TEXT_OPERATIONS: ReadonlySet<Operation> = new Set(['chat', 'complete']);
const NEVER = new AbortController().signal;

interface Given {
  readonly body: Json;
  readonly bytes: Buffer;
}

export class Inspection {
  readonly context: RequestContext;
  readonly #defaults: SideGuards;
  #before: readonly HookResult[] = [];
  #failedBefore = false;
  /** Of the target whose turn it is. */
  #atTarget: readonly HookResult[] = [];
  #after: readonly HookResult[] = [];
  #failedAtTarget = false;
  #output: readonly Guard[] = [];
  #strict = true;
  /** The request, where the target's guardrails have rewritten it. */
  #given: Given | undefined;
  #reply: GatewayReply | undefined;

  constructor(context: RequestContext, defaults: SideGuards) {
    this.context = context;
    this.#defaults = defaults;
  }

  /** Before a target is chosen. Throws `guardrail_denied` or `guardrail_failed`. */
  enter(): void | Promise<void> {
    const { context } = this;
    const guards = [...this.#defaults.input, ...context.plan.inputGuards];
    if (guards.length === 0) return;
    const { root } = context.plan;
    const subject = requestSubject(context, root.kind === 'target' ? root : undefined);
    return proceed(this.#askInTime(guards, subject), (run) => {
      if (context.gone) throw new CallerLeft();
      this.#before = run.results;
      this.#failedBefore = run.failed;
      if (run.denial !== undefined) throw this.denial(run.denial, 'request');
      if (run.transformed) this.#rewrite(run.subject.body);
    });
  }

  /** A try at a target, with the guardrails of its requests and answers. Never rejected. */
  async attempt(target: Target, retry: number): Promise<GatewayReply> {
    this.#reply?.stream?.abandon();
    this.#reply = undefined;
    this.#after = [];
    this.#forgetDenial();
    const refused = retry === 0 ? await this.#begin(target) : undefined;
    if (refused !== undefined) return refused;
    const reply = await askTarget(this.context, target, retry);
    this.#reply = reply.isRecalled === true ? this.#marked(reply) : await this.#judge(reply);
    return this.#reply;
  }

  /** Whether a stream of this target is held until it is judged. */
  get holdsStream(): boolean {
    return this.#output.some(({ isAsync, stream }) => !isAsync && stream === 'buffer');
  }

  /** `cut` ends the stream with an error event. */
  watched(stream: StreamTransform, provider: string, cut: (error: GatewayError) => void): StreamTransform {
    if (this.holdsStream || (this.#output.length === 0 && !this.#tells)) return stream;
    return new WatchedStream(stream, new StreamGuards(this, this.#output, provider), cut);
  }

  /** An answer that was kept: it was judged when it was new, by the same guardrails. */
  recalled(reply: GatewayReply): GatewayReply {
    this.#strict = this.context.control.strict ?? firstTarget(this.context.plan.root)?.settings.strict ?? true;
    return this.#marked(reply);
  }

  /** Some guardrail did not pass, of those whose verdict counts. */
  get hasFailed(): boolean {
    return this.#failedBefore || this.#failedHere;
  }

  /** What an answer says of it; undefined: nothing. */
  get told(): HookResults | undefined {
    return this.#tells ? this.results : undefined;
  }

  get results(): HookResults {
    return { before_request_hooks: [...this.#before, ...this.#atTarget], after_request_hooks: this.#after };
  }

  /** Puts guardrails of answers to one. */
  async askAfter(subject: Subject): Promise<GuardsRun> {
    const run = await this.#askInTime(this.#output, subject);
    this.#after = run.results;
    return run;
  }

  /** As above, for a stream that runs: whoever left is noticed elsewhere. */
  askStream(guards: readonly Guard[], subject: Subject, isWhole: boolean): GuardsRun | Promise<GuardsRun> {
    return proceed(this.#ask(guards, subject, NEVER, !isWhole), (run) => {
      if (isWhole || run.denial !== undefined) this.#after = run.results;
      return run;
    });
  }

  denial(denial: Denial, judged: Judged): GatewayError {
    this.context.exchange.inspected = { ...this.context.exchange.inspected, deniedBy: deniedBy(denial) };
    return denialError(denial, judged, this.results);
  }

  /** Of a target that another one has taken the place of. */
  #forgetDenial(): void {
    const { exchange } = this.context;
    if (exchange.inspected?.deniedBy !== undefined) exchange.inspected = { ...exchange.inspected, deniedBy: undefined };
  }

  get #tells(): boolean {
    if (this.hasFailed) return true;
    return !this.#strict && this.#before.length + this.#atTarget.length + this.#output.length > 0;
  }

  get #failedHere(): boolean {
    return this.#failedAtTarget || this.#after.some(({ verdict }) => !verdict);
  }

  async #begin(target: Target): Promise<GatewayReply | undefined> {
    const { context } = this;
    this.#restore();
    this.#atTarget = [];
    this.#failedAtTarget = false;
    this.#strict = context.control.strict ?? target.settings.strict;
    const hasTexts = TEXT_OPERATIONS.has(context.endpoint.operation);
    this.#output = hasTexts ? [...this.#defaults.output, ...target.guards.output] : [];
    const { input } = target.guards;
    if (input.length === 0) return undefined;
    const run = await this.#askInTime(input, requestSubject(context, target));
    if (context.gone) return { ...refusedReply(new CallerLeft(), undefined), final: true };
    this.#atTarget = run.results;
    this.#failedAtTarget = run.failed;
    if (run.denial !== undefined) return refusedReply(this.denial(run.denial, 'request'), undefined);
    if (run.transformed) {
      this.#given = { body: context.body, bytes: context.bytes };
      this.#rewrite(run.subject.body);
    }
    return undefined;
  }

  async #judge(reply: GatewayReply): Promise<GatewayReply> {
    if (!reply.ok)
      return reply.error !== undefined && isDenial(reply.error)
        ? { ...reply, failure: 'status', isAnswered: true }
        : reply;
    if (reply.stream !== undefined && !this.holdsStream) return this.#marked(reply);
    if (this.#output.length === 0) return this.#marked(reply);
    const judged = reply.stream === undefined ? judgeWhole(this, reply) : judgeHeldStream(this, reply, reply.stream);
    return this.#marked(await judged);
  }

  /** The status of an answer that not all guardrails passed. A target's own verdict is its own status. */
  #marked(reply: GatewayReply): GatewayReply {
    if (!reply.ok) return reply;
    if (this.#failedHere) return { ...reply, status: FAILED_STATUS, answerStatus: FAILED_STATUS, streaming: false };
    return this.#failedBefore ? { ...reply, answerStatus: FAILED_STATUS } : reply;
  }

  /** Ends early when the caller leaves. */
  #askInTime(guards: readonly Guard[], subject: Subject): GuardsRun | Promise<GuardsRun> {
    if (guards.every(({ isAsync, limitMs }) => isAsync || limitMs === 0)) return this.#ask(guards, subject, NEVER);
    const { context } = this;
    const leaving = new AbortController();
    context.onGone = () => leaving.abort(new CallerLeft());
    if (context.gone) context.onGone();
    return proceed(this.#ask(guards, subject, leaving.signal), (run) => {
      context.onGone = undefined;
      return run;
    });
  }

  /** `isPart`: of an answer, of which there are many: only a verdict against it counts. */
  #ask(
    guards: readonly Guard[],
    subject: Subject,
    signal: AbortSignal,
    isPart = false,
  ): GuardsRun | Promise<GuardsRun> {
    const { context } = this;
    const { gateway } = context;
    const endsAt = performance.now() + Math.max(PHASE_MS, ...guards.map(({ limitMs }) => limitMs));
    const terms = {
      signal,
      endsAt,
      startAsync: (guard: Guard, about: Subject) => gateway.asyncGuards.start(context, guard, about),
      note: (result: HookResult) => {
        if (!isPart || !result.verdict) noteVerdict(context, result);
      },
      onDefect: (id: string, thrown: unknown) => noteDefect(context, id, thrown),
    };
    return asking.run(context, () => runGuards(guards, subject, terms));
  }

  /** What goes on from here. Whether it is a stream stays the caller's word. */
  #rewrite(rewritten: Json): void {
    const { context } = this;
    const { stream } = context.body;
    const { stream: _, ...rest } = rewritten;
    context.body = stream === undefined ? rest : { ...rest, stream };
    context.bytes = Buffer.from(JSON.stringify(context.body));
    context.addressed = undefined;
  }

  #restore(): void {
    if (this.#given === undefined) return;
    const { context } = this;
    context.body = this.#given.body;
    context.bytes = this.#given.bytes;
    context.addressed = undefined;
    this.#given = undefined;
  }
}

function firstTarget(node: PlanNode): Target | undefined {
  const [first] = node.kind === 'target' ? [] : node.children;
  return node.kind === 'target' ? node : first && firstTarget(first);
}

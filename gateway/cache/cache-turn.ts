/** One request's dealings with the cache at one place: before a target is chosen, or at a target's turn. */
import { GatewayError } from '../errors.ts';
import { refusedReply } from '../failed-reply.ts';
import { promptEstimate } from '../limits/need.ts';
import type { Target } from '../plan/plan.ts';
import { CallerLeft } from '../read-body.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import { asksUsage } from '../request-dialect.ts';
import { brokenOff } from './broken-off.ts';
import { type CacheKey, type CacheRequest, cacheKeyOf } from './cache-key.ts';
import type { CacheMeans } from './cache-means.ts';
import { asksNoStore, type CacheRule } from './cache-rule.ts';
import { type CacheCourse, cacheStatus } from './cache-status.ts';
import type { CacheUse } from './cache-use.ts';
import { type CacheLead, Companion, type Failure } from './companion.ts';
import type { CacheEntry } from './entry.ts';
import { type KeptAnswer, type Landed, recalledReply, sharedReply } from './recalled-answer.ts';
import { type SemanticQuestion, semanticQuestion } from './semantic-question.ts';
import { StreamTap } from './stream-tap.ts';

const DENIED_STATUS = 446;

export class CacheTurn {
  readonly context: RequestContext;
  readonly rule: CacheRule;
  /** undefined: whichever answers. */
  readonly target: Target | undefined;
  readonly key: CacheKey;
  readonly noStore: boolean;
  /** What goes out while a stream runs; undefined: nothing has yet. */
  tap: StreamTap | undefined;
  /** Of an answer that was not called for. */
  recalled: KeptAnswer | undefined;
  meaning: { readonly question: SemanticQuestion; readonly vector: ArrayLike<number> } | undefined;
  readonly #asked: CacheRequest;
  #lead: CacheLead | undefined;
  #reply: GatewayReply | undefined;
  #found: CacheCourse['found'];

  /** undefined: such a request cannot be told from others. */
  static of(
    context: RequestContext,
    rule: CacheRule,
    asked: CacheRequest,
    target: Target | undefined,
  ): CacheTurn | undefined {
    const key = cacheKeyOf(asked);
    return key === undefined ? undefined : new CacheTurn(context, rule, asked, target, key);
  }

  private constructor(
    context: RequestContext,
    rule: CacheRule,
    asked: CacheRequest,
    target: Target | undefined,
    key: CacheKey,
  ) {
    this.context = context;
    this.rule = rule;
    this.target = target;
    this.key = key;
    this.#asked = asked;
    this.noStore = asksNoStore(context.request.headers['cache-control']);
    this.#tell();
  }

  /** The one that may be told of what comes; undefined: nobody waits for it. */
  get lead(): CacheLead | undefined {
    return this.#lead;
  }

  /** The answer of an equal request, or of one that means the same; undefined: this one has to call. */
  recall(): GatewayReply | undefined | Promise<GatewayReply | undefined> {
    if (this.context.control.forceRefresh) return undefined;
    const entry = this.#means.answers.recall(this.key, this.rule.maxAgeMs);
    if (entry instanceof Promise) return entry.then((found) => this.#looked(found));
    return this.#looked(entry);
  }

  /** The caller left; true: others wait for the same, and the call must go on. */
  goesOn(): boolean {
    return this.#lead?.leave() ?? false;
  }

  /** What goes to the caller of a stream from now on. */
  listen(): StreamTap | undefined {
    if (this.recalled !== undefined || (this.noStore && this.#lead === undefined)) return undefined;
    this.tap = new StreamTap(this, this.#means.answers.maxEntryBytes);
    return this.tap;
  }

  /** The request is over: whoever still waits for it has waited in vain. */
  end(): void {
    if (this.#lead !== undefined) this.fail(brokenOff(this.context));
  }

  /** The last one of a target, for those who wait for it. */
  noteReply(reply: GatewayReply): void {
    this.#reply = reply;
  }

  /** There is no answer that could be shared or kept: somebody else has to call. Nothing happens where that was told already. */
  fail(thrown: GatewayError, reply = this.#reply): void {
    const lead = this.#lead;
    if (lead === undefined) return;
    this.#lead = undefined;
    const error = reply?.error ?? thrown;
    const said = reply?.error === undefined ? refusedReply(error, undefined) : reply;
    const failure: Failure = { ...said, attempt: undefined, stream: undefined, error };
    if (error.status === DENIED_STATUS) lead.scatter(failure);
    else lead.fail(failure, this.#isOwnFault(error) ? 'caller' : 'upstream');
  }

  /** The answer is complete, and everybody's who asked the same. */
  land(landed: Landed): void {
    this.#lead?.land(landed);
    this.#lead = undefined;
  }

  /** It must not be shared: the others call for themselves. */
  scatter(): void {
    this.#lead?.scatter(abandoned());
    this.#lead = undefined;
  }

  get #means(): CacheMeans {
    return this.context.gateway.cache;
  }

  #looked(entry: CacheEntry | undefined): GatewayReply | undefined | Promise<GatewayReply | undefined> {
    const reply = entry === undefined ? undefined : this.#give(entry, 'equal');
    if (reply !== undefined || this.noStore) return reply;
    const { exchange, body, gateway, inspection } = this.context;
    // What guardrails say of one request is told in its stream.
    const form = exchange.stream && inspection === undefined ? String(asksUsage(body)) : undefined;
    const companion = new Companion();
    const boarded = this.#means.flights.board(this.key, form, companion);
    if (boarded.role === 'seat') {
      this.context.onGone = companion.leave;
      return companion.wait(boarded, gateway.deadlines, this.#patientUntilMs).then((waited) => this.#waited(waited));
    }
    return this.#take(boarded);
  }

  /** This one calls, and others may wait for what comes. */
  #take(lead: CacheLead): undefined | Promise<GatewayReply | undefined> {
    this.#lead = lead;
    lead.onDeserted = () => this.context.onGone?.();
    return this.rule.mode === 'semantic' ? this.#search() : undefined;
  }

  async #search(): Promise<GatewayReply | undefined> {
    const { answers, embedder } = this.#means;
    if (embedder === undefined) return undefined;
    const question = semanticQuestion(this.#asked, promptEstimate(this.context), embedder.model);
    if (question === undefined) return undefined;
    const vector = await embedder.embed(question.text, this.context.snapshot);
    if (vector === undefined) return undefined;
    this.meaning = { question, vector };
    const entry = await answers.recallSimilar(question, vector, this.rule.maxAgeMs);
    const reply = entry === undefined ? undefined : this.#give(entry, 'similar');
    if (entry !== undefined && reply !== undefined) this.land({ answer: entry, found: 'similar', usage: entry.usage });
    this.#tell();
    return reply;
  }

  #waited(
    waited: Awaited<ReturnType<Companion['wait']>>,
  ): GatewayReply | undefined | Promise<GatewayReply | undefined> {
    const { context } = this;
    context.onGone = undefined;
    if (waited.kind === 'gone' || context.gone) {
      if (waited.kind === 'lead') waited.lead.fail(abandoned(), 'caller');
      throw new CallerLeft();
    }
    if (waited.kind === 'lead') return this.#take(waited.lead);
    if (waited.kind === 'alone') return undefined;
    if (waited.kind === 'failed') return waited.failure;
    if (waited.kind === 'shared') {
      this.#found = 'equal';
      this.#tell();
      return sharedReply(waited.shared);
    }
    const { answer, found } = waited.landed;
    return answer === undefined ? undefined : this.#give(answer, found);
  }

  #give(answer: KeptAnswer, found: 'equal' | 'similar'): GatewayReply | undefined {
    const reply = recalledReply(this.context, answer);
    if (reply !== undefined) this.note(answer, found);
    return reply;
  }

  /** The answer was given, and nobody called for it. */
  note(answer: KeptAnswer, found: 'equal' | 'similar' = 'equal'): void {
    this.#found = found;
    this.recalled = answer;
    this.context.exchange.answeredModel = answer.model;
    this.#tell();
  }

  #tell(): void {
    const { recalled, context } = this;
    const use: CacheUse = {
      status: cacheStatus({
        enabled: true,
        refreshed: context.control.forceRefresh,
        found: this.#found,
        searched: this.meaning !== undefined,
      }),
      recalled: this.#found === undefined ? undefined : { provider: recalled?.provider ?? '', cost: recalled?.cost },
    };
    context.exchange.cache = use;
  }

  /** As long as a call of its own could take. */
  get #patientUntilMs(): number {
    const { control, deadlineAt, plan } = this.context;
    const target = this.target ?? (plan.root.kind === 'target' ? plan.root : undefined);
    const ownMs = control.requestTimeoutMs ?? target?.settings.requestTimeoutMs;
    return ownMs === undefined ? deadlineAt : Math.min(deadlineAt, performance.now() + ownMs);
  }

  /** It tells the others nothing: their credential, time and limits are their own. */
  #isOwnFault({ code }: GatewayError): boolean {
    const { gone, bearer, exchange } = this.context;
    return gone || bearer !== undefined || exchange.refusal !== undefined || code === 'request_timeout';
  }
}

function abandoned(): Failure {
  const error = new GatewayError('upstream_cut', 'The request that was waited for was given up.');
  return { ...refusedReply(error, undefined), error };
}

/** One try at one target: encode, call, read the answer. Never throws: whatever happens becomes a reply. */
import type { IncomingHttpHeaders } from 'node:http';
import { decodeUnary, streamTransform } from './answer-dialect.ts';
import { isUnwanted } from './cache/unwanted.ts';
import { GatewayError } from './errors.ts';
import type { Attempt } from './exchange.ts';
import { failedReply, refusedReply } from './failed-reply.ts';
import type { TimeLimits } from './gateway-state.ts';
import type { Settings, Target, Upstream } from './plan/plan.ts';
import type { GatewayReply } from './reply.ts';
import type { RequestContext } from './request-context.ts';
import { type EncodedRequest, encodeRequest } from './request-dialect.ts';
import { targetUpstream } from './resolve/target-upstream.ts';
import { StreamAnswer } from './stream/stream-answer.ts';
import { newSpanId } from './telemetry/trace-context.ts';
import { type CallEvents, UpstreamCall } from './upstream/call.ts';
import type { Connections } from './upstream/connections.ts';
import { Deadline, type Deadlines } from './upstream/deadlines.ts';
import { upstreamHeaders } from './upstream/headers.ts';
import { upstreamProblem } from './upstream/problem.ts';
import { UnaryBody } from './upstream/unary-body.ts';

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i;
const NO_SECRETS: readonly string[] = [];

export interface AttemptMeans {
  readonly limits: TimeLimits;
  readonly connections: Connections;
  readonly deadlines: Deadlines;
}

/** Resolves when the answer is whole (unary), committed (stream) or has failed. */
export function attemptTarget(
  means: AttemptMeans,
  context: RequestContext,
  target: Target,
  retry: number,
): Promise<GatewayReply> {
  let upstream: Upstream | undefined;
  let encoded: EncodedRequest;
  try {
    const addressed = targetUpstream(context, target);
    upstream = addressed.upstream;
    encoded = encodeRequest(context, target, upstream, addressed.model);
  } catch (error) {
    return Promise.resolve(refusedReply(error, upstream));
  }
  const reached = upstream;
  return new Promise((resolve) => {
    new AttemptRun(means, context, target, reached, retry, encoded, resolve).start();
  });
}

class AttemptRun implements CallEvents {
  private readonly means: AttemptMeans;
  private readonly context: RequestContext;
  private readonly settings: Settings;
  private readonly upstream: Upstream;
  private readonly resolve: (reply: GatewayReply) => void;
  private readonly attempt: Attempt;
  private readonly call: UpstreamCall;
  private readonly deadline: Deadline;
  private readonly timeoutMs: number | undefined;
  private readonly body = new UnaryBody();
  private headers: IncomingHttpHeaders = {};
  private stream: StreamAnswer | undefined;
  private firstByte = false;

  constructor(
    means: AttemptMeans,
    context: RequestContext,
    target: Target,
    upstream: Upstream,
    retry: number,
    encoded: EncodedRequest,
    resolve: (reply: GatewayReply) => void,
  ) {
    this.means = means;
    this.context = context;
    this.settings = target.settings;
    this.upstream = upstream;
    this.resolve = resolve;
    this.timeoutMs = context.control.requestTimeoutMs ?? target.settings.requestTimeoutMs;
    this.attempt = newAttempt(context, target, upstream, retry, encoded.model);
    const headers = upstreamHeaders(context, target.settings, upstream, this.attempt);
    const request = { path: encoded.path, headers, body: encoded.body };
    this.call = new UpstreamCall(
      means.connections,
      means.connections.lane(upstream.origin, upstream.listed),
      request,
      upstream.provider.name,
      this,
    );
    const limitAt = this.attempt.startedAt + (this.timeoutMs ?? means.limits.firstByteMs);
    this.deadline = new Deadline(Math.min(limitAt, context.deadlineAt), this.onDeadline);
  }

  start(): void {
    this.context.exchange.attempts.push(this.attempt);
    this.context.onGone = this.onGone;
    this.means.deadlines.add(this.deadline);
    this.call.start();
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.attempt.status = status;
    this.headers = headers;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      return this.giveUp(this.invalid(`sent content-encoding ${encoding.slice(0, 32)} though identity was asked for`));
    if (status >= 200 && status < 300 && this.context.exchange.stream) this.openStream(headers);
  }

  onBytes(chunk: Buffer): void {
    if (!this.firstByte) this.noteFirstByte();
    if (this.stream !== undefined) return this.stream.onBytes(chunk);
    try {
      this.body.add(chunk, this.upstream.provider.name);
    } catch (error) {
      this.giveUp(error as GatewayError);
    }
  }

  onEnd(): void {
    if (this.stream !== undefined) return this.stream.onEnd();
    const status = this.attempt.status ?? 0;
    const owned = this.upstream.ownsCredential;
    if (status < 200 || status >= 300)
      return this.fail(
        upstreamProblem(status, this.body.taken(), this.headers, this.upstream, owned),
        status < 400 ? undefined : status,
      );
    try {
      this.succeed(decodeUnary(this.context, this.settings, this.upstream, this.body.taken()));
    } catch (error) {
      this.fail(error as GatewayError);
    }
  }

  onFailure(error: GatewayError): void {
    if (this.stream !== undefined) this.stream.onFailure(error);
    else this.fail(error);
  }

  private openStream(headers: IncomingHttpHeaders): void {
    if (!EVENT_STREAM.test(headers['content-type'] ?? ''))
      return this.giveUp(this.invalid('answered a stream request with something that is no event stream'));
    const terms = {
      delivery: this.context.inspection?.holdsStream === true ? 'whole' : this.settings.streamDelivery,
      idleTimeoutMs: this.settings.streamIdleTimeoutMs,
      writeIdleMs: this.means.limits.writeIdleMs,
      provider: this.upstream.provider.name,
      secrets: this.upstream.ownsCredential ? this.upstream.headers : NO_SECRETS,
    };
    const { inspection } = this.context;
    const plain = streamTransform(this.context, this.settings, this.upstream);
    const transform = inspection?.watched(plain, this.upstream.provider.name, this.cutStream) ?? plain;
    this.stream = new StreamAnswer(this.call, transform, terms, this.attempt, this.means.deadlines, this.onCommit);
  }

  private readonly onCommit = (failure: GatewayError | undefined): void => {
    if (failure !== undefined) return this.fail(failure);
    this.context.onGone = this.onStreamGone;
    this.succeed(undefined);
  };

  private readonly cutStream = (error: GatewayError): void => this.stream?.cut(error);

  private noteFirstByte(): void {
    this.firstByte = true;
    this.attempt.firstByteAt = performance.now();
    this.deadline.at = this.context.deadlineAt;
  }

  private succeed(body: Buffer | string | undefined): void {
    this.means.deadlines.delete(this.deadline);
    if (this.stream === undefined) this.attempt.endedAt = performance.now();
    this.resolve({
      status: this.attempt.status ?? 200,
      ok: true,
      failure: 'none',
      final: false,
      headers: this.headers,
      contextTooSmall: false,
      attempt: this.attempt,
      upstream: this.upstream,
      budgetKey: this.upstream.budgetKey,
      upstreamHeaders: this.headers,
      error: undefined,
      answerStatus: this.attempt.status ?? 200,
      body,
      stream: this.stream,
      streaming: this.stream !== undefined,
    });
  }

  private giveUp(error: GatewayError): void {
    this.stream?.abandon();
    this.call.abort();
    this.fail(error);
  }

  private fail(error: GatewayError, upstreamStatus?: number): void {
    this.means.deadlines.delete(this.deadline);
    this.context.onGone = undefined;
    this.attempt.endedAt = performance.now();
    this.attempt.errorCode = error.code;
    this.resolve(
      failedReply(error, this.upstream, this.attempt, this.headers, isUnwanted(this.context), upstreamStatus),
    );
  }

  private readonly onGone = (): void => {
    if (!isUnwanted(this.context)) return;
    this.giveUp(new GatewayError('upstream_cut', 'The caller left.', { provider: this.upstream.provider.name }));
  };

  /** Not made where it is needed: a closure of a closure in the context keeps requests alive beyond the young generation. */
  private readonly onStreamGone = (): void => {
    const { cacheTurn } = this.context;
    if (isUnwanted(this.context)) this.stream?.abandon();
    else if (cacheTurn?.tap !== undefined) this.stream?.runOn(cacheTurn.tap);
  };

  private readonly onDeadline = (): void => {
    const provider = this.upstream.provider.name;
    const own = this.timeoutMs !== undefined && !this.firstByte && performance.now() < this.context.deadlineAt;
    const error = own
      ? new GatewayError(
          'request_timeout',
          `${provider} sent no answer within the request_timeout of ${this.timeoutMs} ms.`,
          { provider },
        )
      : new GatewayError('upstream_timeout', `${provider} did not answer within the limits of this installation.`, {
          provider,
        });
    this.giveUp(error);
  };

  private invalid(what: string): GatewayError {
    const provider = this.upstream.provider.name;
    return new GatewayError('upstream_invalid', `${provider} ${what}.`, { provider });
  }
}

function newAttempt(
  context: RequestContext,
  target: Target,
  upstream: Upstream,
  retry: number,
  model: string | undefined,
): Attempt {
  return {
    target: target.path,
    provider: upstream.provider.name,
    integration: upstream.integration,
    model,
    host: upstream.host,
    retry,
    startedAt: performance.now(),
    firstByteAt: undefined,
    endedAt: undefined,
    status: undefined,
    errorCode: undefined,
    spanId: context.exchange.trace.sampled ? newSpanId() : undefined,
  };
}

/** The reply that routing came to, or the stream to its end. */
import { routedHeaders, sendBody, sendError } from '../answer.ts';
import type { SharedStream } from '../cache/shared-stream.ts';
import { isUnwanted } from '../cache/unwanted.ts';
import { CLIENT_DIALECTS } from '../dialects/client-dialects.ts';
import { GatewayError } from '../errors.ts';
import { isDenial } from '../guardrails/denial.ts';
import { withResults, withResultsEvent } from '../guardrails/shown-results.ts';
import type { Target } from '../plan/plan.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import type { StreamAnswer } from '../stream/stream-answer.ts';
import type { StreamOutcome } from '../stream/stream-terms.ts';

const FINISHED: StreamOutcome = { error: undefined, clientGone: false };

export function answer(context: RequestContext): void | Promise<void> {
  const { routed } = context;
  const reply = routed?.reply;
  if (context.gone) return runOn(context, reply);
  if (routed === undefined || reply === undefined) throw context.admission?.takeRefusal() ?? noTarget();
  const headers = routedHeaders(context, routed);
  if (reply.error !== undefined) return sendError(context, reply.error, headers);
  if (reply.shared !== undefined) return sendShared(context, reply.shared, reply.answerStatus, headers);
  if (reply.stream !== undefined && routed.target !== undefined)
    return sendStream(context, reply.stream, reply.answerStatus, headers, routed.target);
  if (!headers.includes('content-type')) headers.push('content-type', 'application/json');
  sendBody(context, reply.answerStatus, headers, toldBody(context, reply.body ?? ''));
}

/** The body as it goes out: what guardrails said is told in it where that is wanted. */
function toldBody(context: RequestContext, body: Buffer | string): Buffer | string {
  const { inspection, exchange } = context;
  const told = inspection?.told;
  if (told === undefined) return body;
  if (!exchange.stream) return withResults(body, told);
  return withResultsEvent(body, told, context.endpoint, { id: exchange.id, model: exchange.answeredModel });
}

function noTarget(): GatewayError {
  return new GatewayError(
    'no_target',
    'No target of the config could be tried: all of its weights or circuits exclude them.',
  );
}

function sendStream(
  context: RequestContext,
  stream: StreamAnswer,
  status: number,
  headers: string[],
  target: Target,
): void | Promise<void> {
  const { exchange, response } = context;
  const whole = stream.takeWhole();
  if (whole !== undefined) {
    noteOutcome(context, stream, FINISHED, target);
    tellWhole(context, whole);
    return sendBody(context, status, headers, whole);
  }
  const dialect = CLIENT_DIALECTS[context.endpoint.dialect];
  exchange.status = status;
  exchange.firstByteAt = performance.now();
  response.writeHead(status, headers);
  return new Promise((resolve) => {
    stream.pipe(
      response,
      (error) => dialect.errorEvent(error),
      (outcome) => {
        noteOutcome(context, stream, outcome, target);
        resolve();
      },
      context.cacheTurn?.listen(),
    );
  });
}

function tellWhole({ cacheTurn }: RequestContext, whole: Buffer | string): void {
  const tap = cacheTurn?.listen();
  tap?.push(whole);
  tap?.end();
}

/** The caller has left: others may still wait for the same. */
function runOn(context: RequestContext, reply: GatewayReply | undefined): void | Promise<void> {
  const stream = reply?.stream;
  const listener = isUnwanted(context) ? undefined : context.cacheTurn?.listen();
  reply?.shared?.abandon();
  if (stream === undefined || listener === undefined) return stream?.abandon();
  return new Promise((resolve) => {
    stream.runOn(listener, () => {
      noteUse(context, stream);
      resolve();
    });
  });
}

/** A part in a stream that runs for somebody else. */
function sendShared(context: RequestContext, shared: SharedStream, status: number, headers: string[]): Promise<void> {
  const { exchange, response, cacheTurn } = context;
  const dialect = CLIENT_DIALECTS[context.endpoint.dialect];
  exchange.status = status;
  exchange.firstByteAt = performance.now();
  response.writeHead(status, headers);
  context.onGone = () => shared.abandon();
  return new Promise((resolve) => {
    shared.pipe(
      response,
      (error) => dialect.errorEvent(error),
      ({ error, clientGone }, landed) => {
        if (clientGone) context.gone = true;
        exchange.streamFailed = error !== undefined;
        exchange.errorCode = error?.code;
        if (landed?.answer !== undefined) cacheTurn?.note(landed.answer);
        resolve();
      },
    );
  });
}

function noteUse({ exchange }: RequestContext, stream: StreamAnswer): void {
  exchange.usage = stream.usage;
  exchange.outputEvents = stream.contentEvents;
  exchange.answeredModel = stream.model;
}

function noteOutcome(context: RequestContext, stream: StreamAnswer, outcome: StreamOutcome, target: Target): void {
  const { exchange, gateway } = context;
  noteUse(context, stream);
  if (outcome.clientGone) context.gone = true;
  else if (outcome.error === undefined) gateway.breakers.noteStreamSuccess(target);
  else {
    exchange.streamFailed = true;
    exchange.errorCode = outcome.error.code;
    if (!isDenial(outcome.error))
      gateway.breakers.noteStreamFailure(target, outcome.error.code === 'upstream_stalled' ? 408 : 502);
  }
}

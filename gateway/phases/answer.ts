/** The reply that routing came to, or the stream to its end. */
import { routedHeaders, sendBody, sendError } from '../answer.ts';
import { CLIENT_DIALECTS } from '../dialects/client-dialects.ts';
import { GatewayError } from '../errors.ts';
import type { Target } from '../plan/plan.ts';
import type { RequestContext } from '../request-context.ts';
import type { StreamAnswer, StreamOutcome } from '../stream/stream-answer.ts';

const FINISHED: StreamOutcome = { error: undefined, clientGone: false };

export function answer(context: RequestContext): void | Promise<void> {
  const { routed } = context;
  const reply = routed?.reply;
  if (context.gone) return reply?.stream?.abandon();
  if (routed === undefined || reply === undefined)
    throw new GatewayError(
      'no_target',
      'No target of the config could be tried: all of its weights or circuits exclude them.',
    );
  const headers = routedHeaders(context, routed);
  if (reply.error !== undefined) return sendError(context, reply.error, headers);
  if (reply.stream !== undefined && routed.target !== undefined)
    return sendStream(context, reply.stream, reply.answerStatus, headers, routed.target);
  if (!headers.includes('content-type')) headers.push('content-type', 'application/json');
  sendBody(context, reply.answerStatus, headers, reply.body ?? '');
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
    );
  });
}

function noteOutcome(context: RequestContext, stream: StreamAnswer, outcome: StreamOutcome, target: Target): void {
  const { exchange, gateway } = context;
  exchange.usage = stream.usage;
  exchange.answeredModel = stream.model;
  if (outcome.clientGone) context.gone = true;
  else if (outcome.error === undefined) gateway.breakers.noteStreamSuccess(target);
  else {
    exchange.streamFailed = true;
    exchange.errorCode = outcome.error.code;
    gateway.breakers.noteStreamFailure(target, outcome.error.code === 'upstream_stalled' ? 408 : 502);
  }
}

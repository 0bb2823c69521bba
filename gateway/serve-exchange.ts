/** Runs one request through the pipeline and settles it, exactly once: after the last byte, an abort, or a failure. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendError } from './answer.ts';
import type { EndpointRow } from './endpoints.ts';
import { asGatewayError, type GatewayError } from './errors.ts';
import type { Caller, Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { newExchange } from './new-exchange.ts';
import { PHASES } from './pipeline.ts';
import type { Plan } from './plan/plan.ts';
import { CallerLeft } from './read-body.ts';
import type { GatewayReply } from './reply.ts';
import type { RequestContext } from './request-context.ts';
import type { RequestHeaders } from './resolve/request-headers.ts';
import type { Routed } from './route/reply.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

/** For the log alone: the caller left before its answer. */
const CLIENT_CLOSED = 499;
const NOBODY: Caller = { name: '', namespace: '', key: undefined };
const NO_PLAN = {} as Plan;
const NO_BYTES = Buffer.alloc(0);

class LiveContext implements RequestContext {
  place = -1;
  readonly gateway: GatewayState;
  readonly endpoint: EndpointRow;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly snapshot: ActiveSnapshot;
  readonly exchange: Exchange;
  bytes: Buffer = NO_BYTES;
  body = {};
  caller = NOBODY;
  control = {} as RequestHeaders;
  bearer: string | undefined = undefined;
  gatewayKeyIn: string | undefined = undefined;
  plan = NO_PLAN;
  routed: Routed<GatewayReply> | undefined = undefined;
  deadlineAt: number;
  gone = false;
  onGone: (() => void) | undefined = undefined;

  constructor(
    gateway: GatewayState,
    snapshot: ActiveSnapshot,
    endpoint: EndpointRow,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    this.gateway = gateway;
    this.snapshot = snapshot;
    this.endpoint = endpoint;
    this.request = request;
    this.response = response;
    this.exchange = newExchange(gateway, endpoint, endpoint.path, request);
    this.deadlineAt = this.exchange.startedAt + gateway.limits.attemptsMs;
  }

  closing(): boolean {
    return this.gateway.draining;
  }

  readonly onClose = (): void => {
    if (this.response.writableFinished) return;
    this.gone = true;
    this.onGone?.();
  };
}

/** Never rejects. */
export async function serveExchange(
  gateway: GatewayState,
  snapshot: ActiveSnapshot,
  endpoint: EndpointRow,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const context = new LiveContext(gateway, snapshot, endpoint, request, response);
  gateway.metrics.begin();
  gateway.running.add(context);
  response.on('close', context.onClose);
  try {
    for (const phase of PHASES) {
      const wait = phase.run(context);
      if (wait !== undefined) await wait;
    }
  } catch (error) {
    fail(context, error);
  }
  settle(context);
}

function fail(context: RequestContext, cause: unknown): void {
  if (cause instanceof CallerLeft || context.gone) {
    context.gone = true;
    return;
  }
  const error = asGatewayError(cause);
  if (error.code === 'internal') logDefect(context, error);
  if (context.response.headersSent) {
    context.exchange.errorCode = error.code;
    context.response.destroy();
  } else sendError(context, error);
}

/** Name and place of a defect; never a value of the request. */
function logDefect(context: RequestContext, error: GatewayError): void {
  const cause = error.cause instanceof Error ? error.cause : error;
  context.gateway.log.event('error', 'internal error', {
    trace_id: context.exchange.trace.traceId,
    name: cause.name,
    stack: cause.stack?.split('\n').slice(1, 8).join(' '),
  });
}

/** Answers with an error in place of what is under way; does nothing once an answer has begun. */
export function breakOff(context: RequestContext, error: GatewayError): void {
  if (context.gone || context.response.headersSent) return;
  sendError(context, error);
  context.gone = true;
  context.onGone?.();
}

function settle(context: RequestContext): void {
  const { exchange, gateway } = context;
  if (context.gone && !context.response.writableEnded) exchange.status = CLIENT_CLOSED;
  gateway.running.delete(context);
  gateway.metrics.settle(exchange);
  gateway.log.request(exchange);
  gateway.tracing.record(exchange);
}

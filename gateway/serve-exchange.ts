/** Runs one request through the pipeline and settles it, exactly once: after the last byte, an abort, or a failure. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendError } from './answer.ts';
import type { CacheTurn } from './cache/cache-turn.ts';
import type { EndpointRow } from './endpoints.ts';
import { asGatewayError, type GatewayError } from './errors.ts';
import type { Caller, Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import type { Inspection } from './guardrails/inspection.ts';
import type { Admission } from './limits/admission.ts';
import { billOf } from './money/bill.ts';
import { newExchange } from './new-exchange.ts';
import { PHASES, type Phase } from './pipeline.ts';
import type { Plan } from './plan/plan.ts';
import { CallerLeft } from './read-body.ts';
import type { GatewayReply } from './reply.ts';
import type { RequestContext } from './request-context.ts';
import type { RequestHeaders } from './resolve/request-headers.ts';
import type { Addressed } from './resolve/target-upstream.ts';
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
  endpoint: EndpointRow;
  readonly promptReference: string | undefined;
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
  addressed: Addressed | undefined = undefined;
  admission: Admission | undefined = undefined;
  inspection: Inspection | undefined = undefined;
  cacheTurn: CacheTurn | undefined = undefined;
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
    promptReference: string | undefined,
  ) {
    this.gateway = gateway;
    this.snapshot = snapshot;
    this.endpoint = endpoint;
    this.promptReference = promptReference;
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

/** Never rejects. `promptReference`: the stored prompt that the path names. */
export async function serveExchange(
  gateway: GatewayState,
  snapshot: ActiveSnapshot,
  endpoint: EndpointRow,
  request: IncomingMessage,
  response: ServerResponse,
  promptReference?: string,
  phases: readonly Phase[] = PHASES,
): Promise<void> {
  const context = new LiveContext(gateway, snapshot, endpoint, request, response, promptReference);
  gateway.metrics.begin();
  gateway.running.add(context);
  response.on('close', context.onClose);
  try {
    for (const phase of phases) {
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
  context.cacheTurn?.fail(error);
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

/** Once, when an exchange is over: what was used is billed, counted and told. */
export function settle(context: RequestContext): void {
  const { exchange, gateway } = context;
  if (context.gone && !context.response.writableEnded) exchange.status = CLIENT_CLOSED;
  gateway.running.delete(context);
  context.cacheTurn?.end();
  exchange.bill = billOf(context);
  context.admission?.settle(exchange.bill);
  gateway.metrics.settle(exchange);
  gateway.log.request(exchange);
  gateway.tracing.record(exchange);
  gateway.ledger?.append(exchange);
}

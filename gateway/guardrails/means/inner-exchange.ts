/**
 * A call of a model that a check makes: a request of its own, on behalf of the one that is checked, through limits, route and
 * settlement like any other. It has no guardrails: a judge is not judged.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Completion } from '../../checks/means.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { ENDPOINTS, type EndpointRow } from '../../endpoints.ts';
import { asGatewayError, GatewayError } from '../../errors.ts';
import type { Caller, Exchange } from '../../exchange.ts';
import type { GatewayState } from '../../gateway-state.ts';
import type { Admission } from '../../limits/admission.ts';
import { newExchange } from '../../new-exchange.ts';
import { admit } from '../../phases/admit.ts';
import { routeRequest } from '../../phases/route.ts';
import { buildPlan } from '../../plan/build.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Json } from '../../providers/provider.ts';
import type { GatewayReply } from '../../reply.ts';
import type { RequestContext } from '../../request-context.ts';
import { NO_CONTROL, type RequestHeaders } from '../../resolve/request-headers.ts';
import type { Addressed } from '../../resolve/target-upstream.ts';
import type { Routed } from '../../route/reply.ts';
import { settle } from '../../serve-exchange.ts';
import type { ActiveSnapshot } from '../../snapshot/active-snapshot.ts';

const CHAT = '/v1/chat/completions';

export interface InnerCall extends Completion {
  /** Whose Integrations the model's slug means. */
  readonly namespace: string;
}

/** The text of the answer. Rejected with a GatewayError where there is none. */
export async function completeInside(asker: RequestContext, call: InnerCall): Promise<string> {
  const context = new InnerContext(asker, call);
  const { gateway, exchange } = context;
  const leave = (): void => context.leave();
  call.signal.addEventListener('abort', leave, { once: true });
  gateway.metrics.begin();
  gateway.running.add(context);
  try {
    await admit(context);
    await routeRequest(context);
    return textOf(context);
  } catch (thrown) {
    const error = asGatewayError(thrown);
    exchange.status = error.status;
    exchange.errorCode = error.code;
    throw error;
  } finally {
    call.signal.removeEventListener('abort', leave);
    settle(context);
  }
}

function textOf({ routed, exchange }: RequestContext): string {
  const reply = routed?.reply;
  if (reply === undefined) throw new GatewayError('no_target', 'The model could not be asked.');
  if (reply.error !== undefined) throw reply.error;
  exchange.status = reply.answerStatus;
  const answer = JSON.parse(String(reply.body ?? 'null')) as Json | null;
  const [choice] = Array.isArray(answer?.['choices']) ? (answer['choices'] as unknown[]) : [];
  const message = isJson(choice) ? choice['message'] : undefined;
  const content = isJson(message) ? message['content'] : undefined;
  if (typeof content === 'string') return content;
  throw new GatewayError('upstream_invalid', 'The model answered without a text.');
}

class InnerContext implements RequestContext {
  place = -1;
  readonly gateway: GatewayState;
  readonly exchange: Exchange;
  endpoint: EndpointRow;
  readonly promptReference = undefined;
  readonly request: IncomingMessage;
  /** The asker's: nothing is written to it. */
  readonly response: ServerResponse;
  readonly snapshot: ActiveSnapshot;
  bytes: Buffer;
  body: Json;
  caller: Caller;
  control: RequestHeaders = NO_CONTROL;
  bearer = undefined;
  gatewayKeyIn: string | undefined;
  plan: Plan;
  addressed: Addressed | undefined = undefined;
  admission: Admission | undefined = undefined;
  inspection = undefined;
  readonly cacheTurn = undefined;
  routed: Routed<GatewayReply> | undefined = undefined;
  deadlineAt: number;
  gone = false;
  onGone: (() => void) | undefined = undefined;

  constructor(asker: RequestContext, { namespace, model, messages, json, timeoutMs }: InnerCall) {
    const { gateway, snapshot, request, response, caller } = asker;
    this.gateway = gateway;
    this.snapshot = snapshot;
    this.request = request;
    this.response = response;
    this.gatewayKeyIn = asker.gatewayKeyIn;
    // Who is asked while the asker's own turn lasts must not wait for that turn to end.
    this.caller = caller.key === undefined ? caller : { ...caller, key: { ...caller.key, concurrency: undefined } };
    this.endpoint = chatEndpoint();
    const slug = model.slice(1, model.indexOf('/'));
    const origin = { name: 'guardrail', namespace, credentialsAt: () => undefined };
    this.plan = buildPlan(snapshot, { virtual_key: slug }, origin);
    this.body = { model, messages, temperature: 0, ...(json ? { response_format: { type: 'json_object' } } : {}) };
    this.bytes = Buffer.from(JSON.stringify(this.body));
    this.exchange = innerExchange(asker, this.endpoint, model);
    this.deadlineAt = performance.now() + timeoutMs;
  }

  closing(): boolean {
    return this.gateway.draining;
  }

  leave(): void {
    this.gone = true;
    this.onGone?.();
  }
}

/** Of the asker's trace, and counted for the asker's key. */
function innerExchange({ gateway, request, exchange }: RequestContext, endpoint: EndpointRow, model: string): Exchange {
  const { trace, caller, metadata } = exchange;
  const inner = newExchange(gateway, endpoint, CHAT, request);
  return {
    ...inner,
    trace: {
      ...inner.trace,
      traceId: trace.traceId,
      echoed: trace.echoed,
      parentSpanId: trace.spanId,
      sampled: trace.sampled,
    },
    caller,
    metadata,
    requestedModel: model,
    inspected: { isInner: true },
  };
}

function chatEndpoint(): EndpointRow {
  const found = ENDPOINTS.find(({ path }) => path === CHAT);
  if (found === undefined) throw new Error(`there is no endpoint ${CHAT}`);
  return found;
}

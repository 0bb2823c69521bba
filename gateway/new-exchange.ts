/** What is known of a request when its headers are read. */
import type { IncomingMessage } from 'node:http';
import type { Endpoint, Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { readTrace } from './telemetry/trace-context.ts';

let requests = 0;
const idPrefix = `req_${Date.now().toString(36)}${Math.floor(Math.random() * 36 ** 4).toString(36)}`;

/** `endpoint` is undefined for what is no inference. */
export function newExchange(
  gateway: GatewayState,
  endpoint: Endpoint | undefined,
  pathname: string,
  request: IncomingMessage,
): Exchange {
  requests += 1;
  return {
    id: `${idPrefix}${requests.toString(36)}`,
    method: request.method ?? 'POST',
    pathname,
    endpoint,
    startedAt: performance.now(),
    trace: readTrace(request.headers, gateway.tracing.sample),
    caller: undefined,
    config: undefined,
    prompt: undefined,
    metadata: {},
    requestedModel: undefined,
    stream: false,
    attempts: [],
    status: 0,
    errorCode: undefined,
    firstByteAt: undefined,
    usage: undefined,
    promptEstimate: 0,
    outputEvents: 0,
    cache: undefined,
    inspected: undefined,
    refusal: undefined,
    bill: undefined,
    streamFailed: false,
    answeredModel: undefined,
    generation: gateway.snapshot?.generation ?? 0,
  };
}

/** The spans of a settled exchange as plain data: a server span, and a client span per attempt. Never any prompt text. */
import type { Attempt, Exchange, Trace } from '../exchange.ts';
import type { Bill } from '../money/bill.ts';
import type { Operation, Usage } from '../providers/provider.ts';
import { type CallerTrace, newSpanId } from './trace-context.ts';

export type SpanAttributes = Record<string, string | number | boolean>;

export interface SpanRecord {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** `performance.now()` milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
  readonly events?: readonly SpanEvent[];
}

export interface SpanEvent {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** The operations' names in the GenAI semantic conventions. */
const OPERATION_NAMES: Readonly<Record<Operation, string>> = {
  chat: 'chat',
  complete: 'text_completion',
  embed: 'embeddings',
  countTokens: 'count_tokens',
};
/** The convention's word for a method that it does not know, so that callers cannot invent values. */
const OTHER_METHOD = '_OTHER';
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY']);
const MAX_VALUE_CHARS = 256;
/** Of a bill in one US dollar. */
const COST_UNITS = 1e12;
const HTTP_ERROR = 400;
const SERVER_ERROR = 500;

/** The GenAI semantic conventions' name of an operation. */
export function operationName(operation: Operation): string {
  return OPERATION_NAMES[operation];
}

function put(to: SpanAttributes, key: string, value: string | number | boolean | undefined): void {
  if (value !== undefined) to[key] = typeof value === 'string' ? value.slice(0, MAX_VALUE_CHARS) : value;
}

/** `host:port`, `host`, `[v6]:port` or a bare IPv6 address. */
function putServer(to: SpanAttributes, host: string): void {
  const match = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(host);
  put(to, 'server.address', match?.[1] ?? match?.[2] ?? host);
  if (match?.[3] !== undefined) put(to, 'server.port', Number(match[3]));
}

function putUsage(to: SpanAttributes, usage: Usage): void {
  put(to, 'gen_ai.usage.input_tokens', usage.prompt_tokens);
  put(to, 'gen_ai.usage.output_tokens', usage.completion_tokens);
  put(to, 'gen_ai.usage.cache_read.input_tokens', usage.prompt_tokens_details?.cached_tokens);
  put(to, 'gen_ai.usage.cache_creation.input_tokens', usage.prompt_tokens_details?.cache_creation_tokens);
  put(to, 'gen_ai.usage.reasoning.output_tokens', usage.completion_tokens_details?.reasoning_tokens);
}

/** For people and charts: the exact cost is in the log. */
function putBill(to: SpanAttributes, { cost, priceVersion, estimated }: Bill): void {
  if (cost !== undefined) put(to, 'modelgateway.cost_usd', cost / COST_UNITS);
  put(to, 'modelgateway.price_version', priceVersion);
  if (estimated) put(to, 'modelgateway.usage_estimated', true);
}

function errorTypeOf(code: string | undefined, status: number | undefined, failedFrom: number): string | undefined {
  return code ?? (status === undefined || status < failedFrom ? undefined : String(status));
}

/** What the caller said where it is not what we use: `x-gateway-trace-id` and `x-gateway-span-id` as given. */
function putCallerWords(to: SpanAttributes, trace: Trace & Partial<CallerTrace>): void {
  if (trace.echoed !== trace.traceId) put(to, 'modelgateway.trace_id', trace.echoed);
  put(to, 'modelgateway.span_id', trace.namedSpanId);
}

function serverAttributes(exchange: Exchange): SpanAttributes {
  const to: SpanAttributes = {};
  const { method, endpoint, caller } = exchange;
  put(to, 'http.request.method', METHODS.has(method) ? method : OTHER_METHOD);
  put(to, 'url.path', exchange.pathname);
  put(to, 'http.route', endpoint?.path);
  put(to, 'http.response.status_code', exchange.status);
  put(to, 'error.type', errorTypeOf(exchange.errorCode, exchange.status, HTTP_ERROR));
  put(to, 'gen_ai.request.model', exchange.requestedModel);
  put(to, 'modelgateway.endpoint', endpoint?.type);
  put(to, 'modelgateway.config', exchange.config);
  put(to, 'modelgateway.prompt', exchange.prompt?.name);
  put(to, 'modelgateway.prompt_version', exchange.prompt?.version);
  put(to, 'modelgateway.caller', caller?.name);
  put(to, 'modelgateway.namespace', caller?.namespace);
  put(to, 'modelgateway.generation', exchange.generation);
  put(to, 'modelgateway.guardrail.denied_by', exchange.inspected?.deniedBy);
  put(to, 'modelgateway.guardrail.failed_checks', exchange.inspected?.failed?.join(', '));
  if (exchange.streamFailed) put(to, 'modelgateway.stream_failed', true);
  putCallerWords(to, exchange.trace);
  return to;
}

/** Usage stands on the span of the attempt that answered alone, so that sums over spans count it once. */
function attemptAttributes(exchange: Exchange, attempt: Attempt, isLast: boolean): SpanAttributes {
  const to: SpanAttributes = {};
  const { endpoint } = exchange;
  if (endpoint !== undefined) put(to, 'gen_ai.operation.name', operationName(endpoint.operation));
  put(to, 'gen_ai.provider.name', attempt.provider);
  put(to, 'gen_ai.request.model', attempt.model);
  if (exchange.stream) put(to, 'gen_ai.request.stream', true);
  putServer(to, attempt.host);
  put(to, 'http.response.status_code', attempt.status);
  put(to, 'error.type', errorTypeOf(attempt.errorCode, attempt.status, HTTP_ERROR));
  if (attempt.retry > 0) put(to, 'http.request.resend_count', attempt.retry);
  if (exchange.stream && attempt.firstByteAt !== undefined) {
    put(to, 'gen_ai.response.time_to_first_chunk', (attempt.firstByteAt - attempt.startedAt) / 1000);
  }
  put(to, 'modelgateway.target', attempt.target);
  put(to, 'modelgateway.integration', attempt.integration);
  put(to, 'modelgateway.config', exchange.config);
  if (isLast) put(to, 'gen_ai.response.model', exchange.answeredModel);
  const usage = exchange.bill?.usage ?? exchange.usage;
  if (isLast && usage !== undefined) putUsage(to, usage);
  if (isLast && exchange.bill !== undefined) putBill(to, exchange.bill);
  return to;
}

/** The server span. `endedAt` is `performance.now()` milliseconds. */
export function serverSpan(exchange: Exchange, endedAt: number): SpanRecord {
  const { trace, endpoint, method } = exchange;
  const known = METHODS.has(method) ? method : 'HTTP';
  return {
    name: trace.spanName ?? (endpoint === undefined ? known : `${known} ${endpoint.path}`),
    spanId: trace.spanId,
    parentSpanId: trace.parentSpanId,
    startedAt: exchange.startedAt,
    endedAt,
    attributes: serverAttributes(exchange),
    failed: exchange.status >= SERVER_ERROR || exchange.streamFailed,
    events: feedbackEvents(exchange),
  };
}

function feedbackEvents({ inspected }: Exchange): readonly SpanEvent[] {
  return (inspected?.feedback ?? []).map(({ source, value, weight, hook }) => {
    const attributes: SpanAttributes = {};
    put(attributes, 'modelgateway.feedback.source', source);
    put(attributes, 'modelgateway.feedback.value', value);
    put(attributes, 'modelgateway.feedback.weight', weight);
    put(attributes, 'modelgateway.guardrail', hook);
    return { name: 'feedback', attributes };
  });
}

/** The client spans in the order of the attempts; one that has no end ended with the exchange. */
export function attemptSpans(exchange: Exchange, endedAt: number): SpanRecord[] {
  const { attempts, endpoint, trace } = exchange;
  const operation = endpoint === undefined ? 'call' : operationName(endpoint.operation);
  return attempts.map((attempt, index) => {
    const isLast = index === attempts.length - 1;
    return {
      name: `${operation} ${attempt.model?.slice(0, MAX_VALUE_CHARS) ?? attempt.provider}`,
      spanId: attempt.spanId ?? newSpanId(),
      parentSpanId: trace.spanId,
      startedAt: attempt.startedAt,
      endedAt: attempt.endedAt ?? endedAt,
      attributes: attemptAttributes(exchange, attempt, isLast),
      failed:
        attempt.errorCode !== undefined || (attempt.status ?? 0) >= HTTP_ERROR || (isLast && exchange.streamFailed),
    };
  });
}

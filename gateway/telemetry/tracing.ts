/** Spans of sampled requests, sent by OpenTelemetry's SDK, which is loaded only where an OTLP endpoint is configured. */
import type { Tracer } from '@opentelemetry/api';
import type { Exchange, Trace } from '../exchange.ts';
import { samplerOf } from './sampling.ts';
import { attemptSpans, type SpanRecord, serverSpan } from './spans.ts';
import type { Sample } from './trace-context.ts';

type OpenTelemetry = typeof import('@opentelemetry/api');
type SdkOptions = Partial<import('@opentelemetry/sdk-node').NodeSDKConfiguration>;
type Sampler = NonNullable<SdkOptions['sampler']>;
type IdGenerator = NonNullable<SdkOptions['idGenerator']>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Where spans go. Without an endpoint nothing is sampled and nothing is loaded. */
export interface Tracing {
  /** Decides when a request comes in; pass it to `readTrace`. */
  readonly sample: Sample;
  /** Queues the spans of a settled exchange; does nothing unless it is sampled. Never throws. */
  record(exchange: Exchange): void;
  /** Sends what is queued. Never rejects. */
  shutdown(): Promise<void>;
}

const OFF: Tracing = { sample: () => false, record: () => {}, shutdown: () => Promise.resolve() };

function isConfigured(env: Environment): boolean {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isDisabled = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
  return endpoint !== undefined && endpoint !== '' && !isDisabled && env.OTEL_TRACES_EXPORTER !== 'none';
}

function namesService(env: Environment): boolean {
  return Boolean(env.OTEL_SERVICE_NAME) || /(^|,)\s*service\.name\s*=/.test(env.OTEL_RESOURCE_ATTRIBUTES ?? '');
}

/** Gives the SDK the ids that the request already has; set just before each span, which the SDK starts synchronously. */
class GivenIds implements IdGenerator {
  traceId = '';
  spanId = '';
  generateTraceId(): string {
    return this.traceId;
  }
  generateSpanId(): string {
    return this.spanId;
  }
}

class SpanWriter {
  readonly #api: OpenTelemetry;
  readonly #tracer: Tracer;
  readonly #ids: GivenIds;

  constructor(api: OpenTelemetry, tracer: Tracer, ids: GivenIds) {
    this.#api = api;
    this.#tracer = tracer;
    this.#ids = ids;
  }

  write(trace: Trace, span: SpanRecord, isServer: boolean, epochMs: number): void {
    const { ROOT_CONTEXT, SpanKind, SpanStatusCode } = this.#api;
    this.#ids.traceId = trace.traceId;
    this.#ids.spanId = span.spanId;
    const kind = isServer ? SpanKind.SERVER : SpanKind.CLIENT;
    const parent = span.parentSpanId === undefined ? ROOT_CONTEXT : this.#parentOf(trace, span.parentSpanId, isServer);
    const startTime = epochMs + span.startedAt;
    const written = this.#tracer.startSpan(span.name, { kind, startTime, attributes: span.attributes }, parent);
    for (const { name, attributes } of span.events ?? []) written.addEvent(name, attributes);
    if (span.failed) written.setStatus({ code: SpanStatusCode.ERROR });
    written.end(epochMs + span.endedAt);
  }

  #parentOf(trace: Trace, spanId: string, isRemote: boolean) {
    const { ROOT_CONTEXT, TraceFlags, createTraceState, trace: spans } = this.#api;
    const context = { traceId: trace.traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote };
    const traceState = trace.traceState === undefined ? undefined : createTraceState(trace.traceState);
    return spans.setSpanContext(ROOT_CONTEXT, traceState === undefined ? context : { ...context, traceState });
  }
}

/** Every span that reaches the SDK was sampled when its request came in. */
function keepAll(api: OpenTelemetry): Sampler {
  const decision = { decision: api.SamplingDecision.RECORD_AND_SAMPLED };
  return { shouldSample: () => decision, toString: () => 'DecidedAtRequest' };
}

async function startSdk(env: Environment) {
  const [api, { NodeSDK }] = await Promise.all([import('@opentelemetry/api'), import('@opentelemetry/sdk-node')]);
  const ids = new GivenIds();
  const sdk = new NodeSDK({
    ...(namesService(env) ? {} : { serviceName: 'model-gateway' }),
    sampler: keepAll(api),
    idGenerator: ids,
    textMapPropagator: null,
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return { api, sdk, ids };
}

/**
 * Starts tracing where `env` (the process' environment, which the SDK reads too) holds `OTEL_EXPORTER_OTLP_ENDPOINT` or
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`; the other `OTEL_*` variables mean what OpenTelemetry says. Rejects with a RangeError
 * for an unknown `OTEL_TRACES_SAMPLER`.
 */
export async function startTracing(env: Environment): Promise<Tracing> {
  if (!isConfigured(env)) return OFF;
  const sample = samplerOf(env.OTEL_TRACES_SAMPLER || undefined, env.OTEL_TRACES_SAMPLER_ARG);
  const { api, sdk, ids } = await startSdk(env);
  const writer = new SpanWriter(api, api.trace.getTracer('model-gateway'), ids);
  return {
    sample,
    record(exchange) {
      if (!exchange.trace.sampled) return;
      const now = performance.now();
      const epochMs = Date.now() - now;
      for (const span of attemptSpans(exchange, now)) writer.write(exchange.trace, span, false, epochMs);
      writer.write(exchange.trace, serverSpan(exchange, now), true, epochMs);
    },
    async shutdown() {
      await sdk.shutdown().catch(() => {});
      for (const global of [api.trace, api.context, api.logs, api.propagation]) global.disable();
    },
  };
}

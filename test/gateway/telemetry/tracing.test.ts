import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTrace, traceparentOf } from '#gateway/telemetry/trace-context.ts';
import { startTracing } from '#gateway/telemetry/tracing.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';
import { anAttempt, anExchange, aTrace, SPAN_ID, TRACE_ID } from './settled-exchange.ts';

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

let receiver: OtlpReceiver;
const before = { ...process.env };

/** As the process that starts with these variables: the SDK reads its own from the environment. */
function start(variables: Record<string, string> = {}) {
  Object.assign(process.env, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', ...variables });
  return startTracing(process.env);
}

function startAt(variables: Record<string, string> = {}) {
  return start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin, ...variables });
}

beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  await receiver.close();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
});

describe('what the collector receives', () => {
  test('a server span with the ids of the trace, and a client span per attempt under it', async () => {
    const tracing = await startAt();
    const trace = readTrace(
      { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: 'vendor=1', 'x-gateway-trace-id': 'order 17' },
      tracing.sample,
    );
    const attempts = [
      anAttempt({ spanId: '1111111111111111', status: 503 }),
      anAttempt({ spanId: '2222222222222222', target: 'config.targets[1]' }),
    ];
    tracing.record(anExchange({ trace, attempts }));
    await tracing.shutdown();
    const spans = receiver.spans();
    expect(spans).toHaveLength(3);
    const [first, second, server] = spans;
    expect(server).toMatchObject({
      traceId: TRACE_ID,
      spanId: trace.spanId,
      parentSpanId: SPAN_ID,
      traceState: 'vendor=1',
      kind: SERVER,
      name: 'POST /v1/chat/completions',
      attributes: {
        'modelgateway.trace_id': 'order 17',
        'modelgateway.config': 'chat',
        'modelgateway.caller': 'checkout',
      },
    });
    expect(first).toMatchObject({
      traceId: TRACE_ID,
      spanId: '1111111111111111',
      parentSpanId: trace.spanId,
      kind: CLIENT,
      status: { code: ERROR },
      attributes: { 'http.response.status_code': 503, 'error.type': '503' },
    });
    expect(second).toMatchObject({
      spanId: '2222222222222222',
      parentSpanId: trace.spanId,
      name: 'chat gpt-4o-mini',
      attributes: {
        'gen_ai.provider.name': 'openai',
        'gen_ai.usage.input_tokens': 11,
        'gen_ai.usage.output_tokens': 5,
        'server.address': 'api.example.com',
        'server.port': 443,
        'modelgateway.target': 'config.targets[1]',
      },
    });
    expect(traceparentOf(trace, '2222222222222222')).toBe(`00-${TRACE_ID}-2222222222222222-01`);
    expect(receiver.requests.every(({ path }) => path === '/v1/traces')).toBe(true);
    expect(JSON.stringify(spans)).not.toContain('canary');
  });

  test('a root without a parent, and the times of the exchange on the wall clock', async () => {
    const tracing = await startAt();
    const wallMs = Date.now();
    tracing.record(anExchange({ trace: aTrace(), attempts: [anAttempt()] }));
    await tracing.shutdown();
    const [client, server] = receiver.spans();
    expect(server?.parentSpanId ?? '').toBe('');
    expect(server).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID });
    const startMs = Number(server?.startTimeUnixNano) / 1e6;
    const durationMs = (Number(client?.endTimeUnixNano) - Number(client?.startTimeUnixNano)) / 1e6;
    expect(Math.abs(startMs - (wallMs - 100))).toBeLessThan(50);
    expect(durationMs).toBeCloseTo(70, 1);
  });

  test('many exchanges keep their own ids', async () => {
    const tracing = await startAt();
    const traces = Array.from({ length: 200 }, () => readTrace({}, tracing.sample));
    for (const trace of traces) tracing.record(anExchange({ trace }));
    await tracing.shutdown();
    const servers = receiver.spans().filter(({ kind }) => kind === SERVER);
    const received = new Map(servers.map(({ traceId, spanId }) => [traceId, spanId]));
    expect(received).toEqual(new Map(traces.map(({ traceId, spanId }) => [traceId, spanId])));
    for (const span of receiver.spans().filter(({ kind }) => kind === CLIENT)) {
      expect(span.parentSpanId).toBe(received.get(span.traceId));
    }
  });

  test('protobuf by default', async () => {
    const tracing = await start({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.origin}/custom`,
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
    });
    tracing.record(anExchange());
    await tracing.shutdown();
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]).toMatchObject({ path: '/custom', contentType: 'application/x-protobuf' });
    expect(receiver.requests[0]?.body.includes(Buffer.from(TRACE_ID, 'hex'))).toBe(true);
    expect(receiver.requests[0]?.body.includes('modelgateway.target')).toBe(true);
  });
});

describe('standard variables', () => {
  const names: [variables: Record<string, string>, service: string][] = [
    [{}, 'model-gateway'],
    [{ OTEL_SERVICE_NAME: 'edge' }, 'edge'],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'service.name=from-attributes,team=a' }, 'from-attributes'],
  ];
  test.each(names)('%o: the service is called %s', async (variables, service) => {
    const tracing = await startAt(variables);
    tracing.record(anExchange());
    await tracing.shutdown();
    expect(receiver.spans()[0]?.resource['service.name']).toBe(service);
  });

  test('OTEL_RESOURCE_ATTRIBUTES stand on every span', async () => {
    const tracing = await startAt({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' });
    tracing.record(anExchange());
    await tracing.shutdown();
    expect(receiver.spans().map(({ resource }) => resource['deployment.environment.name'])).toEqual(['test', 'test']);
  });

  test('OTEL_TRACES_SAMPLER decides, and the flag of a traceparent with it', async () => {
    const tracing = await startAt({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    const unsampled = readTrace({}, tracing.sample);
    const sampled = readTrace({ traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` }, tracing.sample);
    tracing.record(anExchange({ trace: unsampled }));
    tracing.record(anExchange({ trace: sampled }));
    await tracing.shutdown();
    expect([unsampled.sampled, sampled.sampled]).toEqual([false, true]);
    expect(new Set(receiver.spans().map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
  });

  test('an unknown sampler is refused by name', async () => {
    await expect(startAt({ OTEL_TRACES_SAMPLER: 'sometimes' })).rejects.toThrow(/"sometimes" is unknown/);
  });

  const off: [why: string, variables: Record<string, string>][] = [
    ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'true' }],
    ['OTEL_TRACES_EXPORTER=none', { OTEL_TRACES_EXPORTER: 'none' }],
    ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ];
  test.each(off)('off by %s: nothing is sampled or sent', async (_why, variables) => {
    const tracing = await startAt(variables);
    const trace = readTrace({ traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` }, tracing.sample);
    expect(trace.sampled).toBe(false);
    tracing.record(anExchange({ trace }));
    await tracing.shutdown();
    expect(receiver.requests).toEqual([]);
  });
});

test('a collector that is away harms nobody', async () => {
  const tracing = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_TIMEOUT: '200' });
  expect(tracing.sample(TRACE_ID, undefined)).toBe(true);
  tracing.record(anExchange());
  await expect(tracing.shutdown()).resolves.toBeUndefined();
});

/** In a fresh process: which packages `startTracing` loads. */
async function packagesLoadedWith(variables: Record<string, string>): Promise<string> {
  const module = new URL('../../../gateway/telemetry/tracing.ts', import.meta.url).href;
  const script = `
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({ resolve: (name, context, next) => { seen.add(name); return next(name, context); } });
    const { startTracing } = await import(${JSON.stringify(module)});
    const tracing = await startTracing(process.env);
    await tracing.shutdown();
    console.log([...seen].filter((name) => name.startsWith('@')).join(' '));`;
  const { NODE_OPTIONS: _options, ...env } = { ...process.env, ...variables };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
  return stdout.trim();
}

test('OpenTelemetry is loaded only where an endpoint is configured', async () => {
  expect(await packagesLoadedWith({})).toBe('');
  expect(await packagesLoadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin })).toContain(
    '@opentelemetry/sdk-node',
  );
});

/** Exchanges as they are when `settle` sees them, for tests of what is told about them. */
import type { Attempt, Exchange } from '#gateway/exchange.ts';
import type { CallerTrace } from '#gateway/telemetry/trace-context.ts';

export const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
export const SPAN_ID = 'b7ad6b7169203331';

export function aTrace(over: Partial<CallerTrace> = {}): CallerTrace {
  return {
    traceId: TRACE_ID,
    echoed: TRACE_ID,
    parentSpanId: undefined,
    spanId: SPAN_ID,
    spanName: undefined,
    sampled: true,
    traceState: undefined,
    namedSpanId: undefined,
    ...over,
  };
}

/** A successful attempt that began 80 ms ago, had its first byte 30 ms ago and ended 10 ms ago. */
export function anAttempt(over: Partial<Attempt> = {}): Attempt {
  const now = performance.now();
  return {
    target: 'config.targets[0]',
    provider: 'openai',
    integration: undefined,
    model: 'gpt-4o-mini',
    host: 'api.example.com:443',
    retry: 0,
    startedAt: now - 80,
    firstByteAt: now - 30,
    endedAt: now - 10,
    status: 200,
    errorCode: undefined,
    spanId: undefined,
    ...over,
  };
}

/** A successful chat completion that began 100 ms ago. */
export function anExchange(over: Partial<Exchange> = {}): Exchange {
  const now = performance.now();
  return {
    id: 'req-1',
    method: 'POST',
    pathname: '/v1/chat/completions',
    endpoint: { type: 'chatComplete', operation: 'chat', dialect: 'openai', path: '/v1/chat/completions' },
    startedAt: now - 100,
    trace: aTrace(),
    caller: { name: 'checkout', namespace: 'team-a', key: undefined },
    config: 'chat',
    prompt: undefined,
    metadata: { secret_note: 'canary-metadata' },
    requestedModel: 'gpt-4o-mini',
    stream: false,
    attempts: [anAttempt()],
    status: 200,
    errorCode: undefined,
    firstByteAt: now - 25,
    bill: undefined,
    usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
    promptEstimate: 0,
    outputEvents: 0,
    cache: undefined,
    inspected: undefined,
    refusal: undefined,
    streamFailed: false,
    answeredModel: 'gpt-4o-mini-2024-07-18',
    generation: 7,
    ...over,
  };
}

import { describe, expect, test } from 'vitest';
import type { Operation } from '#gateway/providers/provider.ts';
import { attemptSpans, operationName, serverSpan } from '#gateway/telemetry/spans.ts';
import { anAttempt, anExchange, aTrace, SPAN_ID } from './settled-exchange.ts';

const CHAT = { type: 'chatComplete', operation: 'chat', dialect: 'openai', path: '/v1/chat/completions' } as const;

function onlyAttempt(over: Parameters<typeof anAttempt>[0], exchange: Parameters<typeof anExchange>[0] = {}) {
  const [span] = attemptSpans(anExchange({ attempts: [anAttempt(over)], ...exchange }), performance.now());
  if (span === undefined) throw new Error('no span');
  return span;
}

describe('the server span', () => {
  test('says what came in and what went out', () => {
    const exchange = anExchange();
    const span = serverSpan(exchange, exchange.startedAt + 100);
    expect(span).toMatchObject({
      name: 'POST /v1/chat/completions',
      spanId: SPAN_ID,
      parentSpanId: undefined,
      startedAt: exchange.startedAt,
      endedAt: exchange.startedAt + 100,
      failed: false,
    });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'url.path': '/v1/chat/completions',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.request.model': 'gpt-4o-mini',
      'modelgateway.endpoint': 'chatComplete',
      'modelgateway.config': 'chat',
      'modelgateway.caller': 'checkout',
      'modelgateway.namespace': 'team-a',
      'modelgateway.generation': 7,
    });
  });

  test('tells what guardrails made of it, and each word of feedback as an event', () => {
    const feedback = [{ source: 'hook', hook: 'no-word', value: -5, weight: 1 }] as const;
    const inspected = { deniedBy: 'no-word/default.contains', failed: ['no-word/default.contains'], feedback };
    const span = serverSpan({ ...anExchange(), inspected }, 1);
    expect(span.attributes).toMatchObject({
      'modelgateway.guardrail.denied_by': 'no-word/default.contains',
      'modelgateway.guardrail.failed_checks': 'no-word/default.contains',
    });
    expect(span.events).toEqual([
      {
        name: 'feedback',
        attributes: {
          'modelgateway.feedback.source': 'hook',
          'modelgateway.feedback.value': -5,
          'modelgateway.feedback.weight': 1,
          'modelgateway.guardrail': 'no-word',
        },
      },
    ]);
    expect(serverSpan(anExchange(), 1).events).toEqual([]);
  });

  test('keeps the words of the caller for its ids', () => {
    const trace = aTrace({
      echoed: 'order 17',
      namedSpanId: 'step 1',
      spanName: 'plan',
      parentSpanId: '00f067aa0ba902b7',
    });
    const span = serverSpan(anExchange({ trace }), 1);
    expect(span).toMatchObject({ name: 'plan', parentSpanId: '00f067aa0ba902b7' });
    expect(span.attributes).toMatchObject({ 'modelgateway.trace_id': 'order 17', 'modelgateway.span_id': 'step 1' });
  });

  test.each([
    [200, undefined, false, undefined, false],
    [400, 'invalid_value', false, 'invalid_value', false],
    [429, undefined, false, '429', false],
    [499, undefined, false, '499', false],
    [502, 'upstream_unreachable', false, 'upstream_unreachable', true],
    [200, 'upstream_stalled', true, 'upstream_stalled', true],
  ] as const)(
    'status %i, code %s, stream failed %s: error.type %s, failed %s',
    (status, errorCode, streamFailed, type, failed) => {
      const span = serverSpan(anExchange({ status, errorCode, streamFailed }), 1);
      expect(span.attributes['error.type']).toBe(type);
      expect(span.failed).toBe(failed);
    },
  );

  test('unknown endpoints and invented methods add no words of their own', () => {
    const span = serverSpan(anExchange({ endpoint: undefined, method: 'BREW', pathname: `/${'x'.repeat(500)}` }), 1);
    expect(span.name).toBe('HTTP');
    expect(span.attributes['http.request.method']).toBe('_OTHER');
    expect(span.attributes['http.route']).toBeUndefined();
    expect(span.attributes['url.path']).toHaveLength(256);
  });
});

describe('attempt spans', () => {
  test('say who was asked for what, and what it took', () => {
    const usage = {
      prompt_tokens: 11,
      completion_tokens: 5,
      total_tokens: 16,
      prompt_tokens_details: { cached_tokens: 3, cache_creation_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    const span = onlyAttempt({ spanId: '00f067aa0ba902b7' }, { usage });
    expect(span).toMatchObject({
      name: 'chat gpt-4o-mini',
      spanId: '00f067aa0ba902b7',
      parentSpanId: SPAN_ID,
      failed: false,
    });
    expect(span.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.usage.cache_creation.input_tokens': 2,
      'gen_ai.usage.reasoning.output_tokens': 4,
      'server.address': 'api.example.com',
      'server.port': 443,
      'http.response.status_code': 200,
      'modelgateway.target': 'config.targets[0]',
      'modelgateway.config': 'chat',
    });
  });

  test('only the last one carries usage and the answering model, so that sums count once', () => {
    const attempts = [
      anAttempt({ status: 503, errorCode: undefined, target: 'config.targets[0]' }),
      anAttempt({ status: undefined, errorCode: 'upstream_unreachable', retry: 1 }),
      anAttempt({ target: 'config.targets[1]', provider: 'anthropic' }),
    ];
    const [first, second, third] = attemptSpans(anExchange({ attempts }), performance.now());
    expect(first).toMatchObject({
      failed: true,
      attributes: { 'error.type': '503', 'http.response.status_code': 503 },
    });
    expect(second).toMatchObject({
      failed: true,
      attributes: { 'error.type': 'upstream_unreachable', 'http.request.resend_count': 1 },
    });
    expect(third).toMatchObject({ failed: false, attributes: { 'gen_ai.provider.name': 'anthropic' } });
    const counted = [first, second, third].map((span) => span?.attributes['gen_ai.usage.input_tokens']);
    expect(counted).toEqual([undefined, undefined, 11]);
    expect(first?.attributes['gen_ai.response.model']).toBeUndefined();
    expect(second?.attributes['http.response.status_code']).toBeUndefined();
  });

  test('an attempt without its own id gets one, one without an end ends with the exchange', () => {
    const span = onlyAttempt({ spanId: undefined, endedAt: undefined });
    expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(span.endedAt).toBeGreaterThan(span.startedAt);
  });

  test('a stream tells when its first chunk came, and whether it was cut', () => {
    const span = onlyAttempt({ startedAt: 1000, firstByteAt: 1250 }, { stream: true, streamFailed: true });
    expect(span.attributes).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.response.time_to_first_chunk': 0.25,
    });
    expect(span.failed).toBe(true);
  });

  const hosts: [host: string, address: string, port: number | undefined][] = [
    ['api.example.com:443', 'api.example.com', 443],
    ['api.example.com', 'api.example.com', undefined],
    ['127.0.0.1:8000', '127.0.0.1', 8000],
    ['[2001:db8::1]:8443', '2001:db8::1', 8443],
    ['[::1]', '::1', undefined],
    ['2001:db8::1', '2001:db8::1', undefined],
  ];
  test.each(hosts)('host %s is server.address %s and server.port %s', (host, address, port) => {
    const { attributes } = onlyAttempt({ host });
    expect(attributes['server.address']).toBe(address);
    expect(attributes['server.port']).toBe(port);
  });

  const operations: [operation: Operation, name: string][] = [
    ['chat', 'chat'],
    ['complete', 'text_completion'],
    ['embed', 'embeddings'],
    ['countTokens', 'count_tokens'],
  ];
  test.each(operations)('operation %s is called %s', (operation, name) => {
    expect(operationName(operation)).toBe(name);
    const span = onlyAttempt({ model: undefined }, { endpoint: { ...CHAT, operation } });
    expect(span.name).toBe(`${name} openai`);
    expect(span.attributes['gen_ai.operation.name']).toBe(name);
  });
});

test('metadata never reaches a span', () => {
  const exchange = anExchange();
  const spans = [serverSpan(exchange, 1), ...attemptSpans(exchange, 1)];
  expect(JSON.stringify(spans)).not.toContain('canary');
});

/** Metrics, log and spans tell the same story of the same exchanges, whatever these hold. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Exchange } from '#gateway/exchange.ts';
import { createLog } from '#gateway/telemetry/log.ts';
import { createMetrics, type Metrics } from '#gateway/telemetry/metrics.ts';
import { attemptSpans, serverSpan } from '#gateway/telemetry/spans.ts';
import { anyExchange } from './any-exchange.ts';
import { collectingSink } from './collecting-sink.ts';

function freshMetrics(): Metrics {
  return createMetrics({ breakers: () => [], config: () => undefined, refused: () => 0, droppedLogLines: () => 0 });
}

/** Sum over all children of a series name. */
function total(text: string, name: string, label = ''): number {
  const values = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

function sumOf(exchanges: readonly Exchange[], count: (exchange: Exchange) => number): number {
  return exchanges.reduce((sum, exchange) => sum + count(exchange), 0);
}

describe('metrics', () => {
  const expectations: [name: string, label: string, count: (exchange: Exchange) => number][] = [
    ['modelgateway_requests_total', '', () => 1],
    ['modelgateway_request_duration_seconds_count', '', () => 1],
    ['modelgateway_attempts_total', '', ({ attempts }) => attempts.length],
    ['gen_ai_client_operation_duration_seconds_count', '', ({ attempts }) => attempts.length],
    ['modelgateway_retries_total', '', ({ attempts }) => attempts.filter(({ retry }) => retry > 0).length],
    ['modelgateway_tokens_total', 'type="input"', ({ usage }) => usage?.prompt_tokens ?? 0],
    ['modelgateway_tokens_total', 'type="output"', ({ usage }) => usage?.completion_tokens ?? 0],
    ['modelgateway_tokens_total', 'type="cached"', ({ usage }) => usage?.prompt_tokens_details?.cached_tokens ?? 0],
    ['modelgateway_stream_failures_total', '', ({ stream, streamFailed }) => (stream && streamFailed ? 1 : 0)],
    ['modelgateway_first_byte_seconds_count', '', ({ status }) => (status < 300 ? 1 : 0)],
  ];

  test('sums over all labels are what happened', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyExchange, { minLength: 1, maxLength: 20 }), async (exchanges) => {
        const metrics = freshMetrics();
        for (const exchange of exchanges) {
          metrics.begin();
          metrics.settle(exchange);
        }
        const text = await metrics.text();
        for (const [name, label, count] of expectations) {
          expect([name, label, total(text, name, label)]).toEqual([name, label, sumOf(exchanges, count)]);
        }
        expect(text).toContain('\nmodelgateway_requests_in_flight 0\n');
        expect(text).not.toContain('canary');
      }),
      { numRuns: 50 },
    );
  });

  test('every histogram ends in its count', async () => {
    const metrics = freshMetrics();
    for (const exchange of fc.sample(anyExchange, 200)) metrics.settle(exchange);
    const lines = (await metrics.text()).split('\n');
    const infinities = lines.filter((line) => line.includes('le="+Inf"') && /^(modelgateway|gen_ai)_/.test(line));
    expect(infinities.length).toBeGreaterThan(10);
    for (const line of infinities) {
      const count = line.replace('_bucket{', '_count{').replace(',le="+Inf"', '');
      expect(lines).toContain(count);
    }
  });
});

describe('the log', () => {
  test('has one line per exchange that agrees with it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyExchange, { minLength: 1, maxLength: 20 }), async (exchanges) => {
        const sink = collectingSink();
        const log = createLog({ level: 'info', sink });
        for (const exchange of exchanges) log.request(exchange);
        await log.close();
        const lines = sink.text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Record<string, unknown>);
        expect(lines).toHaveLength(exchanges.length);
        for (const [at, { status, attempts, errorCode, usage, streamFailed }] of exchanges.entries()) {
          expect(lines[at]).toMatchObject({ status, attempts: attempts.length });
          expect(lines[at]?.error).toBe(errorCode);
          expect(lines[at]?.input_tokens).toBe(usage?.prompt_tokens);
          expect(lines[at]?.stream_failed).toBe(streamFailed || undefined);
          expect(lines[at]?.provider).toBe(attempts.at(-1)?.provider);
        }
        expect(sink.text).not.toContain('canary');
      }),
      { numRuns: 50 },
    );
  });

  test('no line is longer than its fields allow', async () => {
    const sink = collectingSink();
    const log = createLog({ level: 'info', sink });
    for (const exchange of fc.sample(anyExchange, 300)) log.request(exchange);
    await log.close();
    const longest = Math.max(...sink.text.split('\n').map((line) => line.length));
    expect(longest).toBeLessThan(6 * 256 * 6 + 1000);
  });
});

describe('spans', () => {
  test('form one tree under the server span, with usage once and short values', () => {
    fc.assert(
      fc.property(anyExchange, (exchange) => {
        const now = performance.now();
        const server = serverSpan(exchange, now);
        const clients = attemptSpans(exchange, now);
        expect(clients).toHaveLength(exchange.attempts.length);
        expect(clients.every((span) => span.parentSpanId === server.spanId)).toBe(true);
        expect(new Set([server, ...clients].map(({ spanId }) => spanId)).size).toBe(clients.length + 1);
        const all = [server, ...clients];
        expect(all.every((span) => span.startedAt <= span.endedAt)).toBe(true);
        const values = all.flatMap(({ attributes }) => Object.values(attributes));
        expect(values.every((value) => typeof value !== 'string' || value.length <= 256)).toBe(true);
        expect(values).not.toContain(undefined);
        const counted = all.filter(({ attributes }) => 'gen_ai.usage.input_tokens' in attributes);
        expect(counted.length).toBe(exchange.usage !== undefined && clients.length > 0 ? 1 : 0);
        expect(JSON.stringify(all)).not.toContain('canary');
      }),
    );
  });

  test('fail exactly where the exchange or the attempt did', () => {
    fc.assert(
      fc.property(anyExchange, (exchange) => {
        const now = performance.now();
        expect(serverSpan(exchange, now).failed).toBe(exchange.status >= 500 || exchange.streamFailed);
        for (const [at, span] of attemptSpans(exchange, now).entries()) {
          const attempt = exchange.attempts[at];
          const isLast = at === exchange.attempts.length - 1;
          const ownFault = attempt?.errorCode !== undefined || (attempt?.status ?? 0) >= 400;
          expect(span.failed).toBe(ownFault || (isLast && exchange.streamFailed));
          if (ownFault) expect(span.attributes['error.type']).toBeDefined();
        }
      }),
    );
  });
});

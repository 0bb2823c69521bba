/** Section 12 of the semantics from end to end: a request with headers in, spans at a real collector out. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiError } from '../fakes/openai-wire.ts';
import { chat, chatStream, json } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../gateway/telemetry/otlp-receiver.ts';

const SERVER = 2;
const CLIENT = 3;
const HEX_TRACE = '0af7651916cd43dd8448eb211c80319c';
const HEX_SPAN = 'b7ad6b7169203331';
const HEX_OWN_SPAN = '00f067aa0ba902b7';

let stage: Stage;
let collector: OtlpReceiver;
beforeAll(async () => {
  collector = await startOtlpReceiver();
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_BSP_SCHEDULE_DELAY: '30',
    OTEL_SERVICE_NAME: 'the-gateway',
  });
  stage = await startStage(
    2,
    (upstreams) => {
      const [first, second] = upstreams as [Upstream, Upstream];
      const targets = [target(first), target(second)];
      return defaultConfig('house', target(first)) + config('fall', { strategy: { mode: 'fallback' }, targets });
    },
    () => ({ env: process.env }),
  );
});
afterAll(async () => {
  await stage.close();
  await collector.close();
});

/** The spans of one request: its answer's trace, once they have arrived. */
async function spansOf(traceId: string, count: number): Promise<{ server: ReceivedSpan; clients: ReceivedSpan[] }> {
  const own = () => collector.spans().filter((span) => span.traceId === traceId);
  await expect.poll(() => own().length, { timeout: 5_000 }).toBe(count);
  const server = own().find(({ kind }) => kind === SERVER);
  if (server === undefined) throw new Error('no server span');
  return { server, clients: own().filter(({ kind }) => kind === CLIENT) };
}

async function ask(headers: Record<string, string>, body: object = HI): Promise<Response> {
  const response = await stage.gateway.chat(body, headers);
  await response.text();
  return response;
}

const digest = (value: string) => createHash('sha256').update(value).digest('hex');

describe('the trace of a request', () => {
  const UUID = 'f47ac10b-58cc-4372-a567-0e02b2c3d479';
  it.each([
    ['32 hex digits, as they are', HEX_TRACE.replace('0a', '1b'), HEX_TRACE.replace('0a', '1b')],
    ['32 hex digits in capitals', HEX_TRACE.replace('0a', '2c').toUpperCase(), HEX_TRACE.replace('0a', '2c')],
    ['a UUID, without its dashes', UUID, UUID.replaceAll('-', '')],
    ['anything else, by its digest', 'order 17', digest('order 17').slice(0, 32)],
    ['32 zeros, by their digest', '0'.repeat(32), digest('0'.repeat(32)).slice(0, 32)],
  ])('is named by the header: %s', async (_what, named, traceId) => {
    const response = await ask({ 'x-gateway-trace-id': named });
    expect(response.headers.get('x-gateway-trace-id')).toBe(named);
    const { server, clients } = await spansOf(traceId, 2);
    expect(server.parentSpanId ?? '').toBe('');
    expect(clients[0]?.parentSpanId).toBe(server.spanId);
    if (named !== traceId) expect(server.attributes['modelgateway.trace_id']).toBe(named);
  });

  it('is the traceparent’s where there is a valid one, whatever else is named', async () => {
    const response = await ask({ traceparent: `00-${HEX_TRACE}-${HEX_SPAN}-01`, 'x-gateway-trace-id': 'my own' });
    expect(response.headers.get('x-gateway-trace-id')).toBe('my own');
    const { server } = await spansOf(HEX_TRACE, 2);
    expect(server).toMatchObject({ parentSpanId: HEX_SPAN, attributes: { 'modelgateway.trace_id': 'my own' } });
    const sent = stage.at(0).calls.at(-1)?.headers.traceparent;
    expect(sent).toMatch(new RegExp(`^00-${HEX_TRACE}-[0-9a-f]{16}-01$`));
    expect(sent).not.toContain(HEX_SPAN);
  });

  it.each(['00-xyz', '00-00000000000000000000000000000000-b7ad6b7169203331-01', `ff-${HEX_TRACE}-${HEX_SPAN}-01`])(
    'is a new one where the traceparent is %s',
    async (traceparent) => {
      const response = await ask({ traceparent });
      const traceId = response.headers.get('x-gateway-trace-id') ?? '';
      expect(traceId).toMatch(/^[0-9a-f]{32}$/);
      const { server } = await spansOf(traceId, 2);
      expect(server.parentSpanId ?? '').toBe('');
    },
  );

  it('has the caller’s span id, parent and name', async () => {
    const headers = {
      'x-gateway-trace-id': 'named spans',
      'x-gateway-span-id': HEX_OWN_SPAN,
      'x-gateway-parent-span-id': HEX_SPAN,
      'x-gateway-span-name': 'summarise the order',
    };
    await ask(headers);
    const { server, clients } = await spansOf(digest('named spans').slice(0, 32), 2);
    expect(server).toMatchObject({ spanId: HEX_OWN_SPAN, parentSpanId: HEX_SPAN, name: 'summarise the order' });
    expect(clients[0]?.parentSpanId).toBe(HEX_OWN_SPAN);
  });

  it('has a client span for each attempt, with GenAI attributes', async () => {
    stage.at(0).answer(json(503, openAiError()));
    stage.at(1).answer(chat({ model: 'gpt-answered', id: 'chatcmpl-7' }));
    await ask({ 'x-gateway-trace-id': 'two attempts', 'x-gateway-config': 'fall' });
    const { server, clients } = await spansOf(digest('two attempts').slice(0, 32), 3);
    const [failed, good] = clients.toSorted((a, b) =>
      BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1,
    );
    expect(failed).toMatchObject({
      parentSpanId: server.spanId,
      attributes: { 'error.type': 'upstream_error' },
      status: { code: 2 },
    });
    expect(good).toMatchObject({
      parentSpanId: server.spanId,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'm',
        'gen_ai.response.model': 'gpt-answered',
      },
    });
    expect(Number(good?.attributes['gen_ai.usage.input_tokens'])).toBe(9);
    expect(Number(good?.attributes['gen_ai.usage.output_tokens'])).toBe(12);
    expect(server.resource['service.name']).toBe('the-gateway');
    expect(JSON.stringify([server, ...clients])).not.toContain('"Hi"');
    stage.at(0).answer(chat());
  });

  it('covers a stream to its end, with its usage', async () => {
    stage.at(0).answer(chatStream({ text: 'one two three' }, { gapMs: 20 }));
    await ask({ 'x-gateway-trace-id': 'a stream' }, { ...HI, stream: true });
    const { server, clients } = await spansOf(digest('a stream').slice(0, 32), 2);
    expect(Number(clients[0]?.attributes['gen_ai.usage.output_tokens'])).toBe(12);
    const lengthMs = Number(BigInt(server.endTimeUnixNano) - BigInt(server.startTimeUnixNano)) / 1e6;
    expect(lengthMs).toBeGreaterThan(60);
    stage.at(0).answer(chat());
  });

  it('is not kept where its parent was not sampled', async () => {
    const traceId = HEX_TRACE.replace('0a', '3d');
    await ask({ traceparent: `00-${traceId}-${HEX_SPAN}-00` });
    await ask({ 'x-gateway-trace-id': 'after it' });
    await spansOf(digest('after it').slice(0, 32), 2);
    expect(collector.spans().filter((span) => span.traceId === traceId)).toEqual([]);
    expect(stage.at(0).calls.at(-2)?.headers.traceparent).toContain(traceId);
  });
});

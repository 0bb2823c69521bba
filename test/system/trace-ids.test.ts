/** Which trace a request belongs to, and that its answer, log line, spans and upstream call agree on it. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, target } from '../conformance/stage.ts';
import { defaultConfig } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { CLIENT, type ReceivedSpan, SERVER } from './otlp-collector.ts';
import { startTracedStage, type TracedStage } from './traced-stage.ts';

let stage: TracedStage;
beforeAll(async () => {
  stage = await startTracedStage(1, ([upstream]) => defaultConfig('house', target(upstream as Upstream)));
});
afterAll(() => stage.close());

const hex = (bytes: number) => randomBytes(bytes).toString('hex');
const hashed = (text: string, digits = 32) => createHash('sha256').update(text).digest('hex').slice(0, digits);
const traceparent = (trace = hex(16), span = hex(8), flags = '01') => `00-${trace}-${span}-${flags}`;

interface Seen {
  readonly echoed: string | null;
  readonly server: ReceivedSpan;
  readonly client: ReceivedSpan;
  /** Trace and parent id of the upstream's `traceparent`. */
  readonly upstream: readonly string[];
  readonly log: Readonly<Record<string, unknown>>;
}

async function ask(headers: Readonly<Record<string, string>>, traceId?: string): Promise<Seen> {
  const response = await stage.gateway.chat(HI, headers);
  expect(response.status).toBe(200);
  await response.text();
  const echoed = response.headers.get('x-gateway-trace-id');
  const spans = await stage.collector.trace(traceId ?? echoed ?? '');
  const ofKind = (kind: number) => {
    const [span, ...more] = spans.filter((candidate) => candidate.kind === kind);
    if (span === undefined || more.length > 0) throw new Error(`not one span of kind ${kind}: ${spans.length}`);
    return span;
  };
  const [, trace = '', parent = ''] = String(stage.at(0).calls.at(-1)?.headers['traceparent']).split('-');
  const requestId = response.headers.get('x-request-id');
  const log = (await stage.gateway.logs()).find((line) => line['request_id'] === requestId) ?? {};
  return { echoed, server: ofKind(SERVER), client: ofKind(CLIENT), upstream: [trace, parent], log };
}

describe('x-gateway-trace-id', () => {
  const uuid = randomUUID();
  const lower = hex(16);
  const mixed = hex(16).replace(/^../, 'aB').toUpperCase();
  const long = `session ${'x'.repeat(3_000)}${hex(4)}`;
  const word = `order ${hex(4)}`;
  const shapes: [what: string, given: string, id: string][] = [
    ['32 hex digits', lower, lower],
    ['32 hex digits in upper case', mixed, mixed.toLowerCase()],
    ['a UUID', uuid, uuid.replaceAll('-', '')],
    ['a UUID in upper case', randomUUID().toUpperCase(), ''],
    ['words', word, hashed(word)],
    ['31 hex digits', lower.slice(1), hashed(lower.slice(1))],
    ['33 hex digits', `${lower}0`, hashed(`${lower}0`)],
    ['zeros, which are no trace id', '0'.repeat(32), hashed('0'.repeat(32))],
    ['a UUID in braces', `{${uuid}}`, hashed(`{${uuid}}`)],
    ['thousands of characters', long, hashed(long)],
    ['a traceparent', `00-${lower}-${hex(8)}-01`, ''],
    ['a single character', '-', hashed('-')],
  ];

  it.each(shapes)('%s: is echoed as given, and one id is used everywhere', async (what, given, id) => {
    const wanted = id !== '' ? id : what === 'a traceparent' ? hashed(given) : given.replaceAll('-', '').toLowerCase();
    const { echoed, server, client, upstream, log } = await ask({ 'x-gateway-trace-id': given }, wanted);
    expect(echoed).toBe(given);
    expect(server.parentSpanId).toBe('');
    expect(client.parentSpanId).toBe(server.spanId);
    expect(upstream).toEqual([wanted, client.spanId]);
    expect(log['trace_id']).toBe(wanted);
    expect(log['caller_trace_id']).toBe(given === wanted ? undefined : given.slice(0, 256));
    expect(server.attributes['modelgateway.trace_id']).toBe(given === wanted ? undefined : given.slice(0, 256));
  });

  it('absent: an id of its own for each request, and it is told', async () => {
    const first = await ask({});
    const second = await ask({});
    expect(first.echoed).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(second.echoed).not.toBe(first.echoed);
    expect([first.server.traceId, first.log['trace_id'], first.upstream[0]]).toEqual(Array(3).fill(first.echoed));
    expect(first.log).not.toHaveProperty('caller_trace_id');
    expect(first.server.attributes).not.toHaveProperty('modelgateway.trace_id');
  });

  it('groups requests: each has spans of its own in the one trace', async () => {
    const id = hex(16);
    for (let count = 0; count < 3; count += 1) {
      await (await stage.gateway.chat(HI, { 'x-gateway-trace-id': id })).text();
    }
    await expect.poll(() => stage.collector.spans().filter(({ traceId }) => traceId === id).length).toBe(6);
    const spans = await stage.collector.trace(id);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(6);
  });

  it('is echoed with errors too, before and behind authentication', async () => {
    for (const more of [{ 'x-gateway-api-key': 'wrong' }, { 'x-gateway-config': 'unknown' }] as const) {
      const id = hex(16);
      const response = await stage.gateway.chat(HI, { ...more, 'x-gateway-trace-id': id });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.headers.get('x-gateway-trace-id')).toBe(id);
      const spans = await stage.collector.trace(id);
      expect(spans.map(({ kind }) => kind)).toEqual([SERVER]);
    }
  });
});

describe('traceparent', () => {
  it('wins over the header, whose value is kept and echoed', async () => {
    const [trace, parent] = [hex(16), hex(8)];
    const seen = await ask({ traceparent: traceparent(trace, parent), 'x-gateway-trace-id': 'order 18' }, trace);
    expect(seen.echoed).toBe('order 18');
    expect(seen.server).toMatchObject({ traceId: trace, parentSpanId: parent });
    expect(seen.server.attributes['modelgateway.trace_id']).toBe('order 18');
    expect(seen.upstream).toEqual([trace, seen.client.spanId]);
    expect(seen.log).toMatchObject({ trace_id: trace, caller_trace_id: 'order 18' });
  });

  it('names the parent, whatever x-gateway-parent-span-id says, and keeps its tracestate', async () => {
    const [trace, parent] = [hex(16), hex(8)];
    const seen = await ask({
      traceparent: traceparent(trace, parent),
      tracestate: 'vendor=a,other=b',
      'x-gateway-parent-span-id': hex(8),
    });
    expect(seen.server).toMatchObject({ parentSpanId: parent, traceState: 'vendor=a,other=b' });
    expect(seen.echoed).toBe(trace);
  });

  it('of a later version is read by its first four parts', async () => {
    const [trace, parent] = [hex(16), hex(8)];
    const seen = await ask({ traceparent: `01-${trace}-${parent}-01-more` }, trace);
    expect(seen.server.parentSpanId).toBe(parent);
  });

  const trace = hex(16);
  const span = hex(8);
  it.each([
    ['version ff', `ff-${trace}-${span}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${span}-01`],
    ['a parent id of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${trace.toUpperCase().replace(/^./, 'A')}-${span}-01`],
    ['a part too few', `00-${trace}-${span}`],
    ['a part too many for version 00', `00-${trace}-${span}-01-more`],
    ['a short trace id', `00-${trace.slice(2)}-${span}-01`],
    ['nonsense', 'yes please'],
  ])('with %s is no traceparent: the header counts', async (_what, value) => {
    const id = hex(16);
    const seen = await ask({ traceparent: value, 'x-gateway-trace-id': id });
    expect(seen.server).toMatchObject({ traceId: id, parentSpanId: '' });
    expect(seen.upstream[0]).toBe(id);
  });
});

describe('the headers of spans', () => {
  it.each([
    ['16 hex digits', 'A1b2c3d4e5f60718', 'a1b2c3d4e5f60718', undefined],
    ['words', 'step 3', hashed('step 3', 16), 'step 3'],
    ['zeros', '0'.repeat(16), hashed('0'.repeat(16), 16), '0'.repeat(16)],
  ])('x-gateway-span-id of %s names the server span', async (_what, given, id, kept) => {
    const { server, client } = await ask({ 'x-gateway-span-id': given });
    expect(server.spanId).toBe(id);
    expect(client.parentSpanId).toBe(id);
    if (kept !== undefined) expect(server.attributes['modelgateway.span_id']).toBe(kept);
  });

  it.each([
    ['16 hex digits', 'a1b2c3d4e5f60718', 'a1b2c3d4e5f60718'],
    ['words', 'agent loop', hashed('agent loop', 16)],
  ])('x-gateway-parent-span-id of %s names its parent', async (_what, given, id) => {
    const { server } = await ask({ 'x-gateway-parent-span-id': given });
    expect(server.parentSpanId).toBe(id);
    expect(server.spanId).not.toBe(id);
  });

  it('a span that names itself as its parent gets an id of its own', async () => {
    const { server } = await ask({ 'x-gateway-span-id': 'same', 'x-gateway-parent-span-id': 'same' });
    expect(server.parentSpanId).toBe(hashed('same', 16));
    expect(server.spanId).not.toBe(server.parentSpanId);
  });

  it('x-gateway-span-name names it, cut to a bound', async () => {
    expect((await ask({ 'x-gateway-span-name': 'summarise the ticket' })).server.name).toBe('summarise the ticket');
    expect((await ask({ 'x-gateway-span-name': 'n'.repeat(5_000) })).server.name).toBe('n'.repeat(128));
    expect((await ask({})).server.name).toBe('POST /v1/chat/completions');
  });
});

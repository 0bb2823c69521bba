import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newSpanId, readTrace, traceparentOf } from '#gateway/telemetry/trace-context.ts';
import { aTrace, SPAN_ID, TRACE_ID } from './settled-exchange.ts';

const VALID = `00-${TRACE_ID}-${SPAN_ID}-01`;
const HEX_32 = /^[0-9a-f]{32}$/;
const HEX_16 = /^[0-9a-f]{16}$/;
const never = () => false;

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('traceparent', () => {
  test('wins over the headers of the gateway', () => {
    const trace = readTrace(
      {
        traceparent: VALID,
        tracestate: 'vendor=1',
        'x-gateway-trace-id': 'mine',
        'x-gateway-parent-span-id': '00f067aa0ba902b7',
      },
      never,
    );
    expect(trace).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID, traceState: 'vendor=1', echoed: 'mine' });
    expect(trace.spanId).not.toBe(SPAN_ID);
  });

  const valid: [why: string, value: string][] = [
    ['version 00', VALID],
    ['not sampled', VALID.replace(/01$/, '00')],
    ['unknown flags', VALID.replace(/01$/, 'fe')],
    ['a later version', `01-${TRACE_ID}-${SPAN_ID}-01`],
    ['a later version with more fields', `cc-${TRACE_ID}-${SPAN_ID}-01-what-will-be`],
  ];
  test.each(valid)('is taken: %s', (_why, traceparent) => {
    expect(readTrace({ traceparent }, never)).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: SPAN_ID,
      echoed: TRACE_ID,
    });
  });

  const invalid: [why: string, value: string][] = [
    ['version ff', `ff-${TRACE_ID}-${SPAN_ID}-01`],
    ['trace id all zero', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
    ['span id all zero', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
    ['upper case', VALID.toUpperCase()],
    ['version 00 with more fields', `${VALID}-more`],
    ['a later version with garbage behind the flags', `01-${TRACE_ID}-${SPAN_ID}-01x`],
    ['too short', VALID.slice(0, -1)],
    ['not hex', VALID.replace('a', 'g')],
    ['two of them, joined', `${VALID}, ${VALID}`],
    ['garbage', 'not-a-traceparent'],
  ];
  test.each(invalid)('is ignored, and its tracestate: %s', (_why, traceparent) => {
    const trace = readTrace({ traceparent, tracestate: 'vendor=1', 'x-gateway-trace-id': 'mine' }, never);
    expect(trace.traceId).toBe(sha256('mine').slice(0, 32));
    expect(trace.parentSpanId).toBeUndefined();
    expect(trace.traceState).toBeUndefined();
  });

  test.each([
    ['00', false],
    ['01', true],
    ['02', false],
    ['03', true],
    ['ff', true],
  ])('flags %s: the sampler hears %s', (flags, sampled) => {
    const heard: unknown[] = [];
    const trace = readTrace({ traceparent: `00-${TRACE_ID}-${SPAN_ID}-${flags}` }, (...args) => {
      heard.push(...args);
      return args[1] ?? false;
    });
    expect(heard).toEqual([TRACE_ID, sampled]);
    expect(trace.sampled).toBe(sampled);
  });

  test('is written with the flag of the trace', () => {
    expect(traceparentOf(aTrace(), '00f067aa0ba902b7')).toBe(`00-${TRACE_ID}-00f067aa0ba902b7-01`);
    expect(traceparentOf(aTrace({ sampled: false }), SPAN_ID)).toBe(`00-${TRACE_ID}-${SPAN_ID}-00`);
  });

  test('what is written is read back', () => {
    fc.assert(
      fc.property(fc.boolean(), (sampled) => {
        const first = readTrace({}, () => sampled);
        const spanId = newSpanId();
        const next = readTrace({ traceparent: traceparentOf(first, spanId) }, (_id, parent) => parent ?? !sampled);
        expect(next).toMatchObject({ traceId: first.traceId, parentSpanId: spanId, sampled });
      }),
    );
  });
});

describe('x-gateway-trace-id', () => {
  const uuid = '0AF76519-16cd-43dd-8448-eb211c80319c';
  const cases: [value: string, traceId: string][] = [
    [TRACE_ID, TRACE_ID],
    [TRACE_ID.toUpperCase(), TRACE_ID],
    [uuid, TRACE_ID],
    ['order 17', sha256('order 17').slice(0, 32)],
    ['0'.repeat(32), sha256('0'.repeat(32)).slice(0, 32)],
    ['00000000-0000-0000-0000-000000000000', sha256('00000000-0000-0000-0000-000000000000').slice(0, 32)],
    [`${TRACE_ID}0`, sha256(`${TRACE_ID}0`).slice(0, 32)],
    ['0af7651916cd-43dd-8448-eb21-1c80319c', sha256('0af7651916cd-43dd-8448-eb21-1c80319c').slice(0, 32)],
  ];
  test.each(cases)('%s becomes %s and is echoed as given', (value, traceId) => {
    expect(readTrace({ 'x-gateway-trace-id': value }, never)).toMatchObject({ traceId, echoed: value });
  });

  test('empty or absent: 32 digits are drawn and echoed', () => {
    for (const headers of [{}, { 'x-gateway-trace-id': '' }]) {
      const trace = readTrace(headers, never);
      expect(trace.traceId).toMatch(HEX_32);
      expect(trace.echoed).toBe(trace.traceId);
    }
  });

  test('a new trace asks the sampler without a parent', () => {
    const heard: unknown[] = [];
    const trace = readTrace({ 'x-gateway-parent-span-id': SPAN_ID }, (...args) => heard.push(args) > 0);
    expect(heard).toEqual([[trace.traceId, undefined]]);
    expect(trace.sampled).toBe(true);
  });
});

describe('x-gateway-span-id and its kin', () => {
  test('16 hex digits are used as they are', () => {
    const trace = readTrace({ 'x-gateway-span-id': SPAN_ID, 'x-gateway-parent-span-id': '00F067AA0BA902B7' }, never);
    expect(trace).toMatchObject({ spanId: SPAN_ID, parentSpanId: '00f067aa0ba902b7', namedSpanId: undefined });
  });

  test('other words are hashed, and the original is kept', () => {
    const trace = readTrace({ 'x-gateway-span-id': 'step-1', 'x-gateway-parent-span-id': 'flow' }, never);
    expect(trace.spanId).toBe(sha256('step-1').slice(0, 16));
    expect(trace.parentSpanId).toBe(sha256('flow').slice(0, 16));
    expect(trace.namedSpanId).toBe('step-1');
  });

  test('all zeros are no span id', () => {
    const zeros = '0'.repeat(16);
    expect(readTrace({ 'x-gateway-span-id': zeros }, never).spanId).toBe(sha256(zeros).slice(0, 16));
  });

  test('a span is never its own parent', () => {
    const byHeaders = readTrace({ 'x-gateway-span-id': SPAN_ID, 'x-gateway-parent-span-id': SPAN_ID }, never);
    const byTraceparent = readTrace({ 'x-gateway-span-id': SPAN_ID, traceparent: VALID }, never);
    for (const trace of [byHeaders, byTraceparent]) {
      expect(trace.parentSpanId).toBe(SPAN_ID);
      expect(trace.spanId).toMatch(HEX_16);
      expect(trace.spanId).not.toBe(SPAN_ID);
      expect(trace.namedSpanId).toBe(SPAN_ID);
    }
  });

  test('the span name is kept, cut to 128 characters', () => {
    expect(readTrace({ 'x-gateway-span-name': 'plan the trip' }, never).spanName).toBe('plan the trip');
    expect(readTrace({ 'x-gateway-span-name': 'n'.repeat(1000) }, never).spanName).toHaveLength(128);
    expect(readTrace({}, never).spanName).toBeUndefined();
  });
});

test('whatever the headers hold, ids are valid hex and nothing throws', () => {
  const names = [
    'traceparent',
    'tracestate',
    'x-gateway-trace-id',
    'x-gateway-span-id',
    'x-gateway-parent-span-id',
    'x-gateway-span-name',
  ];
  const value = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.uuid(),
    fc.constant(VALID),
    fc.constant(SPAN_ID),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), (headers) => {
      const trace = readTrace(headers, never);
      expect(trace.traceId).toMatch(HEX_32);
      expect(trace.spanId).toMatch(HEX_16);
      expect(trace.parentSpanId ?? SPAN_ID).toMatch(HEX_16);
      expect(trace.spanId).not.toBe(trace.parentSpanId);
      expect(trace.echoed).toBe(headers['x-gateway-trace-id'] || trace.traceId);
    }),
  );
});

test('drawn ids do not repeat, also when the pool is refilled', () => {
  const seen = new Set<string>();
  for (let i = 0; i < 2000; i++) {
    const { traceId, spanId } = readTrace({}, never);
    seen.add(traceId).add(spanId).add(newSpanId());
  }
  expect(seen.size).toBe(6000);
});

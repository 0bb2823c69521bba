/** Which requests are traced, and that a collector's troubles are never those of a caller. */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { HI, startStage, target } from '../conformance/stage.ts';
import { apiKey, defaultConfig } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { endAll, start } from '../operator/embedded-process.ts';
import { makeFolder } from '../operator/folder.ts';
import { SERVER, startOtlpCollector } from './otlp-collector.ts';
import { startTracedStage, type TracedStage } from './traced-stage.ts';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
  await endAll();
});

async function traced(variables: Readonly<Record<string, string>> = {}): Promise<TracedStage> {
  const stage = await startTracedStage(
    1,
    ([upstream]) => defaultConfig('house', target(upstream as Upstream)),
    {},
    variables,
  );
  closing.push(stage);
  return stage;
}

const hex = (bytes: number) => randomBytes(bytes).toString('hex');
const parentOf = (flags: string, id = hex(16)) => `00-${id}-${hex(8)}-${flags}`;

/** Asks, then drains: what was not sent by then never will be. */
async function serverSpansOf(stage: TracedStage, headers: readonly Readonly<Record<string, string>>[]) {
  for (const each of headers) {
    const response = await stage.gateway.chat(HI, each);
    expect(response.status).toBe(200);
    await response.text();
  }
  await stage.gateway.close();
  return stage.collector.spans().filter(({ kind }) => kind === SERVER);
}

describe('sampling', () => {
  it.each([
    ['by default', {}, { root: 1, sampled: 1, unsampled: 0 }],
    [
      'parentbased_always_off',
      { OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
      { root: 0, sampled: 1, unsampled: 0 },
    ],
    ['always_on', { OTEL_TRACES_SAMPLER: 'always_on' }, { root: 1, sampled: 1, unsampled: 1 }],
    ['always_off', { OTEL_TRACES_SAMPLER: 'always_off' }, { root: 0, sampled: 0, unsampled: 0 }],
    [
      'traceidratio 0',
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
      { root: 0, sampled: 0, unsampled: 0 },
    ],
    [
      'parentbased_traceidratio 1',
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' },
      { root: 1, sampled: 1, unsampled: 0 },
    ],
  ])('%s: the root, and those whose parent was sampled or not', async (_what, variables, wanted) => {
    const stage = await traced(variables);
    const ids = { root: hex(16), sampled: hex(16), unsampled: hex(16) };
    const spans = await serverSpansOf(stage, [
      { 'x-gateway-trace-id': ids.root },
      { traceparent: parentOf('01', ids.sampled) },
      { traceparent: parentOf('00', ids.unsampled) },
    ]);
    const count = (id: string) => spans.filter(({ traceId }) => traceId === id).length;
    expect({ root: count(ids.root), sampled: count(ids.sampled), unsampled: count(ids.unsampled) }).toEqual(wanted);
  });

  it('by half keeps a part, and the same ones each time', async () => {
    const stage = await traced({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' });
    const ids = Array.from({ length: 40 }, () => hex(16));
    const spans = await serverSpansOf(
      stage,
      [...ids, ...ids].map((id) => ({ 'x-gateway-trace-id': id })),
    );
    const kept = ids.filter((id) => spans.some(({ traceId }) => traceId === id));
    expect(kept.length).toBeGreaterThan(5);
    expect(kept.length).toBeLessThan(35);
    expect(spans).toHaveLength(2 * kept.length);
  });

  it('does not change what the caller of an unsampled trace handed on', async () => {
    const stage = await traced();
    const given = parentOf('00');
    await serverSpansOf(stage, [{ traceparent: given }]);
    expect(stage.at(0).calls.at(-1)?.headers['traceparent']).toBe(given);
  });
});

describe('without an endpoint', () => {
  it('nothing is traced, and ids are told, logged and handed on all the same', async () => {
    const stage = await startStage(1, ([upstream]) => defaultConfig('house', target(upstream as Upstream)));
    closing.push(stage);
    const [id, given] = [hex(16), parentOf('01')];
    const named = await stage.gateway.chat(HI, { 'x-gateway-trace-id': id });
    await named.text();
    expect(named.headers.get('x-gateway-trace-id')).toBe(id);
    await (await stage.gateway.chat(HI, { traceparent: given })).text();
    expect(stage.at(0).calls.map(({ headers }) => headers['traceparent'])).toEqual([undefined, given]);
    const logged = (await stage.gateway.logs()).map((line) => line['trace_id']);
    expect(logged.filter((value) => value !== undefined)).toEqual([id, given.split('-')[1]]);
  });

  it.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    'or with %o neither',
    async (variables) => {
      const stage = await traced(variables);
      expect(await serverSpansOf(stage, [{}, { traceparent: parentOf('01') }])).toEqual([]);
      expect(stage.collector.requests).toEqual([]);
    },
  );
});

describe('the collector', () => {
  it('is spoken to in protobuf, at the standard path', async () => {
    const stage = await traced();
    await serverSpansOf(stage, [{}]);
    expect(stage.collector.requests[0]).toEqual({ path: '/v1/traces', contentType: 'application/x-protobuf' });
  });

  it.each([
    ['answers 500', (response: import('node:http').ServerResponse) => void response.writeHead(500).end()],
    ['breaks off', (response: import('node:http').ServerResponse) => void response.destroy()],
    ['never answers', () => undefined],
  ])('that %s harms no request, and does not hold up the end for long', async (_what, answer) => {
    const stage = await traced({ OTEL_EXPORTER_OTLP_TIMEOUT: '300', OTEL_BSP_EXPORT_TIMEOUT: '300' });
    stage.collector.answer(answer);
    const startedMs = performance.now();
    await serverSpansOf(stage, Array(20).fill({}));
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

describe('embedded mode', () => {
  it('takes the standard variables from its environment, and sends what it has before it ends', async () => {
    const collector = await startOtlpCollector();
    closing.push(collector);
    const manifests = defaultConfig('house', { provider: 'simulator' }) + apiKey('traced', 'traced-key-0123456789');
    const running = await start(makeFolder({ 'm/a.yaml': manifests }), ['--manifests', 'm'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
      OTEL_SERVICE_NAME: 'my-gateway',
      OTEL_BSP_SCHEDULE_DELAY: '60000',
    });
    const id = hex(16);
    const response = await fetch(`${running.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer traced-key-0123456789',
        'x-gateway-trace-id': id,
      },
      body: JSON.stringify(HI),
    });
    expect(response.status).toBe(200);
    await response.text();
    expect(collector.spans()).toEqual([]);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    const spans = await collector.trace(id);
    expect(spans.map(({ resource }) => resource['service.name'])).toEqual(['my-gateway', 'my-gateway']);
  });
});

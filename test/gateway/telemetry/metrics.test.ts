import { beforeEach, describe, expect, test } from 'vitest';
import { type BreakerReading, createMetrics, type Metrics } from '#gateway/telemetry/metrics.ts';
import { anAttempt, anExchange } from './settled-exchange.ts';

interface Sources {
  breakers: BreakerReading[];
  config: { generation: number; loadedAtMs: number } | undefined;
  refused: number;
  dropped: number;
}

let sources: Sources;
let metrics: Metrics;

beforeEach(() => {
  sources = { breakers: [], config: undefined, refused: 0, dropped: 0 };
  metrics = createMetrics({
    breakers: () => sources.breakers,
    config: () => sources.config,
    refused: () => sources.refused,
    droppedLogLines: () => sources.dropped,
  });
});

/** Series by their line up to the value. */
async function series(): Promise<Map<string, number>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

function settle(over: Parameters<typeof anExchange>[0] = {}): void {
  metrics.begin();
  metrics.settle(anExchange(over));
}

describe('a settled request', () => {
  test('is counted once in each of its metrics', async () => {
    settle();
    const found = await series();
    const expected: [line: string, value: number][] = [
      ['modelgateway_requests_total{endpoint="chatComplete",status="200",provider="openai",code="none"}', 1],
      ['modelgateway_request_duration_seconds_count{endpoint="chatComplete",status="2xx",provider="openai"}', 1],
      [
        'modelgateway_request_duration_seconds_bucket{endpoint="chatComplete",status="2xx",provider="openai",le="0.05"}',
        0,
      ],
      [
        'modelgateway_request_duration_seconds_bucket{endpoint="chatComplete",status="2xx",provider="openai",le="0.25"}',
        1,
      ],
      ['modelgateway_first_byte_seconds_count{endpoint="chatComplete",provider="openai",stream="false"}', 1],
      ['modelgateway_attempts_total{provider="openai",status="200"}', 1],
      ['modelgateway_tokens_total{provider="openai",model="gpt-4o-mini-2024-07-18",type="input"}', 11],
      ['modelgateway_tokens_total{provider="openai",model="gpt-4o-mini-2024-07-18",type="output"}', 5],
      [
        'gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_response_model="gpt-4o-mini-2024-07-18",error_type="none"}',
        1,
      ],
    ];
    for (const [line, value] of expected) expect([line, found.get(line)]).toEqual([line, value]);
    expect([...found.keys()].some((line) => line.startsWith('modelgateway_retries_total'))).toBe(false);
    expect([...found.keys()].some((line) => line.startsWith('modelgateway_stream_failures_total'))).toBe(false);
  });

  test('each attempt is counted, by status or by what went wrong; retries besides', async () => {
    const attempts = [
      anAttempt({ status: 503 }),
      anAttempt({ status: undefined, errorCode: 'upstream_unreachable', retry: 1 }),
      anAttempt({ status: 503, retry: 2 }),
      anAttempt({ provider: 'anthropic' }),
    ];
    settle({ attempts });
    const found = await series();
    expect(found.get('modelgateway_attempts_total{provider="openai",status="503"}')).toBe(2);
    expect(found.get('modelgateway_attempts_total{provider="openai",status="upstream_unreachable"}')).toBe(1);
    expect(found.get('modelgateway_attempts_total{provider="anthropic",status="200"}')).toBe(1);
    expect(found.get('modelgateway_retries_total{provider="openai"}')).toBe(2);
    expect(
      found.get('modelgateway_requests_total{endpoint="chatComplete",status="200",provider="anthropic",code="none"}'),
    ).toBe(1);
  });

  test('details of usage have types of their own', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 30, cache_creation_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 10 },
    };
    settle({ usage });
    settle({ usage });
    const found = await series();
    const counted = ['input', 'output', 'cached', 'cache_creation', 'reasoning'].map((type) =>
      found.get(`modelgateway_tokens_total{provider="openai",model="gpt-4o-mini-2024-07-18",type="${type}"}`),
    );
    expect(counted).toEqual([200, 100, 60, 40, 20]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -5, 0])(
    'usage of %d tokens does not spoil the counter',
    async (tokens) => {
      settle({ usage: { prompt_tokens: tokens, completion_tokens: 1, total_tokens: 1 } });
      const found = await series();
      const lines = [...found].filter(([line]) => line.startsWith('modelgateway_tokens_total'));
      expect(lines).toEqual([
        ['modelgateway_tokens_total{provider="openai",model="gpt-4o-mini-2024-07-18",type="output"}', 1],
      ]);
    },
  );

  test('a refused one has neither provider nor first byte', async () => {
    settle({ attempts: [], status: 401, errorCode: 'invalid_api_key', usage: undefined, answeredModel: undefined });
    const found = await series();
    const line =
      'modelgateway_requests_total{endpoint="chatComplete",status="401",provider="none",code="invalid_api_key"}';
    expect(found.get(line)).toBe(1);
    expect([...found.keys()].filter((name) => name.startsWith('modelgateway_first_byte_seconds'))).toEqual([]);
  });
});

describe('streams', () => {
  const long = { prompt_tokens: 1, completion_tokens: 11, total_tokens: 12 };

  test('a finished one tells the pace of its tokens', async () => {
    settle({ stream: true, usage: long, firstByteAt: performance.now() - 1000 });
    const found = await series();
    const labels = 'gen_ai_provider_name="openai",gen_ai_response_model="gpt-4o-mini-2024-07-18"';
    expect(found.get(`gen_ai_server_time_per_output_token_seconds_count{${labels}}`)).toBe(1);
    expect(found.get(`gen_ai_server_time_per_output_token_seconds_sum{${labels}}`)).toBeCloseTo(0.1, 2);
    expect(
      found.get('modelgateway_first_byte_seconds_count{endpoint="chatComplete",provider="openai",stream="true"}'),
    ).toBe(1);
  });

  test.each([
    [{ status: 200, errorCode: 'upstream_stalled' }, 'upstream_stalled'],
    [{ status: 200, errorCode: undefined }, 'upstream_cut'],
    [{ status: 499, errorCode: undefined }, 'client_closed'],
  ] as const)('a failed one, %o, counts as %s and tells no pace', async (how, reason) => {
    settle({ stream: true, streamFailed: true, usage: long, ...how });
    const found = await series();
    expect(found.get(`modelgateway_stream_failures_total{provider="openai",reason="${reason}"}`)).toBe(1);
    expect([...found.keys()].some((line) => line.startsWith('gen_ai_server_time_per_output_token'))).toBe(false);
  });

  test.each([undefined, { ...long, completion_tokens: 1 }, { ...long, completion_tokens: 0 }])(
    'usage %o has no pace',
    async (usage) => {
      settle({ stream: true, usage });
      expect([...(await series()).keys()].some((line) => line.startsWith('gen_ai_server_time_per_output_token'))).toBe(
        false,
      );
    },
  );
});

test('requests in flight go up and come back', async () => {
  metrics.begin();
  metrics.begin();
  expect((await series()).get('modelgateway_requests_in_flight')).toBe(2);
  metrics.settle(anExchange());
  metrics.settle(anExchange({ endpoint: undefined, status: 404 }));
  expect((await series()).get('modelgateway_requests_in_flight')).toBe(0);
});

describe('bounded labels', () => {
  test('nothing that 10,000 hostile callers write becomes a label', async () => {
    settle();
    const before = new Set((await series()).keys());
    for (let i = 0; i < 10_000; i++) {
      settle({
        method: `M${i}`,
        pathname: `/canary/${i}`,
        endpoint: undefined,
        requestedModel: `canary-${i}`,
        config: `canary-${i}`,
        caller: { name: `canary-${i}`, namespace: `canary-${i}`, key: undefined },
        attempts: [],
        status: 404,
        errorCode: 'unknown_path',
        usage: undefined,
        answeredModel: undefined,
      });
    }
    const found = await series();
    const line = 'modelgateway_requests_total{endpoint="unknown",status="404",provider="none",code="unknown_path"}';
    expect(found.get(line)).toBe(10_000);
    expect([...found.keys()].filter((name) => name.includes('canary'))).toEqual([]);
    const added = [...found.keys()].filter((name) => /^(modelgateway|gen_ai)_/.test(name) && !before.has(name));
    expect(added.length).toBeLessThan(25);
  });

  test('10,000 models of a lying upstream end in other, and no token is lost', async () => {
    for (let i = 0; i < 10_000; i++)
      settle({ answeredModel: `model-"${i}"\n`, attempts: [anAttempt({ model: `asked-${i}` })] });
    const found = [...(await series())].filter(([line]) => line.startsWith('modelgateway_tokens_total'));
    const input = found.filter(([line]) => line.includes('type="input"'));
    expect(input.length).toBeLessThanOrEqual(200);
    expect(input.reduce((sum, [, value]) => sum + value, 0)).toBe(110_000);
    expect(input.find(([line]) => line.includes('model="other"'))?.[1]).toBeGreaterThan(100_000);
    expect((await metrics.text()).includes('asked-')).toBe(false);
  });

  test('statuses and providers that should not be end in none and other', async () => {
    for (let i = 0; i < 1000; i++) {
      settle({ status: 1000 + i, attempts: [anAttempt({ provider: `provider-${i}`, status: i + 0.5 })] });
    }
    const names = [...(await series()).keys()].filter((line) => line.startsWith('modelgateway_requests_total'));
    expect(names.length).toBeLessThanOrEqual(128);
    expect(names.every((line) => line.includes('status="none"'))).toBe(true);
  });
});

describe('what is read when asked', () => {
  test('breakers, by their state', async () => {
    sources.breakers = [
      { key: 'team-a/chat config.targets[0]', state: 'open' },
      { key: 'team-a/chat config.targets[1]', state: 'half_open' },
      { key: 'quote"', state: 'closed' },
    ];
    const found = await series();
    expect(found.get('modelgateway_breaker_state{target="team-a/chat config.targets[0]"}')).toBe(2);
    expect(found.get('modelgateway_breaker_state{target="team-a/chat config.targets[1]"}')).toBe(1);
    expect(found.get('modelgateway_breaker_state{target="quote\\""}')).toBe(0);
  });

  test('at most a thousand breakers', async () => {
    sources.breakers = Array.from({ length: 5000 }, (_, i) => ({ key: `k${i}`, state: 'open' }));
    const lines = [...(await series()).keys()].filter((line) => line.startsWith('modelgateway_breaker_state'));
    expect(lines).toHaveLength(1000);
  });

  test('the snapshot, once there is one; refusals and dropped lines always', async () => {
    sources.refused = 3;
    sources.dropped = 4;
    const before = await series();
    expect(before.get('modelgateway_config_refused_total')).toBe(3);
    expect(before.get('modelgateway_log_lines_dropped_total')).toBe(4);
    expect(before.has('modelgateway_config_generation')).toBe(false);
    sources.config = { generation: 42, loadedAtMs: Date.now() - 5000 };
    const after = await series();
    expect(after.get('modelgateway_config_generation')).toBe(42);
    expect(after.get('modelgateway_config_age_seconds')).toBeCloseTo(5, 0);
  });

  test('a clock that was set back gives no negative age', async () => {
    sources.config = { generation: 1, loadedAtMs: Date.now() + 60_000 };
    expect((await series()).get('modelgateway_config_age_seconds')).toBe(0);
  });

  test('the process, and what other parts registered', async () => {
    const { Counter } = await import('prom-client');
    new Counter({ name: 'modelgateway_cost_usd_total', help: 'Cost.', registers: [metrics.registry] }).inc(0.5);
    const found = await series();
    expect(found.get('modelgateway_cost_usd_total')).toBe(0.5);
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(metrics.contentType).toContain('text/plain; version=0.0.4');
  });
});

test('the text is one that Prometheus reads', async () => {
  settle({ answeredModel: 'a\\b"c\nd' });
  settle({ stream: true, streamFailed: true });
  sources.breakers = [{ key: 'a\nb', state: 'open' }];
  const text = await metrics.text();
  expect(text.endsWith('\n')).toBe(true);
  // Go's ParseFloat, and so Prometheus, reads Nan in any case.
  const line =
    /^(# (HELP|TYPE) [a-z_]\w* .+|[a-z_]\w*(\{([a-z_]\w*="([^"\\]|\\[\\"n])*",?)+\})? (-?[\d.e+-]+|N[aA][nN]|\+Inf))$/;
  const broken = text.split('\n').filter((found) => found !== '' && !line.test(found));
  expect(broken).toEqual([]);
  const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  expect(new Set(types).size).toBe(types.length);
});

import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { isLogLevel } from '#crds/command/log.ts';
import { isoTime, quote } from '#crds/command/log-text.ts';
import { createLog, type Log, type LogOptions } from '#gateway/telemetry/log.ts';
import { type CollectingSink, collectingSink, reactingSink } from './collecting-sink.ts';
import { anAttempt, anExchange, aTrace, TRACE_ID } from './settled-exchange.ts';

const open: Log[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((log) => log.close()));
});

function logOn(sink: CollectingSink, over: Partial<LogOptions> = {}): Log {
  const log = createLog({ level: 'info', sink, ...over });
  open.push(log);
  return log;
}

/** The lines that `write` makes, parsed. */
async function linesOf(write: (log: Log) => void, over: Partial<LogOptions> = {}): Promise<Record<string, unknown>[]> {
  const sink = collectingSink();
  const log = logOn(sink, over);
  write(log);
  await log.close();
  const lines = sink.text.split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the line of a request', () => {
  test('says who asked for what and how it went', async () => {
    const attempts = [
      anAttempt({ status: 503 }),
      anAttempt({ status: 503, retry: 1 }),
      anAttempt({ target: 'config.targets[1]' }),
    ];
    const [line] = await linesOf((log) => log.request(anExchange({ attempts })));
    const { time, duration_ms, first_byte_ms, ...rest } = line ?? {};
    expect(rest).toEqual({
      level: 'info',
      msg: 'request',
      method: 'POST',
      endpoint: 'chatComplete',
      path: '/v1/chat/completions',
      status: 200,
      caller: 'checkout',
      namespace: 'team-a',
      config: 'chat',
      model: 'gpt-4o-mini',
      answered_model: 'gpt-4o-mini-2024-07-18',
      target: 'config.targets[1]',
      provider: 'openai',
      attempts: 3,
      retries: 1,
      upstream_status: 200,
      input_tokens: 11,
      output_tokens: 5,
      trace_id: TRACE_ID,
      request_id: 'req-1',
      generation: 7,
    });
    expect(Math.abs(Date.parse(String(time)) - Date.now())).toBeLessThan(5000);
    expect(duration_ms).toBeGreaterThanOrEqual(100);
    expect(first_byte_ms).toBeCloseTo(75, 0);
    expect(String(duration_ms)).toMatch(/^\d+(\.\d{1,2})?$/);
  });

  test('leaves out what is not known', async () => {
    const [line] = await linesOf((log) =>
      log.request(
        anExchange({
          caller: undefined,
          config: undefined,
          requestedModel: undefined,
          answeredModel: undefined,
          attempts: [],
          usage: undefined,
          firstByteAt: undefined,
          status: 401,
          errorCode: 'invalid_api_key',
        }),
      ),
    );
    const names = Object.keys(line ?? {});
    for (const name of [
      'caller',
      'config',
      'model',
      'provider',
      'target',
      'retries',
      'first_byte_ms',
      'input_tokens',
    ]) {
      expect(names).not.toContain(name);
    }
    expect(line).toMatchObject({ attempts: 0, status: 401, error: 'invalid_api_key' });
  });

  test('a failed stream says so', async () => {
    const [line] = await linesOf((log) =>
      log.request(anExchange({ stream: true, streamFailed: true, errorCode: 'upstream_cut' })),
    );
    expect(line).toMatchObject({ level: 'warn', stream: true, stream_failed: true, error: 'upstream_cut' });
  });

  test("the caller's own trace id stands beside the one in use", async () => {
    const [line] = await linesOf((log) => log.request(anExchange({ trace: aTrace({ echoed: 'order 17' }) })));
    expect(line).toMatchObject({ trace_id: TRACE_ID, caller_trace_id: 'order 17' });
  });

  test('usage that is no number is left out', async () => {
    const usage = { prompt_tokens: Number.NaN, completion_tokens: Number.POSITIVE_INFINITY, total_tokens: 0 };
    const [line] = await linesOf((log) => log.request(anExchange({ usage })));
    expect(line).not.toHaveProperty('input_tokens');
    expect(line).not.toHaveProperty('output_tokens');
  });

  test('is never more than metadata allows: neither keys, metadata nor hosts', async () => {
    const sink = collectingSink();
    const log = logOn(sink);
    const key = {
      namespace: 'team-a',
      name: 'checkout',
      digest: 'canary'.padEnd(64, '0'),
      type: 'workspace-service' as const,
      allow_config_override: true,
      metadata: { note: 'canary' },
      disabled: false,
    };
    log.request(anExchange({ caller: { name: 'checkout', namespace: 'team-a', key } }));
    await log.flush();
    expect(sink.text).not.toContain('canary');
  });

  test('any strings make one line of valid JSON, cut to 256 characters', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 600 });
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (pathname, model, echoed, answered) => {
        const [line, ...others] = await linesOf((log) =>
          log.request(
            anExchange({ pathname, requestedModel: model, answeredModel: answered, trace: aTrace({ echoed }) }),
          ),
        );
        expect(others).toEqual([]);
        expect(line?.path).toBe(pathname.slice(0, 256));
        expect(line?.model).toBe(model.slice(0, 256));
        expect(line?.answered_model).toBe(answered.slice(0, 256));
        expect(line?.caller_trace_id).toBe(echoed.slice(0, 256));
      }),
      { numRuns: 200 },
    );
  });
});

describe('levels', () => {
  const requests: [over: Parameters<typeof anExchange>[0], level: string][] = [
    [{ status: 200 }, 'info'],
    [{ status: 400, errorCode: 'invalid_value' }, 'info'],
    [{ status: 499 }, 'info'],
    [{ status: 503 }, 'warn'],
    [{ status: 200, streamFailed: true }, 'warn'],
    [{ status: 500, errorCode: 'internal' }, 'error'],
  ];
  test.each(requests)('a request with %o is %s', async (over, level) => {
    expect((await linesOf((log) => log.request(anExchange(over))))[0]).toMatchObject({ level });
  });

  const shown: [level: LogOptions['level'], lines: string[]][] = [
    ['debug', ['debug', 'info', 'warn', 'error', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error', 'info', 'warn', 'error']],
    ['warn', ['warn', 'error', 'warn', 'error']],
    ['error', ['error', 'error']],
    ['silent', []],
  ];
  test.each(shown)('%s shows %j', async (level, expected) => {
    const lines = await linesOf(
      (log) => {
        for (const word of ['debug', 'info', 'warn', 'error'] as const) log.event(word, 'something');
        for (const [over] of [requests[0], requests[3], requests[5]].flatMap((row) => (row ? [row] : []))) {
          log.request(anExchange(over));
        }
      },
      { level },
    );
    expect(lines.map((line) => line.level)).toEqual(expected);
  });

  test('levels are known by name', () => {
    expect(['debug', 'info', 'warn', 'error', 'silent'].every(isLogLevel)).toBe(true);
    expect(['', 'INFO', 'trace', 'toString', '__proto__'].some(isLogLevel)).toBe(false);
  });
});

describe('events', () => {
  test('carry their fields', async () => {
    const [line] = await linesOf((log) =>
      log.event('info', 'listening', { origin: 'http://127.0.0.1:8787', port: 8787, open: true, reason: undefined }),
    );
    expect(line).toMatchObject({
      level: 'info',
      msg: 'listening',
      origin: 'http://127.0.0.1:8787',
      port: 8787,
      open: true,
    });
    expect(line).not.toHaveProperty('reason');
  });

  test('a field cannot take the place of time, level or message', async () => {
    const [line] = await linesOf((log) => log.event('warn', 'real', { msg: 'fake', level: 'info', time: 'never' }));
    expect(line).toMatchObject({ level: 'warn', msg: 'real' });
    expect(line?.time).not.toBe('never');
  });

  test('any message and field is valid JSON', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 });
    const value = fc.oneof(text, fc.double(), fc.boolean());
    await fc.assert(
      fc.asyncProperty(text, fc.dictionary(text, value), async (message, fields) => {
        const lines = await linesOf((log) => log.event('info', message, fields));
        expect(lines).toHaveLength(1);
        expect(lines[0]?.msg).toBe(message);
      }),
      { numRuns: 200 },
    );
  });
});

describe('delivery', () => {
  test('nothing is lost: every request has its line, in order', async () => {
    const lines = await linesOf((log) => {
      for (let i = 0; i < 5000; i++) log.request(anExchange({ id: `req-${i}` }));
    });
    expect(lines.map((line) => line.request_id)).toEqual(Array.from({ length: 5000 }, (_, i) => `req-${i}`));
  });

  test('a reader that stalls costs lines, which are counted and told of', async () => {
    let isStuck = true;
    const sink = reactingSink(() => (isStuck ? 'EAGAIN' : 'all'));
    const log = logOn(sink, { maxChars: 100_000 });
    for (let i = 0; i < 2000; i++) log.request(anExchange());
    expect(log.dropped).toBeGreaterThan(500);
    isStuck = false;
    await log.flush();
    const lines = sink.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const told = lines.reduce((sum, line) => sum + (typeof line.dropped === 'number' ? line.dropped : 0), 0);
    expect(told).toBe(log.dropped);
    expect(lines.filter((line) => line.msg === 'request').length + told).toBe(2000);
  });

  test('closing lets go of the process', async () => {
    const before = process.listenerCount('exit');
    const log = createLog({ level: 'info', sink: collectingSink() });
    expect(process.listenerCount('exit')).toBe(before + 1);
    await log.close();
    expect(process.listenerCount('exit')).toBe(before);
  });
});

describe('on a terminal', () => {
  async function textOf(write: (log: Log) => void): Promise<string> {
    const sink = collectingSink();
    const log = logOn(sink, { terminal: true });
    write(log);
    await log.close();
    return sink.text;
  }
  const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');

  test('a request is one readable coloured line', async () => {
    const text = await textOf((log) => log.request(anExchange()));
    expect(text).toMatch(COLOUR);
    expect(text.replace(COLOUR, '')).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} info {2}200 POST \/v1\/chat\/completions \d+(\.\d+)? ms model=gpt-4o-mini provider=openai target=config\.targets\[0\] config=chat caller=checkout tokens=11\+5 trace=0af7\w+\n$/,
    );
  });

  test('an event is one readable line', async () => {
    const text = await textOf((log) => log.event('warn', 'a thing happened', { file: '/tmp/a b.yaml', count: 2 }));
    expect(text.replace(COLOUR, '')).toMatch(/^\S+ warn {2}a thing happened file="\/tmp\/a b\.yaml" count=2\n$/);
  });

  test('no caller can send control characters to it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 80 }), async (hostile) => {
        const exchange = anExchange({ method: hostile, pathname: hostile, requestedModel: hostile });
        const text = await textOf((log) => {
          log.request(exchange);
          log.event('info', hostile, { [hostile]: hostile });
        });
        expect(text.split('\n')).toHaveLength(3);
        expect(text.replace(COLOUR, '').replace(/\n/g, '')).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      }),
      { numRuns: 100 },
    );
  });
});

describe('pieces', () => {
  test('times are ISO 8601, whatever came before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), (epochMs) => {
        expect(isoTime(epochMs)).toBe(new Date(epochMs).toISOString());
        expect(isoTime(epochMs + 1)).toBe(new Date(epochMs + 1).toISOString());
      }),
    );
  });

  test('quoted strings are JSON for what was given', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 400 }),
        fc.integer({ min: 0, max: 300 }),
        (value, maxChars) => {
          expect(JSON.parse(quote(value, maxChars))).toBe(value.slice(0, maxChars));
        },
      ),
    );
  });
});

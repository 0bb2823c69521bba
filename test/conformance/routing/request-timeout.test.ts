/** `request_timeout`: whose value holds, what stops its clock, what it ends in; and the idle time of streams. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiChat, openAiError } from '../../fakes/openai-wire.ts';
import {
  chat,
  hangAfterHeaders,
  hangBeforeHeaders,
  json,
  after as later,
  pieces,
  type Reply,
} from '../../fakes/replies.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { askBy, broken, CHAT, errorOf, eventsOf, good, isWhole, refusalOf, targetOf, WAYS, type Way } from './ways.ts';

const SHORT_MS = 60;
const LONG_MS = 20_000;

let stage: Stage;
let serial = 0;
beforeAll(async () => {
  stage = await startStage(2);
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

function use(way: Way, spec: object): void {
  serial += 1;
  const targets = stage.upstreams.map((upstream) => targetOf(way.wire, upstream, { api_key: `timeout-${serial}` }));
  stage.gateway.apply(config('timed', { strategy: { mode: 'fallback' }, targets, ...spec }));
}

const timeout = (ms: number) => ({ 'x-gateway-request-timeout': String(ms) });
const single = (way: Way, more: object) => ({
  strategy: { mode: 'single' },
  targets: [targetOf(way.wire, stage.at(0))],
  ...more,
});

const SILENT: readonly (readonly [string, Reply])[] = [
  ['no answer', hangBeforeHeaders],
  ['headers alone', hangAfterHeaders],
  [
    'error headers alone',
    pieces([], { status: 503, headers: { 'content-type': 'application/json' }, ending: 'stall' }),
  ],
];

/** Headers alone, with a wish to be asked again at once. */
const SILENT_AT_ONCE = pieces([], {
  headers: { 'content-type': 'text/event-stream', 'retry-after-ms': '1' },
  ending: 'stall',
});

describe.each(WAYS)('%s: the clock', (_name, way) => {
  it.each(SILENT)('runs out on %s: 408 timeout_error', async (_what, reply) => {
    use(way, single(way, { request_timeout: SHORT_MS }));
    stage.at(0).answer(reply);
    const asked = await askBy(stage, way, 'timed');
    expect(asked).toMatchObject({ status: 408, calls: [1, 0], path: 'config.targets[0]', retries: '0' });
    expect(errorOf(asked.text)).toMatchObject({ type: 'timeout_error' });
    expect(String(errorOf(asked.text)['message'])).toContain(String(SHORT_MS));
    await waitFor(() => stage.at(0).calls.at(-1)?.abortedAt !== undefined, 'the upstream to be hung up on');
  });

  it.each(SILENT.slice(0, 2))('runs out on %s, and the next target is asked', async (_what, reply) => {
    use(way, { request_timeout: SHORT_MS });
    stage.at(0).answer(reply);
    stage.at(1).answer(good(way));
    expect(await askBy(stage, way, 'timed')).toMatchObject({ status: 200, calls: [1, 1], path: 'config.targets[1]' });
  });

  it('is stopped by the first byte of the body', async () => {
    use(way, single(way, { request_timeout: 250 }));
    const parts = way.stream ? eventsOf(way.wire, 'a b c d e') : slowly(way);
    const headers = { 'content-type': way.stream ? 'text/event-stream' : 'application/json' };
    stage.at(0).answer(pieces(parts, { gapMs: 60, headers }));
    const startedMs = performance.now();
    const { status, text } = await askBy(stage, way, 'timed');
    expect(status).toBe(200);
    expect(isWhole(way, text)).toBe(true);
    expect(performance.now() - startedMs).toBeGreaterThan(300);
  });

  it('is each attempt’s own', async () => {
    const retry = { attempts: 2, on_status_codes: [408], use_retry_after_headers: true };
    use(way, single(way, { request_timeout: 200, retry }));
    stage.at(0).answer([SILENT_AT_ONCE, SILENT_AT_ONCE, later(120, good(way))]);
    const startedMs = performance.now();
    expect(await askBy(stage, way, 'timed')).toMatchObject({ status: 200, calls: [3, 0], retries: '2' });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(500);
  });
});

/** A whole answer of the wire in six pieces. */
function slowly({ wire }: Way): string[] {
  const whole = wire === 'openai' ? openAiChat() : { type: 'message', role: 'assistant', model: 'm', content: [] };
  const text = JSON.stringify(whole);
  const size = Math.ceil(text.length / 6);
  return Array.from({ length: 6 }, (_, index) => text.slice(index * size, (index + 1) * size));
}

describe('the value that holds', () => {
  /** With a target that answers after 250 ms. */
  it.each<[string, object, object, Record<string, string>, boolean]>([
    ['the config’s', { request_timeout: SHORT_MS }, {}, {}, true],
    ['the target’s, before the config’s', { request_timeout: LONG_MS }, { request_timeout: SHORT_MS }, {}, true],
    ['the target’s, longer than the config’s', { request_timeout: SHORT_MS }, { request_timeout: LONG_MS }, {}, false],
    ['the header’s, alone', {}, {}, timeout(SHORT_MS), true],
    ['the header’s, before the config’s', { request_timeout: LONG_MS }, {}, timeout(SHORT_MS), true],
    ['the header’s, longer than the config’s', { request_timeout: SHORT_MS }, {}, timeout(LONG_MS), false],
    ['the header’s, before the target’s', {}, { request_timeout: LONG_MS }, timeout(SHORT_MS), true],
    ['the header’s, longer than the target’s', {}, { request_timeout: SHORT_MS }, timeout(LONG_MS), false],
    ['none', {}, {}, {}, false],
  ])('is %s', async (_what, root, leaf, headers, ends) => {
    stage.at(0).answer(later(250, chat()));
    stage.gateway.apply(
      config('timed', { strategy: { mode: 'single' }, targets: [target(stage.at(0), leaf)], ...root }),
    );
    expect((await askBy(stage, CHAT, 'timed', { headers })).status).toBe(ends ? 408 : 200);
  });

  it('may be another for each target', async () => {
    const targets = [
      target(stage.at(0), { request_timeout: SHORT_MS }),
      target(stage.at(1), { request_timeout: LONG_MS }),
    ];
    stage.gateway.apply(config('timed', { strategy: { mode: 'fallback' }, targets }));
    stage.at(0).answer(later(250, chat()));
    stage.at(1).answer(later(250, chat()));
    expect(await askBy(stage, CHAT, 'timed')).toMatchObject({ status: 200, calls: [1, 1] });
    const headers = timeout(SHORT_MS);
    expect(await askBy(stage, CHAT, 'timed', { headers })).toMatchObject({ status: 408, calls: [1, 1] });
  });

  it.each(['0', '-1', '1.5', 'soon', '1e3', '0x10', '99999999999'])('is no %j in the header', async (value) => {
    const asked = await askBy(stage, CHAT, 'timed', { headers: { 'x-gateway-request-timeout': value } });
    expect(asked.status).toBe(400);
    expect(String(errorOf(asked.text)['message'])).toContain('x-gateway-request-timeout');
    expect(asked.calls).toEqual([0, 0]);
  });

  it.each([0, -1, 1.5, '100'])('is no %j in a config', async (value) => {
    expect(await refusalOf(stage, { provider: 'simulator', request_timeout: value })).toContain('request_timeout');
  });
});

describe('a timeout', () => {
  it('is not tried again on the same target, unless 408 is listed', async () => {
    for (const [codes, calls] of [
      [undefined, 1],
      [[500, 502, 503, 504], 1],
      [[408], 3],
    ] as const) {
      const retry = { attempts: 2, use_retry_after_headers: true, ...(codes && { on_status_codes: codes }) };
      use(CHAT, single(CHAT, { request_timeout: 30, retry }));
      stage.at(0).answer(SILENT_AT_ONCE);
      const asked = await askBy(stage, CHAT, 'timed');
      expect([codes, asked.calls[0], asked.status]).toEqual([codes, calls, 408]);
    }
  });

  it('everywhere is 408 of the last target', async () => {
    use(CHAT, { request_timeout: SHORT_MS });
    for (const upstream of stage.upstreams) upstream.answer(hangBeforeHeaders);
    const asked = await askBy(stage, CHAT, 'timed');
    expect(asked).toMatchObject({ status: 408, calls: [1, 1], path: 'config.targets[1]' });
    expect(errorOf(asked.text)).toMatchObject({ code: 'request_timeout', param: null });
  });

  it('that an upstream speaks of itself keeps its own words', async () => {
    use(CHAT, single(CHAT, {}));
    stage.at(0).answer(json(408, openAiError('I took too long.', 'their_timeout', 'their_code')));
    const asked = await askBy(stage, CHAT, 'timed');
    expect(errorOf(asked.text)).toMatchObject({
      message: 'I took too long.',
      code: 'their_code',
      type: 'their_timeout',
    });
  });
});

describe.each(WAYS.filter(([, { stream }]) => stream))('%s: stream_idle_timeout', (_name, way) => {
  const idle = (stream_idle_timeout: number, more: object = {}) => ({
    strategy: { mode: 'fallback', stream_idle_timeout },
    ...more,
  });

  it('ends a stream that stalls, with an error event and no end marker', async () => {
    use(way, idle(SHORT_MS));
    stage.at(0).answer(broken(way.wire, { ending: 'stall' }));
    const asked = await askBy(stage, way, 'timed');
    expect(asked).toMatchObject({ status: 200, calls: [1, 0] });
    expect(isWhole(way, asked.text)).toBe(false);
    expect(asked.text).toContain('one');
    expect(asked.text).toContain('"error"');
    await waitFor(() => stage.at(0).calls.at(-1)?.abortedAt !== undefined, 'the upstream to be hung up on');
  });

  it('leaves a slow stream alone', async () => {
    use(way, idle(400, { request_timeout: 400 }));
    stage.at(0).answer(pieces(eventsOf(way.wire, 'a b c d'), { gapMs: 60 }));
    expect(isWhole(way, (await askBy(stage, way, 'timed')).text)).toBe(true);
  });

  it('moves on where nothing was said yet', async () => {
    use(way, idle(SHORT_MS));
    stage.at(0).answer(pieces([': hello\n\n'], { ending: 'stall' }));
    stage.at(1).answer(good(way));
    expect(await askBy(stage, way, 'timed')).toMatchObject({ status: 200, calls: [1, 1] });
  });

  it('is inherited, and a branch’s own comes first', async () => {
    const inner = (more: object) => ({
      strategy: { mode: 'single', ...more },
      targets: [targetOf(way.wire, stage.at(0))],
    });
    stage.at(0).answer(broken(way.wire, { ending: 'stall' }));
    for (const tree of [
      { ...idle(SHORT_MS), targets: [inner({})] },
      { ...idle(LONG_MS), targets: [inner({ stream_idle_timeout: SHORT_MS })] },
    ]) {
      stage.gateway.apply(config('timed', tree));
      expect((await askBy(stage, way, 'timed')).text).toContain('"error"');
    }
  });
});

it('stream_idle_timeout is no concern of whole answers', async () => {
  use(CHAT, { strategy: { mode: 'single', stream_idle_timeout: 30 } });
  stage.at(0).answer(later(200, chat()));
  expect((await askBy(stage, CHAT, 'timed')).status).toBe(200);
});

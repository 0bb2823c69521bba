/** Circuit breakers: closed, open, half open; what counts, what is skipped, what a reload does to them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, chatStream, gated, hangBeforeHeaders, json, pieces, resetBeforeHeaders } from '../../fakes/replies.ts';
import { HI, type Stage, startStage, target } from '../stage.ts';

let stage: Stage;
let serial = 0;
let name = '';
let nowMs = 0;
beforeAll(async () => {
  stage = await startStage(
    2,
    () => '',
    () => ({ breakerClock: () => nowMs }),
  );
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

const COOLDOWN_MS = 30_000;
const BREAKER = { failure_threshold: 2, cooldown_interval: COOLDOWN_MS };
const DOWN = json(503, openAiError('down'));

/** A config of a new name has new breakers. */
function use(spec: object): void {
  serial += 1;
  name = `breaker-${serial}`;
  stage.gateway.apply(config(name, { targets: [target(stage.at(0)), target(stage.at(1))], ...spec }));
}

async function ask(body: object = HI): Promise<{ asked: readonly number[]; status: number; text: string }> {
  const before = stage.upstreams.map((upstream) => upstream.calls.length);
  const response = await stage.gateway.chat(body, { 'x-gateway-config': name });
  const text = await response.text();
  const asked = stage.upstreams.map((upstream, index) => upstream.calls.length - (before[index] ?? 0));
  return { asked, status: response.status, text };
}

async function trip(): Promise<void> {
  for (let failure = 0; failure < 2; failure += 1) expect((await ask()).asked[0]).toBe(1);
}

const FALLBACK = { strategy: { mode: 'fallback' }, cb_config: BREAKER };

describe('a breaker', () => {
  it.each([
    ['on the config', FALLBACK],
    ['on the strategy', { strategy: { mode: 'fallback', cb_config: BREAKER } }],
  ])('%s opens after its failures, and the target is skipped', async (_where, spec) => {
    use(spec);
    stage.at(0).answer(DOWN);
    await trip();
    expect((await ask()).asked).toEqual([0, 1]);
    expect(await stage.gateway.metric('modelgateway_breaker_state')).toBeGreaterThan(0);
  });

  it('stays closed where successes come between', async () => {
    use(FALLBACK);
    stage.at(0).answer([DOWN, chat(), DOWN, chat(), DOWN]);
    for (let request = 0; request < 5; request += 1) expect((await ask()).asked[0]).toBe(1);
  });

  it('lets exactly one probe through after the cooldown, and closes when it succeeds', async () => {
    use(FALLBACK);
    stage.at(0).answer(DOWN);
    await trip();
    const probe = gated(chat());
    stage.at(0).answer(probe.reply);
    nowMs += COOLDOWN_MS;
    const before = stage.at(0).calls.length;
    const asked = Array.from({ length: 20 }, () => ask());
    await expect.poll(() => stage.at(1).calls.length).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(stage.at(0).calls.length - before).toBe(1);
    probe.open();
    expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true);
    expect((await ask()).asked).toEqual([1, 0]);
  });

  it('stays open until the cooldown is over', async () => {
    use(FALLBACK);
    stage.at(0).answer(DOWN);
    await trip();
    nowMs += COOLDOWN_MS - 1;
    expect((await ask()).asked).toEqual([0, 1]);
  });

  it('opens again when the probe fails', async () => {
    use(FALLBACK);
    stage.at(0).answer(DOWN);
    await trip();
    nowMs += COOLDOWN_MS;
    expect((await ask()).asked).toEqual([1, 1]);
    expect((await ask()).asked).toEqual([0, 1]);
  });

  it('tries all where all are open', async () => {
    use(FALLBACK);
    stage.at(0).answer(DOWN);
    stage.at(1).answer(DOWN);
    await trip();
    const { asked, status } = await ask();
    expect(asked).toEqual([1, 1]);
    expect(status).toBe(503);
  });

  it.each([
    ['500', json(500, openAiError()), true],
    ['a network error', resetBeforeHeaders, true],
    ['429', json(429, openAiError()), false],
    ['401', json(401, openAiError()), false],
    ['404', json(404, openAiError()), false],
    ['400', json(400, openAiError()), false],
  ])('counts %s: %s', async (_what, reply, counts) => {
    use(FALLBACK);
    stage.at(0).answer(reply);
    await ask();
    await ask();
    expect((await ask()).asked[0]).toBe(counts ? 0 : 1);
  });

  it('counts a timeout', async () => {
    use({ ...FALLBACK, request_timeout: 40 });
    stage.at(0).answer(hangBeforeHeaders);
    await trip();
    expect((await ask()).asked).toEqual([0, 1]);
  });

  it.each([
    [429, true],
    [503, false],
  ])('with failure_status_codes [429] counts %i: %s', async (status, counts) => {
    use({ ...FALLBACK, cb_config: { ...BREAKER, failure_status_codes: [429] } });
    stage.at(0).answer(json(status, openAiError()));
    await trip();
    expect((await ask()).asked[0]).toBe(counts ? 0 : 1);
  });

  it('counts a request once, after its retries', async () => {
    use({ ...FALLBACK, retry: { attempts: 2, use_retry_after_headers: true } });
    stage.at(0).answer(json(503, openAiError(), { 'retry-after-ms': '1' }));
    expect((await ask()).asked[0]).toBe(3);
    expect((await ask()).asked[0]).toBe(3);
    expect((await ask()).asked[0]).toBe(0);
  });

  it('counts a stream that broke in the middle', async () => {
    use(FALLBACK);
    stage.at(0).answer(pieces(['data: {"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'], { gapMs: 5 }));
    const stream = { ...HI, stream: true };
    for (let failure = 0; failure < 2; failure += 1) expect((await ask(stream)).text).not.toContain('[DONE]');
    stage.at(1).answer(chatStream());
    expect((await ask(stream)).asked).toEqual([0, 1]);
  });

  it('is left alone by a reload that changes other things, and goes with its config', async () => {
    use(FALLBACK);
    stage.at(0).answer(DOWN);
    await trip();
    const spec = { targets: [target(stage.at(0)), target(stage.at(1))], ...FALLBACK };
    stage.gateway.apply(config(name, spec) + config('another', { provider: 'simulator' }));
    expect((await ask()).asked).toEqual([0, 1]);
    stage.gateway.apply(config('another', { provider: 'simulator' }));
    stage.gateway.apply(config(name, spec));
    expect((await ask()).asked).toEqual([1, 1]);
  });

  it('is not drawn while it is open', async () => {
    use({ strategy: { mode: 'loadbalance' }, cb_config: BREAKER });
    stage.at(0).answer(DOWN);
    await expect
      .poll(
        async () => {
          const { asked } = await ask();
          return asked[0];
        },
        { interval: 1, timeout: 10_000 },
      )
      .toBe(0);
    const failures = stage.at(0).calls.length;
    if ((await ask()).status === 503) await ask();
    for (let request = 0; request < 10; request += 1) await ask();
    expect(stage.at(0).calls.length - failures).toBeLessThanOrEqual(2);
  });
});

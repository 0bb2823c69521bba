/** Caps on requests in flight: of a key, of a target, of an Integration; and the queue before them. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Queued, type Turn, Turnstiles } from '#gateway/limits/concurrency.ts';
import { HI, target } from '../conformance/stage.ts';
import { apiKey, config, defaultConfig, object } from '../fakes/objects.ts';
import { chat, chatStream, gated, hangBeforeHeaders } from '../fakes/replies.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { type Answer, ask, idle, type LimitStage, rateLimit, rates, startLimitStage } from './stage.ts';

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

const KEY = 'key-capped-000000000';
const AS_CAPPED = { 'x-gateway-api-key': KEY };
const capped = (concurrency: object) => apiKey('capped', KEY, { concurrency });

async function start(limits: string, options: Parameters<typeof startLimitStage>[1] = {}): Promise<LimitStage> {
  stage = await startLimitStage(limits, options);
  return stage;
}

/** Requests that are under way until `open`. */
function held(on: LimitStage, count: number, stream = false): { readonly answers: Promise<Answer>[]; open(): void } {
  const gate = gated(stream ? chatStream() : chat());
  on.at(0).answer(gate.reply);
  const answers = Array.from({ length: count }, () => ask(on, AS_CAPPED, { stream }));
  return { answers, open: gate.open };
}

describe('a key', () => {
  it.each([false, true])(
    'has no more under way than its cap (stream: %s); who is too many is told at once',
    async (stream) => {
      const on = await start(capped({ max_in_flight: 3 }));
      const running = held(on, 3, stream);
      await on.at(0).called(3);
      const refused = await ask(on, AS_CAPPED);
      expect([refused.status, refused.type, refused.code]).toEqual([429, 'rate_limit_error', 'too_many_in_flight']);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.message).toBe(
        'ApiKey capped has as many requests under way as it may (3): try again when one of them is over.',
      );
      const anthropic = await on.gateway.post('/v1/messages', { ...HI, max_tokens: 5 }, AS_CAPPED);
      const error = { type: 'rate_limit_error', code: 'too_many_in_flight' };
      expect(await anthropic.json()).toMatchObject({ type: 'error', error });
      running.open();
      expect((await Promise.all(running.answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
      await idle(on);
      expect((await ask(on, AS_CAPPED, { stream })).status).toBe(200);
      const labels = { kind: 'ApiKey', reason: 'too_many_in_flight' };
      expect(await on.gateway.metric('modelgateway_ratelimit_rejections_total', labels)).toBe(2);
    },
  );

  it('leaves others alone, and its refusals count in no other limit', async () => {
    const on = await start(capped({ max_in_flight: 1 }) + rateLimit('few', { value: 3 }));
    const running = held(on, 1);
    await on.at(0).called(1);
    for (let turn = 0; turn < 5; turn += 1) expect((await ask(on, AS_CAPPED)).code).toBe('too_many_in_flight');
    running.open();
    await Promise.all(running.answers);
    expect(rates((await ask(on)).headers, 'requests')[1]).toBe('1');
  });

  it('has its turn back when a caller leaves, a stream is cut, or a request fails', async () => {
    const on = await start(capped({ max_in_flight: 1 }));
    for (const [reply, stream] of [
      [hangBeforeHeaders, false],
      [chatStream({}, { gapMs: 20, ending: 'stall' }), true],
    ] as const) {
      on.at(0).answer(reply);
      const leave = new AbortController();
      const before = on.at(0).calls.length;
      const left = on.gateway.chat({ ...HI, stream }, AS_CAPPED, leave.signal).then((response) => response.text());
      await on.at(0).called(before + 1);
      expect((await ask(on, AS_CAPPED)).status).toBe(429);
      leave.abort();
      await expect(left).rejects.toThrow();
      await idle(on);
    }
    on.at(0).answer(chat());
    expect((await ask(on, AS_CAPPED)).status).toBe(200);
    expect((await ask(on, AS_CAPPED, { temperature: 9 })).status).toBe(400);
    expect((await ask(on, AS_CAPPED)).status).toBe(200);
  });
});

describe('the queue', () => {
  it('lets in who waits when somebody is done; who does not fit is refused at once', async () => {
    const on = await start(capped({ max_in_flight: 1, max_queued: 4 }));
    const running = held(on, 7);
    let refused = 0;
    for (const answer of running.answers) void answer.then(({ status }) => (refused += Number(status === 429)));
    await waitFor(() => refused === 2, 'two refusals');
    expect(on.at(0).calls).toHaveLength(1);
    running.open();
    const statuses = (await Promise.all(running.answers)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(on.at(0).calls).toHaveLength(5);
  });

  it('is left when the wait was too long', async () => {
    const on = await start(capped({ max_in_flight: 1, max_queued: 5, max_wait_ms: 60 }));
    const running = held(on, 1);
    await on.at(0).called(1);
    const refused = await ask(on, AS_CAPPED);
    expect([refused.status, refused.code]).toEqual([429, 'too_many_in_flight']);
    running.open();
    await Promise.all(running.answers);
    expect((await ask(on, AS_CAPPED)).status).toBe(200);
  });

  it('is left when the caller goes: nobody asks for them, and nobody waits behind them', async () => {
    const on = await start(capped({ max_in_flight: 1, max_queued: 1 }));
    const running = held(on, 1);
    await on.at(0).called(1);
    const leave = new AbortController();
    const left = on.gateway.chat(HI, AS_CAPPED, leave.signal);
    await waitFor(async () => (await ask(on, AS_CAPPED)).status === 429, 'a full queue');
    leave.abort();
    await expect(left).rejects.toThrow();
    await waitFor(async () => (await on.gateway.metric('modelgateway_requests_in_flight')) === 1, 'the one that left');
    const next = ask(on, AS_CAPPED);
    await setTimeout(30);
    running.open();
    expect((await next).status).toBe(200);
    await Promise.all(running.answers);
    expect(on.at(0).calls).toHaveLength(2);
  });
});

describe('a target', () => {
  const cap = { max_in_flight: 1 };
  const two = (concurrency: object) => (upstreams: LimitStage['upstreams']) =>
    defaultConfig('two', {
      strategy: { mode: 'fallback' },
      targets: upstreams.map((upstream, index) =>
        target(upstream, index === 0 ? { strategy: { mode: 'single', concurrency } } : {}),
      ),
    });

  it('at its cap is passed over', async () => {
    const on = await start('', { count: 2, configs: two(cap) });
    const gate = gated(chat());
    on.at(0).answer(gate.reply);
    const first = ask(on);
    await on.at(0).called(1);
    expect((await ask(on)).headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
    gate.open();
    expect((await first).headers.get('x-gateway-last-used-option-index')).toBe('config.targets[0]');
    await idle(on);
    expect((await ask(on)).headers.get('x-gateway-last-used-option-index')).toBe('config.targets[0]');
  });

  it('with a queue is waited for', async () => {
    const on = await start('', { count: 2, configs: two({ ...cap, max_queued: 1 }) });
    const gate = gated(chat());
    on.at(0).answer(gate.reply);
    const [first, second] = [ask(on), ask(on)];
    await on.at(0).called(1);
    const third = await ask(on);
    expect(third.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
    gate.open();
    for (const answer of await Promise.all([first, second]))
      expect(answer.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[0]');
  });

  it('that failed has its turn back before the next one is asked', async () => {
    const on = await start('', { count: 2, configs: two(cap) });
    on.at(0).answer({ send: (response) => void response.socket?.resetAndDestroy() });
    const gate = gated(chat());
    on.at(1).answer(gate.reply);
    const first = ask(on);
    await on.at(1).called(1);
    on.at(0).answer(chat());
    expect((await ask(on)).headers.get('x-gateway-last-used-option-index')).toBe('config.targets[0]');
    gate.open();
    await first;
  });

  it('of an Integration shares its cap with all that lead there; alone at it, 429', async () => {
    const on = await start('', {
      configs: ([upstream]) =>
        object('Integration', 'shared', {
          provider: 'openai',
          configurations: { custom_host: `${upstream?.origin}/v1` },
          concurrency: cap,
        }) +
        config('one', { provider: '@shared' }) +
        config('other', { virtual_key: 'shared' }),
    });
    const gate = gated(chat());
    on.at(0).answer(gate.reply);
    const first = ask(on, { 'x-gateway-config': 'one' });
    await on.at(0).called(1);
    for (const request of [ask(on, { 'x-gateway-config': 'other' }), ask(on, {}, { model: '@shared/m' })]) {
      const { status, code, message } = await request;
      expect([status, code]).toEqual([429, 'too_many_in_flight']);
      expect(message).toContain('Integration shared');
    }
    gate.open();
    expect((await first).status).toBe(200);
  });

  it("does not inherit its parent's: there it is refused", async () => {
    const on = await start('');
    const spec = { strategy: { mode: 'fallback', concurrency: cap }, targets: [{ virtual_key: 'a' }] };
    const { status, message } = await ask(on, { 'x-gateway-config': JSON.stringify(spec) });
    expect([status, message]).toEqual([
      400,
      expect.stringContaining('config.strategy.concurrency is for a config without targets'),
    ]);
  });
});

describe('turnstiles', () => {
  const rule = (max_in_flight: number, max_queued = 0, max_wait_ms = 10_000) => ({
    max_in_flight,
    max_queued,
    max_wait_ms,
  });
  const LONG_MS = 10_000;

  it.each([
    [10, 1, 10],
    [10, 3, 3],
    [2, 3, 1],
  ])('a cap of %i over %i replicas is %i for each', (cap, replicas, part) => {
    const turnstiles = new Turnstiles();
    const entered = Array.from({ length: 12 }, () => turnstiles.enter('x', rule(cap), replicas, LONG_MS));
    expect(entered.filter((turn) => turn !== undefined)).toHaveLength(part);
  });

  it('keep nothing of what is over, and a turn that is left twice frees one place', () => {
    const turnstiles = new Turnstiles();
    const [first, second] = [1, 2].map(() => turnstiles.enter('x', rule(2), 1, LONG_MS) as Turn);
    first?.leave();
    first?.leave();
    expect(turnstiles.enter('x', rule(2), 1, LONG_MS)).toBeDefined();
    expect(turnstiles.enter('x', rule(2), 1, LONG_MS)).toBeUndefined();
    expect(turnstiles.size).toBe(1);
    second?.leave();
    expect(turnstiles.size).toBe(1);
  });

  it('are first come, first served, past those who have given up', async () => {
    const turnstiles = new Turnstiles();
    const first = turnstiles.enter('x', rule(1, 9), 1, LONG_MS) as Turn;
    const waiting = Array.from({ length: 5 }, () => turnstiles.enter('x', rule(1, 9), 1, LONG_MS) as Queued);
    waiting[1]?.giveUp();
    const order: number[] = [];
    const all = waiting.map(async ({ turn }, index) => {
      const had = await turn;
      if (had !== undefined) order.push(index);
      had?.leave();
    });
    first.leave();
    await Promise.all(all);
    expect(order).toEqual([0, 2, 3, 4]);
    expect(turnstiles.size).toBe(0);
  });

  it('a higher cap lets in who waits with the next who comes, a lower one nobody until enough have left', async () => {
    const turnstiles = new Turnstiles();
    const first = turnstiles.enter('x', rule(1, 5), 1, LONG_MS) as Turn;
    const waiting = turnstiles.enter('x', rule(1, 5), 1, LONG_MS) as Queued;
    const third = turnstiles.enter('x', rule(3, 5), 1, LONG_MS) as Turn;
    const second = await waiting.turn;
    expect(second).toBeDefined();
    const late = turnstiles.enter('x', rule(1, 5), 1, LONG_MS) as Queued;
    first.leave();
    second?.leave();
    expect(await Promise.race([late.turn, setTimeout(20, 'waits')])).toBe('waits');
    third.leave();
    (await late.turn)?.leave();
    expect(turnstiles.size).toBe(0);
  });
});

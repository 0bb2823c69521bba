/** A store that has to be waited for, as one of all replicas is: what is promised of limits holds in the meantime too. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore } from '#gateway/limits/memory-store.ts';
import type { Decision, Demand, LimitStore } from '#gateway/limits/store.ts';
import { HI } from '../conformance/stage.ts';
import { config, object } from '../fakes/objects.ts';
import { chat } from '../fakes/replies.ts';
import {
  ask,
  idle,
  type LimitStage,
  NOON_MS,
  rateLimit,
  rates,
  startLimitStage,
  statuses,
  usageLimit,
} from './stage.ts';

/** Answers after a while, and remembers what it was asked. */
class SlowStore implements LimitStore {
  readonly asked: number[] = [];
  settled = 0;
  delayMs = 5;
  isClosed = false;
  readonly #store = new MemoryStore({ now: () => NOON_MS });

  async reserve(demands: readonly Demand[]): Promise<Decision> {
    this.asked.push(demands.length);
    await setTimeout(this.delayMs);
    const decision = this.#store.reserve(demands);
    if (!decision.ok) return decision;
    const { hold } = decision;
    const settle = (amounts: readonly number[]) => {
      this.settled += 1;
      hold.settle(amounts);
    };
    return { ...decision, hold: { settle } };
  }

  usage() {
    return this.#store.usage();
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function start(limits: string, options: Parameters<typeof startLimitStage>[1] = {}) {
  const store = new SlowStore();
  stage = await startLimitStage(limits, { ...options, gateway: { store } });
  return { on: stage, store };
}

const INTEGRATIONS = (upstreams: LimitStage['upstreams']) =>
  ['a', 'b']
    .map((name, index) =>
      object('Integration', name, {
        provider: 'openai',
        configurations: { custom_host: `${upstreams[index]?.origin}/v1` },
      }),
    )
    .join('') +
  config('fallback', { strategy: { mode: 'fallback' }, targets: [{ provider: '@a' }, { provider: '@b' }] }) +
  config('balance', { strategy: { mode: 'loadbalance' }, targets: [{ provider: '@a' }, { provider: '@b' }] });

const about = (name: string, value: number) =>
  rateLimit(`limit-${name}`, { conditions: [{ key: 'virtual_key', value: name }], value });

describe('a store that answers later', () => {
  it('is asked once for all limits of a request that has no choice', async () => {
    const limits = rateLimit('few', { value: 2 }) + rateLimit('tokens', { type: 'tokens', value: 10_000 });
    const { on, store } = await start(limits + usageLimit('budget', { credit_limit: 1e6 }) + about('a', 5), {
      count: 2,
      configs: INTEGRATIONS,
    });
    const model = { model: '@a/m', max_tokens: 10 };
    const { status, headers } = await ask(on, {}, model);
    expect([status, ...rates(headers, 'requests')]).toEqual([200, '2', '1', '60']);
    expect(await statuses(2, () => ask(on, {}, model))).toEqual([200, 429]);
    expect(store.asked).toEqual([4, 4, 4]);
    await idle(on);
    expect(store.settled).toBe(2);
  });

  it('is not asked where no limit is about a request', async () => {
    const { on, store } = await start(rateLimit('few', { conditions: [{ key: 'metadata.team', value: 'red' }] }));
    expect((await ask(on)).status).toBe(200);
    expect(store.asked).toEqual([]);
  });

  it.each(['fallback', 'balance'])('%s goes past a target at its limit', async (name) => {
    const { on } = await start(about('a', 2) + about('b', 3), { count: 2, configs: INTEGRATIONS });
    expect(await statuses(6, () => ask(on, { 'x-gateway-config': name }))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(on.upstreams.map(({ calls }) => calls.length)).toEqual([2, 3]);
  });

  it('lets in no more than the limit of many who come at once', async () => {
    const { on, store } = await start(rateLimit('few', { value: 20 }));
    const all = await Promise.all(Array.from({ length: 60 }, () => ask(on)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(20);
    await idle(on);
    expect(store.settled).toBe(20);
  });

  it('gives everything back where the caller left before it had answered', async () => {
    const { on, store } = await start(usageLimit('budget', { credit_limit: 200 }));
    store.delayMs = 100;
    const leave = new AbortController();
    const left = on.gateway.chat({ ...HI, max_tokens: 100 }, {}, leave.signal);
    while (store.asked.length === 0) await setTimeout(2);
    leave.abort();
    await expect(left).rejects.toThrow();
    await idle(on);
    expect([on.at(0).calls.length, store.settled]).toEqual([0, 1]);
    store.delayMs = 1;
    on.at(0).answer(chat());
    expect((await ask(on, {}, { max_tokens: 100 })).status).toBe(200);
  });

  it('settles what was reserved, and is closed, when the gateway ends', async () => {
    const { on, store } = await start(usageLimit('budget', { credit_limit: 1e6 }));
    expect(await statuses(3, () => ask(on))).toEqual([200, 200, 200]);
    await on.close();
    expect([store.asked.length, store.settled, store.isClosed]).toEqual([3, 3, true]);
  });
});

/** Limits of where a request goes: a target at its limit is passed over, like one whose circuit is open. */
import { afterEach, describe, expect, it } from 'vitest';
import { estimatePrompt } from '#gateway/limits/estimate.ts';
import { HI, target } from '../conformance/stage.ts';
import { config, object } from '../fakes/objects.ts';
import { chat, problem } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import {
  type Answer,
  ask,
  idle,
  type LimitStage,
  rateLimit,
  rates,
  startLimitStage,
  statuses,
  usageLimit,
  usedOf,
} from './stage.ts';

const PROMPT = estimatePrompt(HI);
const NAMES = ['a', 'b', 'c'];

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

/** Integrations a, b and c at an upstream each, and configs that lead to them. */
function world(upstreams: readonly Upstream[]): string {
  const targets = upstreams.map((_, index) => ({ provider: `@${NAMES[index]}` }));
  const circuit = { failure_threshold: 1, cooldown_interval: 30_000 };
  const tree = (mode: string, more: object = {}) => ({ strategy: { mode, ...more }, targets });
  return [
    ...upstreams.map((upstream, index) =>
      object('Integration', NAMES[index] ?? '', {
        provider: 'openai',
        configurations: { custom_host: `${upstream.origin}/v1` },
      }),
    ),
    config('fallback', tree('fallback')),
    config('only-503', tree('fallback', { on_status_codes: [503] })),
    config('watched', { ...tree('fallback'), cb_config: circuit }),
    config('balance', tree('loadbalance')),
    config('sticky', tree('loadbalance', { sticky: { enabled: true, hash_fields: ['metadata.user'] } })),
    config('single', tree('single')),
    config('choice', {
      strategy: { mode: 'conditional', conditions: [{ query: { 'metadata.to': 'b' }, then: 'b' }], default: 'a' },
      targets: targets.map((one, index) => ({ ...one, name: NAMES[index] })),
    }),
    config('nested', {
      strategy: { mode: 'fallback' },
      targets: [{ strategy: { mode: 'loadbalance' }, targets: targets.slice(0, 2) }, ...targets.slice(2)],
    }),
    config('retried', { ...tree('fallback'), retry: { attempts: 1 } }),
  ].join('\n');
}

async function start(limits: string, count = 2): Promise<LimitStage> {
  stage = await startLimitStage(limits, { count, configs: world });
  return stage;
}

/** A policy about the targets of an Integration. */
const about = (name: string, spec: object = {}) =>
  rateLimit(`limit-${name}`, { conditions: [{ key: 'virtual_key', value: name }], value: 1, ...spec });

async function through(on: LimitStage, name: string, body: object = {}, metadata: object = {}): Promise<Answer> {
  return ask(on, { 'x-gateway-config': name, 'x-gateway-metadata': JSON.stringify(metadata) }, body);
}

const calls = (on: LimitStage) => on.upstreams.map((upstream) => upstream.calls.length);

describe('fallback', () => {
  it('goes past a target at its limit, whatever statuses move on', async () => {
    const on = await start(about('a'));
    for (const name of ['fallback', 'only-503']) {
      on.limit(about('a', { value: name === 'fallback' ? 1 : 2 }));
      expect(await statuses(3, () => through(on, name))).toEqual([200, 200, 200]);
    }
    expect(calls(on)).toEqual([2, 4]);
  });

  it('told of rates is the target that answered', async () => {
    const on = await start(about('a') + about('b', { value: 5 }));
    expect(rates((await through(on, 'fallback')).headers, 'requests')).toEqual(['1', '0', '60']);
    const second = await through(on, 'fallback');
    expect([second.headers.get('x-gateway-last-used-option-index'), ...rates(second.headers, 'requests')]).toEqual([
      'config.targets[1]',
      '5',
      '4',
      '60',
    ]);
  });

  it('none left: 429, with the time of the first that can be had again', async () => {
    const on = await start(about('a', { unit: 'rph' }) + about('b'));
    expect(await statuses(2, () => through(on, 'fallback'))).toEqual([200, 200]);
    on.pass(10_000);
    const refused = await through(on, 'fallback');
    expect([refused.status, refused.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '50']);
    expect(refused.message).toContain('"RateLimitPolicy limit-b"');
    expect(rates(refused.headers, 'requests')).toEqual(['1', '0', '50']);
    expect(calls(on)).toEqual([1, 1]);
    const line = (await on.gateway.logs()).findLast(({ msg }) => msg === 'request');
    expect(line).toMatchObject({ status: 429, attempts: 0, refused_by: 'RateLimitPolicy limit-b' });
  });

  it('none left and only budgets to blame: 412; a rate limit among them: 429', async () => {
    const budget = (name: string) =>
      usageLimit(`budget-${name}`, { credit_limit: 0, conditions: [{ key: 'virtual_key', value: name }] });
    const on = await start(budget('a') + budget('b'));
    expect((await through(on, 'fallback')).code).toBe('usage_limit_exceeded');
    on.limit(budget('a') + about('b', { value: 0 }));
    expect((await through(on, 'fallback')).code).toBe('rate_limited');
  });

  it('a target that failed before the others are at their limit gives its answer', async () => {
    const on = await start(about('b', { value: 0 }));
    on.at(0).answer(problem(500, 'Broken.'));
    const { status, message } = await through(on, 'fallback');
    expect([status, message]).toEqual([500, 'Broken.']);
  });

  it('gives back what a target had reserved before it failed', async () => {
    const spec = { type: 'tokens', value: 1_000 };
    const on = await start(about('a', spec) + about('b', spec));
    on.at(0).answer([problem(500), chat()]);
    expect((await through(on, 'fallback', { max_tokens: 900 })).status).toBe(200);
    await idle(on);
    const { headers } = await through(on, 'fallback', { max_tokens: 900 });
    expect([headers.get('x-gateway-last-used-option-index'), rates(headers, 'tokens')[1]]).toEqual([
      'config.targets[0]',
      String(1_000 - PROMPT - 900),
    ]);
  });

  it('a target that was passed over is no failure of its circuit', async () => {
    const on = await start(about('a', { value: 0 }));
    expect(await statuses(3, () => through(on, 'watched'))).toEqual([200, 200, 200]);
    on.limit('');
    expect((await through(on, 'watched')).headers.get('x-gateway-last-used-option-index')).toBe('config.targets[0]');
  });

  it('counts a target once for all of its retries', async () => {
    const on = await start(about('a', { value: 2 }));
    on.at(0).answer([problem(503), chat()]);
    const { headers } = await through(on, 'retried');
    expect([headers.get('x-gateway-retry-attempt-count'), ...rates(headers, 'requests')]).toEqual([
      '1',
      '2',
      '1',
      '60',
    ]);
  });
});

describe('loadbalance', () => {
  it.each(['balance', 'sticky'])('%s draws among those that have room', async (name) => {
    const on = await start(about('a', { value: 3 }) + about('b', { value: 5 }));
    const all = await statuses(9, () => through(on, name, {}, { user: 'ann' }));
    expect(all).toEqual([...Array(8).fill(200), 429]);
    expect(calls(on)).toEqual([3, 5]);
  });

  it('within a fallback: only when both are at their limit is the next one asked', async () => {
    const on = await start(about('a') + about('b') + about('c'), 3);
    expect(await statuses(4, () => through(on, 'nested'))).toEqual([200, 200, 200, 429]);
    expect(calls(on)).toEqual([1, 1, 1]);
  });
});

describe('where there is no choice', () => {
  it.each(['single', 'choice'])('%s refuses', async (name) => {
    const on = await start(about('a') + about('b', { value: 0 }));
    expect(await statuses(2, () => through(on, name))).toEqual([200, 429]);
    expect((await through(on, 'choice', {}, { to: 'b' })).status).toBe(429);
  });

  it("the target's limits and the request's own are taken together or not at all", async () => {
    const on = await start(rateLimit('all', { value: 5 }) + about('a'));
    expect(await statuses(4, () => through(on, 'single'))).toEqual([200, 429, 429, 429]);
    on.pass(60_000);
    on.limit(rateLimit('all', { value: 5 }));
    expect(rates((await through(on, 'single')).headers, 'requests')[1]).toBe('4');
  });
});

describe('a request that no target took', () => {
  it('does not count in the limits of the request either', async () => {
    const on = await start(rateLimit('all', { value: 2 }) + about('a', { value: 0 }) + about('b', { value: 0 }));
    expect(await statuses(5, () => through(on, 'fallback'))).toEqual(Array(5).fill(429));
    on.limit(rateLimit('all', { value: 2 }));
    expect(await statuses(3, () => through(on, 'fallback'))).toEqual([200, 200, 429]);
  });
});

describe('tokens where targets differ', () => {
  it('are reserved for the one that may need most, and counted for the one that answered', async () => {
    stage = await startLimitStage(
      rateLimit('all', { type: 'tokens', value: 10_000 }) + usageLimit('budget', { credit_limit: 1e6 }),
      {
        count: 2,
        configs: (upstreams) =>
          config('two', {
            strategy: { mode: 'fallback' },
            targets: upstreams.map((upstream, index) =>
              target(upstream, { override_params: { max_tokens: index === 0 ? 100 : 700 } }),
            ),
          }),
      },
    );
    const { headers } = await through(stage, 'two');
    expect(rates(headers, 'tokens')[1]).toBe(String(10_000 - PROMPT - 700));
    await idle(stage);
    expect(await usedOf(stage)).toEqual([21]);
  });

  it('a target whose window could never hold the request is passed over; alone, the request is wrong', async () => {
    const on = await start(about('a', { type: 'tokens', value: 50 }));
    expect((await through(on, 'fallback', { max_tokens: 500 })).headers.get('x-gateway-last-used-option-index')).toBe(
      'config.targets[1]',
    );
    const alone = await through(on, 'single', { max_tokens: 500 });
    expect([alone.status, alone.code]).toEqual([400, 'request_exceeds_limit']);
  });
});

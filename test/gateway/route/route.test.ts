import { describe, expect, test } from 'vitest';
import { parseQuery } from '#crds/config/query.ts';
import type { Facts, PlanNode } from '#gateway/plan/plan.ts';
import { compileQuery } from '#gateway/route/condition.ts';
import type { Reply } from '#gateway/route/reply.ts';
import { route } from '#gateway/route/route.ts';
import { compileStickyKey } from '#gateway/route/sticky.ts';
import {
  type BranchOptions,
  branch,
  EMPTY_FACTS,
  NETWORK,
  planOf,
  reply,
  type Script,
  seeded,
  TIMEOUT,
  target,
  World,
} from './world.ts';

const [A, B, C, D] = [target('a'), target('b'), target('c'), target('d')];

/** Routes once; what was asked, and who answered with what. */
async function once(root: PlanNode, scripts: Record<string, Script>, random = 0.5) {
  const world = new World(scripts);
  world.random = () => random;
  const routed = await world.route(root);
  return { asked: world.asked, status: routed.reply?.status, by: routed.target?.path };
}

describe('single', () => {
  test('a plan may be one target', async () => {
    expect(await once(A, { a: 200 })).toEqual({ asked: ['a'], status: 200, by: 'a' });
  });

  test('the first target, whatever it answers', async () => {
    expect(await once(branch('single', [A, B]), { a: 503 })).toEqual({ asked: ['a'], status: 503, by: 'a' });
  });

  test('the reply is passed on as it is', async () => {
    const answer = reply(429, { headers: { 'retry-after': '7' } });
    const routed = await new World({ a: answer }).route(branch('single', [A]));
    expect(routed.reply).toBe(answer);
    expect(routed.target).toBe(A);
    expect(routed.retryCount).toBe(0);
  });

  test('no target: nothing was tried', async () => {
    const nowhere: PlanNode[] = [
      branch('single', []),
      branch('loadbalance', []),
      branch('fallback', []),
      branch('conditional', [A], { choose: () => -1 }),
      branch('loadbalance', [target('z', { weight: 0 })]),
      branch('fallback', [branch('single', []), branch('fallback', [])]),
    ];
    for (const root of nowhere) {
      const world = new World();
      expect(await world.route(root)).toEqual({ reply: undefined, target: undefined, retryCount: 0 });
      expect(world.asked).toEqual([]);
    }
  });

  test('a defect of an attempt is not swallowed', async () => {
    const broken = () => Promise.reject(new Error('defect'));
    const world = new World();
    await expect(route(planOf(branch('fallback', [A, B])), EMPTY_FACTS, broken, world.circumstances())).rejects.toThrow(
      'defect',
    );
  });
});

describe('loadbalance', () => {
  test.each<[random: number, by: string]>([
    [0, 'a'],
    [0.29, 'a'],
    [0.3, 'b'],
    [0.999, 'b'],
  ])('random %d asks %s', async (random, by) => {
    const root = branch('loadbalance', [
      target('a', { weight: 3 }),
      target('z', { weight: 0 }),
      target('b', { weight: 7 }),
    ]);
    expect(await once(root, {}, random)).toMatchObject({ asked: [by], by });
  });

  test('does not move on to another target', async () => {
    expect(await once(branch('loadbalance', [A, B]), { a: 503, b: 200 }, 0)).toEqual({
      asked: ['a'],
      status: 503,
      by: 'a',
    });
  });

  test('sticky: one caller stays, callers spread, absent fields are drawn at random', async () => {
    const stickyKey = compileStickyKey(['metadata.user']);
    const root = branch('loadbalance', [A, B, C], { stickyKey });
    const world = new World();
    world.random = seeded(1);
    const targets = new Set<string>();
    for (let user = 0; user < 50; user += 1) {
      const facts: Facts = { ...EMPTY_FACTS, metadata: { user: `u${user}` } };
      for (let request = 0; request < 5; request += 1) await world.route(root, { facts });
      const asked = new Set(world.takeAsked());
      expect(asked.size).toBe(1);
      for (const path of asked) targets.add(path);
    }
    expect(targets).toEqual(new Set(['a', 'b', 'c']));
    for (let request = 0; request < 50; request += 1) await world.route(root);
    expect(new Set(world.takeAsked())).toEqual(new Set(['a', 'b', 'c']));
  });

  test('sticky: replicas whose clocks started at other times agree on every span', async () => {
    const options: BranchOptions = { stickyKey: compileStickyKey(['headers.x-session']), stickyTtlMs: 60_000 };
    const root = branch('loadbalance', [A, B, C, D], options);
    const [one, other] = [new World(), new World()];
    other.nowMs = 777_777;
    other.unixOffsetMs += one.nowMs - other.nowMs;
    for (let minute = 0; minute < 30; minute += 1) {
      const facts: Facts = { ...EMPTY_FACTS, headers: { 'x-session': 's1' } };
      await one.route(root, { facts });
      await other.route(root, { facts });
      one.nowMs += 60_000;
      other.nowMs += 60_000;
    }
    expect(one.asked).toEqual(other.asked);
    expect(new Set(one.asked).size).toBeGreaterThan(1);
  });
});

describe('conditional', () => {
  const gold = compileQuery(parseQuery({ 'metadata.tier': 'gold', 'params.max_tokens': { $lt: 100 } }));
  const root = branch('conditional', [A, branch('fallback', [B, C])], { choose: (facts) => (gold(facts) ? 1 : 0) });

  test.each<[facts: Partial<Facts>, asked: string[]]>([
    [{}, ['a']],
    [{ metadata: { tier: 'gold' } }, ['a']],
    [{ metadata: { tier: 'gold' }, params: { max_tokens: 100 } }, ['a']],
    [{ metadata: { tier: 'gold' }, params: { max_tokens: 99 } }, ['b', 'c']],
  ])('%j asks %j', async (facts, asked) => {
    const world = new World({ b: 503 });
    await world.route(root, { facts: { ...EMPTY_FACTS, ...facts } });
    expect(world.asked).toEqual(asked);
  });

  test('the query is asked once per request', async () => {
    let calls = 0;
    const counted = branch('conditional', [A, B], {
      choose: () => {
        calls += 1;
        return 1;
      },
    });
    expect(await once(counted, {})).toMatchObject({ by: 'b' });
    expect(calls).toBe(1);
  });
});

describe('fallback', () => {
  const list = branch('fallback', [A, B, C]);

  test.each<[string, Record<string, Script>, asked: string[], status: number]>([
    ['the first that succeeds', { a: 200 }, ['a'], 200],
    ['moves on', { a: 503, b: 200 }, ['a', 'b'], 200],
    ['moves on twice', { a: 429, b: 404, c: 201 }, ['a', 'b', 'c'], 201],
    ['the last answer is returned as it is', { a: 503, b: 429, c: 500 }, ['a', 'b', 'c'], 500],
    ['network errors', { a: NETWORK, b: 200 }, ['a', 'b'], 200],
    ['timeouts', { a: TIMEOUT, b: 200 }, ['a', 'b'], 200],
    ['no other 400', { a: 400 }, ['a'], 400],
    ['no 413', { a: 413 }, ['a'], 413],
    ['no 415', { a: 415 }, ['a'], 415],
    ['no 422', { a: 503, b: 422 }, ['a', 'b'], 422],
    ['a context that is too small', { a: reply(400, { contextTooSmall: true }) }, ['a', 'b'], 200],
    ['246 is a success', { a: 246 }, ['a'], 246],
    ['446 stays', { a: 446 }, ['a'], 446],
    [
      'our refusals',
      { a: reply(403, { failure: 'refused' }), b: reply(501, { failure: 'refused' }) },
      ['a', 'b', 'c'],
      200,
    ],
    ['a stream that began', { a: reply(200, { streaming: true }) }, ['a'], 200],
    ['what is final', { a: reply(502, { failure: 'network', final: true }) }, ['a'], 502],
  ])('%s', async (_name, scripts, asked, status) => {
    expect(await once(list, scripts)).toEqual({ asked, status, by: asked.at(-1) });
  });

  test.each<[codes: number[], scripts: Record<string, Script>, asked: string[]]>([
    [[429], { a: 429 }, ['a', 'b']],
    [[429], { a: 503 }, ['a']],
    [[246], { a: 246 }, ['a', 'b']],
    [[446], { a: 446 }, ['a', 'b']],
    [[502], { a: NETWORK }, ['a', 'b']],
    [[408], { a: TIMEOUT }, ['a', 'b']],
    [[429], { a: NETWORK }, ['a']],
    [[503], { a: reply(400, { contextTooSmall: true }) }, ['a']],
    [[400], { a: 400, b: 503 }, ['a', 'b']],
  ])('only %j, %j', async (codes, scripts, asked) => {
    expect(await once(branch('fallback', [A, B, C], { fallbackCodes: new Set(codes) }), scripts)).toMatchObject({
      asked,
    });
  });

  test('nothing new is begun when the client is gone', async () => {
    const world: World = new World({
      a: () => {
        world.gone = true;
        return 503;
      },
    });
    const routed = await world.route(list);
    expect(world.asked).toEqual(['a']);
    expect(routed.reply?.status).toBe(503);
  });

  test('nothing new is begun after the deadline', async () => {
    const world: World = new World({
      a: 503,
      b: () => {
        world.nowMs = 5000;
        return 500;
      },
    });
    const routed = await world.route(list, { deadlineAt: 5000 });
    expect(world.asked).toEqual(['a', 'b']);
    expect(routed).toMatchObject({ reply: { status: 500 }, target: B });
  });

  test('the first target is asked in any case: a late start is for the attempt to report', async () => {
    const world = new World({ a: 503 });
    await world.route(list, { deadlineAt: 0 });
    expect(world.asked).toEqual(['a']);
  });

  test('a branch without targets is passed over, and does not hide an answer', async () => {
    const root = branch('fallback', [branch('single', []), A, branch('single', [])]);
    expect(await once(root, { a: 503 })).toEqual({ asked: ['a'], status: 503, by: 'a' });
  });
});

describe('nested branches', () => {
  test.each<[string, PlanNode, Record<string, Script>, asked: string[], status: number]>([
    [
      'the last answer of an inner fallback feeds the outer',
      branch('fallback', [branch('fallback', [A, B]), C]),
      { a: 503, b: 500 },
      ['a', 'b', 'c'],
      200,
    ],
    [
      'the inner list decides inside, the outer outside',
      branch('fallback', [branch('fallback', [A, B], { fallbackCodes: new Set([429]) }), C]),
      { a: 503 },
      ['a', 'c'],
      200,
    ],
    [
      'an inner answer may be good enough for the outer',
      branch('fallback', [branch('fallback', [A, B]), C], { fallbackCodes: new Set([429]) }),
      { a: 503, b: 503 },
      ['a', 'b'],
      503,
    ],
    [
      'a draw that failed feeds the outer fallback',
      branch('fallback', [branch('loadbalance', [A, B]), branch('loadbalance', [C, D])]),
      { b: 503, d: 502 },
      ['b', 'd'],
      502,
    ],
    ['a single inside a fallback', branch('fallback', [branch('single', [A, B]), C]), { a: NETWORK }, ['a', 'c'], 200],
    [
      'a fallback inside a draw inside a condition',
      branch('conditional', [A, branch('loadbalance', [branch('fallback', [B, C]), D])], { choose: () => 1 }),
      { b: 503, c: 503 },
      ['d'],
      200,
    ],
    [
      'what is final ends every level',
      branch('fallback', [branch('fallback', [A, B]), C]),
      { a: reply(502, { failure: 'network', final: true }) },
      ['a'],
      502,
    ],
  ])('%s', async (_name, root, scripts, asked, status) => {
    expect(await once(root, scripts)).toEqual({ asked, status, by: asked.at(-1) });
  });

  test('eight levels deep', async () => {
    let root: PlanNode = branch('fallback', [A, B]);
    for (let level = 0; level < 7; level += 1) root = branch(level % 2 ? 'single' : 'fallback', [root, C]);
    expect(await once(root, { a: 503, b: 503, c: 503 })).toMatchObject({
      asked: ['a', 'b', 'c', 'c', 'c', 'c'],
      by: 'c',
    });
  });
});

describe('cost of the common path', () => {
  test('one target: one attempt, no clock, no sleep, no random number, no promise but two', async () => {
    const world = new World();
    const touched: string[] = [];
    const circumstances = new Proxy(world.circumstances(), {
      get: (real, name) => {
        touched.push(String(name));
        return Reflect.get(real, name);
      },
    });
    let ticks = 0;
    const answered: Promise<Reply> = Promise.resolve(reply(200));
    const routing = route(planOf(A), EMPTY_FACTS, () => answered, circumstances);
    let isDone = false;
    const watch = routing.then(() => {
      isDone = true;
    });
    while (!isDone && ticks < 10) {
      ticks += 1;
      await null;
    }
    await watch;
    expect(touched).toEqual(['budgets']);
    expect(ticks).toBeLessThanOrEqual(2);
  });
});

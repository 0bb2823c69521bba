import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlanNode } from '#gateway/plan/plan.ts';
import type { Reply } from '#gateway/route/reply.ts';
import { route } from '#gateway/route/route.ts';
import { compileStickyKey } from '#gateway/route/sticky.ts';
import {
  branch,
  breakerRule,
  EMPTY_FACTS,
  pending,
  planOf,
  reply,
  retryRule,
  type Script,
  seeded,
  target,
  World,
} from './world.ts';

const breaker = breakerRule(2);
const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((path) => target(path, { breaker })) as [
  PlanNode,
  PlanNode,
  PlanNode,
  PlanNode,
];

/** Opens the circuits of these targets, then answers as scripted. */
async function opened(paths: string[], scripts: Record<string, Script> = {}): Promise<World> {
  const world = new World({
    ...scripts,
    ...Object.fromEntries(
      paths.map((path) => [
        path,
        (call: number) => {
          const script = scripts[path] ?? 200;
          if (call < 2) return 503;
          return typeof script === 'function' ? script(call - 2) : (script as number | Reply);
        },
      ]),
    ),
  });
  for (const path of paths) for (let call = 0; call < 2; call += 1) await world.route(target(path, { breaker }));
  world.takeAsked();
  return world;
}

function phases(world: World): Record<string, string> {
  return Object.fromEntries([...world.breakers.states()].map(({ breakerKey, phase }) => [breakerKey, phase]));
}

describe('open targets are skipped', () => {
  test.each<[string, open: string[], PlanNode, asked: string[]]>([
    ['by fallback', ['a'], branch('fallback', [A, B]), ['b']],
    ['in the middle', ['b'], branch('fallback', [A, B, C]), ['a', 'c']],
    ['by draw', ['a', 'b'], branch('loadbalance', [A, B, C]), ['c']],
    ['a target without a breaker is never skipped', ['a'], branch('fallback', [A, target('x'), B]), ['x', 'b']],
    ['a draw all of whose targets are open', ['a', 'b'], branch('fallback', [branch('loadbalance', [A, B]), C]), ['c']],
    [
      'a fallback all of whose targets are open',
      ['a', 'b'],
      branch('fallback', [branch('fallback', [A, B]), C]),
      ['c'],
    ],
    ['a draw with one target left', ['a'], branch('fallback', [branch('loadbalance', [A, B]), C]), ['b', 'c']],
    ['a branch inside a draw', ['a', 'b'], branch('loadbalance', [branch('fallback', [A, B]), C]), ['c']],
    ['a single', ['a'], branch('fallback', [branch('single', [A, B]), C]), ['c']],
    [
      'a condition whose choice is open, though its other choice is not',
      ['a'],
      branch('fallback', [branch('conditional', [A, B], { choose: () => 0 }), C]),
      ['c'],
    ],
    [
      'not a condition whose choice is closed',
      ['a'],
      branch('fallback', [branch('conditional', [A, B], { choose: () => 1 }), C]),
      ['b', 'c'],
    ],
    [
      'what is left has no weight: as if it were not there',
      ['a'],
      branch('fallback', [branch('loadbalance', [A, target('z', { weight: 0 })]), C]),
      ['c'],
    ],
  ])('%s', async (_name, open, root, asked) => {
    const world = await opened(open, { a: 503, b: 503, c: 500, x: 503 });
    world.random = () => 0.99;
    await world.route(root);
    expect(world.asked).toEqual(asked);
  });

  test('a skipped target does not hide the answer of the one before it', async () => {
    const world = await opened(['b'], { a: 503 });
    const routed = await world.route(branch('fallback', [A, B]));
    expect(world.asked).toEqual(['a']);
    expect(routed).toMatchObject({ reply: { status: 503 }, target: A });
  });

  test('draws are among the closed, by their weights', async () => {
    const world = await opened(['a']);
    world.random = seeded(5);
    const root = branch('loadbalance', [A, target('b', { breaker, weight: 3 }), C]);
    for (let request = 0; request < 4000; request += 1) await world.route(root);
    const of = (path: string) => world.asked.filter((asked) => asked === path).length / 4000;
    expect(of('a')).toBe(0);
    expect(of('b')).toBeGreaterThan(0.72);
    expect(of('b')).toBeLessThan(0.78);
  });

  test('sticky callers of an open target move, the others stay, and they come back', async () => {
    const stickyKey = compileStickyKey(['metadata.user']);
    const root = branch('loadbalance', [A, B, C], { stickyKey });
    const askAll = async (world: World) => {
      for (let user = 0; user < 60; user += 1)
        await world.route(root, { facts: { ...EMPTY_FACTS, metadata: { user: `u${user}` } } });
      return world.takeAsked();
    };
    const before = await askAll(new World());
    const world = await opened(['a']);
    const during = await askAll(world);
    expect(before).toContain('a');
    for (const [user, path] of before.entries()) {
      if (path === 'a') expect(['b', 'c']).toContain(during[user]);
      else expect(during[user]).toBe(path);
    }
    world.nowMs += 30_000;
    expect(await askAll(world)).toEqual(before);
  });
});

describe('all open: all are tried', () => {
  test.each<[string, open: string[], PlanNode, asked: string[]]>([
    ['a plan of one target', ['a'], A, ['a']],
    ['single', ['a'], branch('single', [A]), ['a']],
    ['fallback, in order', ['a', 'b', 'c'], branch('fallback', [A, B, C]), ['a', 'b', 'c']],
    ['draw', ['a', 'b'], branch('loadbalance', [A, B]), ['b']],
    ['condition', ['a'], branch('conditional', [A, B], { choose: () => 0 }), ['a']],
    [
      'nested',
      ['a', 'b', 'c', 'd'],
      branch('fallback', [branch('loadbalance', [A, B]), branch('fallback', [C, D])]),
      ['b', 'c', 'd'],
    ],
  ])('%s', async (_name, open, root, asked) => {
    const world = await opened(open, { a: 503, b: 503, c: 503, d: 503 });
    world.random = () => 0.99;
    await world.route(root);
    expect(world.asked).toEqual(asked);
    expect(Object.values(phases(world))).toEqual(open.map(() => 'open'));
  });

  test('one that answers is closed again', async () => {
    const world = await opened(['a', 'b'], { a: 503, b: 200 });
    await world.route(branch('fallback', [A, B]));
    expect(phases(world)).toEqual({ a: 'open', b: 'closed' });
  });
});

describe('what is counted', () => {
  test('one failure after all retries, not one per attempt', async () => {
    const root = target('a', { breaker: breakerRule(2), retry: retryRule(3) });
    const world = new World({ a: 503 });
    await world.route(root);
    expect(world.asked).toHaveLength(4);
    expect(phases(world)).toEqual({ a: 'closed' });
    await world.route(root);
    expect(phases(world)).toEqual({ a: 'open' });
  });

  test('a retry that succeeds is a success', async () => {
    const root = target('a', { breaker: breakerRule(1), retry: retryRule(1) });
    const world = new World({ a: [503, 200] });
    await world.route(root);
    expect(phases(world)).toEqual({});
  });

  test.each<[string, Reply | number, phase: string | undefined]>([
    ['500', 500, 'open'],
    ['429', 429, undefined],
    ['401', 401, undefined],
    ['our refusal 501', reply(501, { failure: 'refused' }), undefined],
    ['the client left', reply(502, { failure: 'network', final: true }), undefined],
    ['network', reply(502, { failure: 'network' }), 'open'],
    ['timeout', reply(408, { failure: 'timeout' }), 'open'],
  ])('%s', async (_name, answer, phase) => {
    const world = new World({ a: answer });
    await world.route(target('a', { breaker: breakerRule(1) }));
    expect(phases(world).a).toBe(phase);
  });

  test('each target of a fallback by itself', async () => {
    const world = new World({ a: 503, b: 200 });
    for (let request = 0; request < 5; request += 1) await world.route(branch('fallback', [A, B]));
    expect(world.asked).toEqual(['a', 'b', 'a', 'b', 'b', 'b', 'b']);
    expect(phases(world)).toEqual({ a: 'open' });
  });

  test('streams which break after their first byte open it', async () => {
    const world = new World({ a: reply(200, { streaming: true }), b: 200 });
    const root = branch('fallback', [A, B]);
    for (let request = 0; request < 2; request += 1) {
      const { target: answering } = await world.route(root);
      if (answering !== undefined) world.breakers.noteStreamFailure(answering);
    }
    await world.route(root);
    expect(world.asked).toEqual(['a', 'a', 'b']);
  });
});

describe('the probe', () => {
  const root = branch('fallback', [A, B]);

  test('after the cooldown exactly one of many requests goes through', async () => {
    const probe = pending<Reply>();
    const world = await opened(['a'], { a: () => probe.promise });
    world.nowMs += 29_999;
    await world.route(root);
    expect(world.takeAsked()).toEqual(['b']);
    world.nowMs += 1;
    const routing = Array.from({ length: 20 }, () => world.route(root));
    expect(world.takeAsked()).toEqual(['a', ...Array.from({ length: 19 }, () => 'b')]);
    expect(phases(world)).toEqual({ a: 'half-open' });
    probe.resolve(reply(200));
    await Promise.all(routing);
    expect(phases(world)).toEqual({ a: 'closed' });
  });

  test('a probe that fails opens for another cooldown, its request falls back', async () => {
    const world = await opened(['a'], { a: 503 });
    world.nowMs += 30_000;
    const routed = await world.route(root);
    expect(world.takeAsked()).toEqual(['a', 'b']);
    expect(routed.reply?.status).toBe(200);
    world.nowMs += 29_999;
    await world.route(root);
    expect(world.takeAsked()).toEqual(['b']);
    world.nowMs += 1;
    await world.route(root);
    expect(world.takeAsked()).toEqual(['a', 'b']);
  });

  test('the retries of a probe belong to it', async () => {
    const retrying = target('a', { breaker: breakerRule(2), retry: retryRule(2) });
    const world = await opened(['a'], { a: (call) => (call === 0 ? 503 : 200) });
    world.nowMs += 30_000;
    await world.route(branch('fallback', [retrying, B]));
    expect(world.asked).toEqual(['a', 'a#1']);
    expect(phases(world)).toEqual({ a: 'closed' });
  });

  test.each<[string, () => Promise<Reply>]>([
    ['the client left', async () => reply(502, { failure: 'network', final: true })],
    ['we refused the request ourselves', async () => reply(403, { failure: 'refused' })],
    ['the attempt has a defect', () => Promise.reject(new Error('defect'))],
  ])('frees its slot: %s', async (_name, answer) => {
    const world = await opened(['a'], { a: (call) => (call === 0 ? answer() : 200) });
    world.nowMs += 30_000;
    await world.route(root).catch(() => undefined);
    expect(phases(world)).toEqual({ a: 'open' });
    world.takeAsked();
    await world.route(root);
    expect(world.asked).toEqual(['a']);
    expect(phases(world)).toEqual({ a: 'closed' });
  });

  test('a draw sends one probe and leaves the rest to the closed', async () => {
    const probe = pending<Reply>();
    const world = await opened(['a'], { a: () => probe.promise });
    world.random = () => 0;
    world.nowMs += 30_000;
    const draw = branch('loadbalance', [A, B]);
    const routing = [world.route(draw), world.route(draw), world.route(draw)];
    expect(world.asked).toEqual(['a', 'b', 'b']);
    probe.resolve(reply(500));
    await Promise.all(routing);
    expect(phases(world)).toEqual({ a: 'open' });
  });
});

describe('whatever targets answer', () => {
  const paths = ['a', 'b', 'c', 'd'];
  const leaf = fc.constantFrom(...paths).map((path): PlanNode => target(path, { breaker, retry: retryRule(1) }));
  const { node } = fc.letrec<{ node: PlanNode }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      fc
        .record({
          mode: fc.constantFrom('single' as const, 'loadbalance' as const, 'fallback' as const, 'conditional' as const),
          children: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
        })
        .map(
          ({ mode, children }): PlanNode =>
            branch(mode, children, mode === 'conditional' ? { choose: () => children.length - 1 } : {}),
        ),
    ),
  }));
  const statuses = fc.array(fc.constantFrom(200, 200, 400, 429, 500, 503, 408), { minLength: 1, maxLength: 50 });

  test('somebody is asked, the last one asked has answered, and no slot is left taken', async () => {
    await fc.assert(
      fc.asyncProperty(node, statuses, fc.integer(), async (root, answers, seed) => {
        let at = 0;
        const next = () => answers[at++ % answers.length] ?? 200;
        const world = new World(Object.fromEntries(paths.map((path) => [path, next])));
        world.random = seeded(seed);
        for (let request = 0; request < 12; request += 1) {
          const routed = await world.route(root);
          const last = world.takeAsked().at(-1);
          expect(routed.target?.path).toBe(last?.split('#')[0]);
          expect(routed.reply?.status).toBe(answers[(at - 1) % answers.length]);
          world.nowMs += 7000;
        }
        expect(Object.values(phases(world))).not.toContain('half-open');
      }),
      { numRuns: 300 },
    );
  });
});

test('without open circuits the tree is not searched for them', async () => {
  let choices = 0;
  const choose = () => {
    choices += 1;
    return 0;
  };
  const root = branch('fallback', [branch('conditional', [A], { choose }), B]);
  const world = new World();
  await route(planOf(root), EMPTY_FACTS, async () => reply(200), world.circumstances());
  expect(choices).toBe(1);
});

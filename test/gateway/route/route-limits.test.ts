/** Targets at their limit are passed over: no attempt, no reply, no failure of their circuit. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlanNode, Target } from '#gateway/plan/plan.ts';
import { branch, breakerRule, NETWORK, type Script, seeded, target, World } from './world.ts';

const [A, B, C] = [target('a'), target('b'), target('c')];

interface Way {
  readonly limited: readonly string[];
  readonly scripts?: Readonly<Record<string, Script>>;
  readonly later?: boolean;
}

/** Routes once past those that are `limited`; `later`: limits answer by a promise. */
async function once(root: PlanNode, { limited, scripts = {}, later = false }: Way) {
  const world = new World(scripts);
  const seen: string[] = [];
  const routed = await world.route(root, {
    admit: ({ path }: Target) => {
      seen.push(path);
      const admitted = !limited.includes(path);
      return later ? Promise.resolve(admitted) : admitted;
    },
  });
  return { asked: world.asked, limits: seen, status: routed.reply?.status, by: routed.target?.path };
}

describe.each([false, true])('limits that answer later: %s', (later) => {
  it('a target alone is not asked', async () => {
    expect(await once(A, { limited: ['a'], later })).toEqual({
      asked: [],
      limits: ['a'],
      status: undefined,
      by: undefined,
    });
    expect(await once(A, { limited: [], later })).toEqual({ asked: ['a'], limits: ['a'], status: 200, by: 'a' });
  });

  it('a fallback goes on past it, whatever statuses move on', async () => {
    const root = branch('fallback', [A, B, C], { fallbackCodes: new Set([418]) });
    expect(await once(root, { limited: ['a'], later })).toMatchObject({ asked: ['b'], by: 'b' });
    expect(await once(root, { limited: ['a', 'b', 'c'], later })).toMatchObject({ asked: [], status: undefined });
  });

  it('a fallback ends with the last answer that there was', async () => {
    const root = branch('fallback', [A, B]);
    expect(await once(root, { limited: ['b'], scripts: { a: 503 }, later })).toMatchObject({
      asked: ['a'],
      status: 503,
      by: 'a',
    });
  });

  it('limits are asked once for all retries of a target', async () => {
    const retried = target('r', { retry: { attempts: 2, statusCodes: new Set([503]), useRetryAfter: false } });
    expect(await once(retried, { limited: [], scripts: { r: [503, 503, 200] }, later })).toEqual({
      asked: ['r', 'r#1', 'r#2'],
      limits: ['r'],
      status: 200,
      by: 'r',
    });
  });

  it('a draw goes on among the others, until none is left', async () => {
    const root = branch('loadbalance', [A, B, C]);
    const { asked, limits } = await once(root, { limited: ['a', 'b'], later });
    expect(asked).toEqual(['c']);
    expect(new Set(limits).size).toBe(limits.length);
    expect((await once(root, { limited: ['a', 'b', 'c'], later })).limits.toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('a child that is drawn past is one whose targets are all at their limit', async () => {
    const inner = branch('fallback', [A, B]);
    const root = branch('loadbalance', [inner, C], { weight: 1 });
    expect(await once(root, { limited: ['a', 'c'], later })).toMatchObject({ asked: ['b'] });
    expect(await once(root, { limited: ['a', 'b'], later })).toMatchObject({ asked: ['c'] });
  });

  it('single and conditional have no other', async () => {
    expect((await once(branch('single', [A, B]), { limited: ['a'], later })).asked).toEqual([]);
    expect((await once(branch('conditional', [A, B], { choose: () => 1 }), { limited: ['b'], later })).asked).toEqual(
      [],
    );
  });
});

it('a probe that is due is not spent on a target at its limit', async () => {
  const watched = target('w', { breaker: breakerRule(1) });
  const root = branch('fallback', [watched, B]);
  const world = new World({ w: [NETWORK, 200] });
  await world.route(root);
  world.nowMs += 30_000;
  const admit = ({ path }: Target) => path !== 'w';
  world.takeAsked();
  await world.route(root, { admit });
  expect(world.takeAsked()).toEqual(['b']);
  await world.route(root);
  expect(world.takeAsked()).toEqual(['w']);
});

it('shares of a draw stay in proportion among those that have room', async () => {
  const world = new World();
  world.random = seeded(7);
  const root = branch('loadbalance', [
    target('a', { weight: 5 }),
    target('b', { weight: 3 }),
    target('c', { weight: 1 }),
  ]);
  const counts = new Map<string, number>();
  for (let turn = 0; turn < 4_000; turn += 1) {
    const { target: by } = await world.route(root, { admit: ({ path }) => path !== 'a' });
    counts.set(by?.path ?? '', (counts.get(by?.path ?? '') ?? 0) + 1);
  }
  expect((counts.get('b') ?? 0) / 4_000).toBeCloseTo(0.75, 1);
  expect(counts.get('a')).toBeUndefined();
});

const leaf = fc.constantFrom('a', 'b', 'c', 'd').map((path) => target(path));
const { tree } = fc.letrec<{ tree: PlanNode }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc
      .tuple(
        fc.constantFrom('fallback', 'loadbalance', 'single'),
        fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      )
      .map(([mode, children]) => branch(mode as 'fallback', children)),
  ),
}));

/** Targets that a request could reach, where each of them is passed over. */
function reachable(node: PlanNode): readonly string[] {
  if (node.kind === 'target') return [node.path];
  return (node.mode === 'single' ? node.children.slice(0, 1) : node.children).flatMap(reachable);
}

it('in any tree nobody at their limit is asked, and somebody is asked wherever somebody has room', async () => {
  await fc.assert(
    fc.asyncProperty(tree, fc.subarray(['a', 'b', 'c', 'd']), fc.nat(), async (root, limited, seed) => {
      const world = new World();
      world.random = seeded(seed);
      const routed = await world.route(root, { admit: ({ path }) => !limited.includes(path) });
      expect(world.asked.filter((path) => limited.includes(path))).toEqual([]);
      expect(routed.reply !== undefined).toBe(reachable(root).some((path) => !limited.includes(path)));
    }),
    { numRuns: 500 },
  );
});

/** Drawing by weight: shares within what chance allows, nothing for a weight of 0, and never a second draw. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, json } from '../../fakes/replies.ts';
import type { Upstream } from '../../fakes/upstream.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { askBy, CHAT, good, refusalOf, targetOf, WAYS } from './ways.ts';

/** Weights of the targets; undefined: none given. */
const WEIGHTS: readonly (readonly (number | undefined)[])[] = [
  [undefined, undefined, undefined],
  [1, 1, 1],
  [3, undefined, 0],
  [0.7, 0.2, 0.1],
  [0, 1],
  [1, 0],
  [0, 0, 0.001],
  [1000, 1000],
  [99, 1],
  [5],
];
const DRAWS = 300;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(3, (upstreams) =>
    [
      ...WEIGHTS.map((weights, index) => config(`weights-${index}`, balance(upstreams, weights))),
      ...(['openai', 'anthropic'] as const).map((wire) =>
        config(`only-second-${wire}`, {
          strategy: { mode: 'loadbalance' },
          targets: upstreams.map((upstream, index) => targetOf(wire, upstream, { weight: index === 1 ? 1 : 0 })),
        }),
      ),
      config('nested', {
        strategy: { mode: 'loadbalance' },
        targets: [
          { weight: 3, ...balance(upstreams.slice(0, 2), [1, 2]) },
          target(upstreams[2] as Upstream, { weight: 1 }),
        ],
      }),
      config('hundred', balance(Array(100).fill(upstreams[0]), [])),
    ].join(''),
  );
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

function balance(upstreams: readonly Upstream[], weights: readonly (number | undefined)[]): object {
  const own = (weight: number | undefined) => (weight === undefined ? {} : { weight });
  const listed = weights.length === 0 ? upstreams : upstreams.slice(0, weights.length);
  const targets = listed.map((upstream, index) => target(upstream, own(weights[index])));
  return { strategy: { mode: 'loadbalance' }, targets };
}

/** How often each path answered. */
async function draw(name: string, times: number): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const asked = await Promise.all(Array.from({ length: times }, () => askBy(stage, CHAT, name)));
  for (const { path, status } of asked) {
    expect(status).toBe(200);
    counts.set(String(path), (counts.get(String(path)) ?? 0) + 1);
  }
  return counts;
}

/** Six standard deviations of a binomial draw: a right share leaves them once in 500 million runs. */
function expectShare(count: number, share: number, draws: number): void {
  const spread = 6 * Math.sqrt(draws * share * (1 - share));
  expect(count).toBeGreaterThanOrEqual(draws * share - spread);
  expect(count).toBeLessThanOrEqual(draws * share + spread);
}

describe('the share of a target', () => {
  it.each(WEIGHTS.map((weights, index) => [weights.map((weight) => weight ?? 'absent'), index] as const))(
    'is its part of the weights %j',
    async (_weights, index) => {
      const weights = (WEIGHTS[index] ?? []).map((weight) => weight ?? 1);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const counts = await draw(`weights-${index}`, DRAWS);
      for (const [at, weight] of weights.entries())
        expectShare(counts.get(`config.targets[${at}]`) ?? 0, weight / total, DRAWS);
    },
  );

  it('is its part of its branch’s part', async () => {
    const counts = await draw('nested', 400);
    expectShare(counts.get('config.targets[0].targets[0]') ?? 0, 1 / 4, 400);
    expectShare(counts.get('config.targets[0].targets[1]') ?? 0, 1 / 2, 400);
    expectShare(counts.get('config.targets[1]') ?? 0, 1 / 4, 400);
  });

  it('is there for each of a hundred targets', async () => {
    const counts = await draw('hundred', 500);
    expect(counts.size).toBeGreaterThan(85);
    expect(Math.max(...counts.values())).toBeLessThan(25);
  });

  it.each(WAYS)('is nothing with a weight of 0: %s', async (_name, way) => {
    for (const upstream of stage.upstreams) upstream.answer(good(way));
    for (let request = 0; request < 20; request += 1)
      expect(await askBy(stage, way, `only-second-${way.wire}`)).toMatchObject({ calls: [0, 1, 0], status: 200 });
  });
});

describe('what was drawn', () => {
  it.each([429, 500, 503])('answers, be it with %i: nothing is drawn again', async (status) => {
    for (const upstream of stage.upstreams) upstream.answer(json(status, openAiError('down')));
    for (let request = 0; request < 10; request += 1) {
      const asked = await askBy(stage, CHAT, 'weights-1');
      expect(asked.status).toBe(status);
      expect(asked.calls.reduce((sum, calls) => sum + calls, 0)).toBe(1);
    }
  });
});

describe('a config is refused', () => {
  const simulators = (...weights: unknown[]) => ({
    strategy: { mode: 'loadbalance' },
    targets: weights.map((weight) => ({ provider: 'simulator', weight })),
  });
  it.each([
    ['all weights are 0', simulators(0, 0), 'weight'],
    ['the only weight is 0', simulators(0), 'weight'],
    ['a weight is negative', simulators(1, -1), 'weight'],
    ['a weight is text', simulators(1, '1'), 'weight'],
    ['there is no target', { strategy: { mode: 'loadbalance' }, targets: [] }, 'targets'],
    ['targets are missing', { strategy: { mode: 'loadbalance' } }, 'targets'],
    ['there are 101 targets', simulators(...Array(101).fill(1)), 'targets'],
    ['all weights of a branch are 0', { strategy: { mode: 'single' }, targets: [simulators(0, 0)] }, 'targets[0]'],
  ])('where %s', async (_what, spec, named) => {
    expect(await refusalOf(stage, spec)).toContain(named);
    const statuses = stage.gateway.apply(stage.manifests + config('refused', spec), { allowComplaints: true });
    expect(statuses.find(({ name }) => name === 'refused')?.served).toBe('none');
    expect((await askBy(stage, CHAT, 'refused')).status).toBe(400);
  });

  it('but not where a weight of 0 stands in another mode', async () => {
    const spec = { strategy: { mode: 'fallback' }, targets: [{ provider: 'simulator', weight: 0 }] };
    expect((await askBy(stage, CHAT, spec)).status).toBe(200);
  });
});

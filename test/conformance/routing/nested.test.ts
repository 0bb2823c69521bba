/** Strategies within strategies: where a request ends up, what moves on from where, and how deep a tree may be. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, json, type Reply } from '../../fakes/replies.ts';
import type { Upstream } from '../../fakes/upstream.ts';
import { type Stage, startStage, target } from '../stage.ts';
import { askBy, CHAT, CHAT_STREAM, errorOf, good, refusalOf } from './ways.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(4);
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

const at = (index: number, more: object = {}) => target(stage.at(index), more);
const branch = (mode: string, targets: readonly object[], more: object = {}) => ({
  strategy: { mode, ...more },
  targets,
});
const fallback = (targets: readonly object[], more: object = {}) => branch('fallback', targets, more);
const named = (name: string, node: object) => ({ name, ...node });
const by = (then: string, other: string, targets: readonly object[]) =>
  branch('conditional', targets, { conditions: [{ query: { 'metadata.to': then }, then }], default: other });

const fails = (status: number): Reply => json(status, openAiError(`failed with ${status}`));

async function ask(spec: object, statuses: readonly number[] = [], metadata: object = {}, way = CHAT) {
  for (const [index, status] of statuses.entries()) stage.at(index).answer(status === 200 ? good(way) : fails(status));
  stage.gateway.apply(config('tree', spec));
  return askBy(stage, way, 'tree', { headers: { 'x-gateway-metadata': JSON.stringify(metadata) } });
}

describe.each([
  ['a whole answer', CHAT],
  ['a stream', CHAT_STREAM],
])('fallbacks within fallbacks, for %s', (_what, way) => {
  const tree = () => fallback([fallback([at(0), at(1)]), fallback([at(2), at(3)])]);
  it.each([
    [[200, 200, 200, 200], [1, 0, 0, 0], 'config.targets[0].targets[0]', 200],
    [[500, 200, 200, 200], [1, 1, 0, 0], 'config.targets[0].targets[1]', 200],
    [[500, 429, 200, 200], [1, 1, 1, 0], 'config.targets[1].targets[0]', 200],
    [[500, 429, 503, 200], [1, 1, 1, 1], 'config.targets[1].targets[1]', 200],
    [[500, 429, 503, 501], [1, 1, 1, 1], 'config.targets[1].targets[1]', 501],
    [[500, 422, 200, 200], [1, 1, 0, 0], 'config.targets[0].targets[1]', 422],
    [[500, 429, 400, 200], [1, 1, 1, 0], 'config.targets[1].targets[0]', 400],
  ])('%j asks %j and ends at %s with %i', async (statuses, calls, path, status) => {
    const asked = await ask(tree(), statuses, {}, way);
    expect(asked).toMatchObject({ calls, path, status });
    if (status !== 200) expect(errorOf(asked.text)).toMatchObject({ message: `failed with ${status}` });
  });
});

describe('the list of a fallback', () => {
  it('is asked about the last answer of the branch below', async () => {
    const tree = fallback([fallback([at(0), at(1)], { on_status_codes: [500] }), at(2)], { on_status_codes: [418] });
    expect(await ask(tree, [500, 418, 200])).toMatchObject({ calls: [1, 1, 1, 0], status: 200 });
    expect(await ask(tree, [500, 500, 200])).toMatchObject({ calls: [1, 1, 0, 0], status: 500 });
    expect(await ask(tree, [418, 500, 200])).toMatchObject({ calls: [1, 0, 1, 0], status: 200 });
  });

  it('is asked about what a draw or a condition led to', async () => {
    const drawn = fallback([branch('loadbalance', [at(0, { weight: 0 }), at(1)]), at(2)]);
    expect(await ask(drawn, [200, 503, 200])).toMatchObject({ calls: [0, 1, 1, 0], path: 'config.targets[1]' });
    const single = fallback([branch('single', [at(0), at(1)]), at(2)]);
    expect(await ask(single, [503, 200, 200])).toMatchObject({ calls: [1, 0, 1, 0], path: 'config.targets[1]' });
    const chosen = fallback([by('b', 'a', [named('a', at(0)), named('b', at(1))]), at(2)]);
    expect(await ask(chosen, [200, 503, 200], { to: 'b' })).toMatchObject({ calls: [0, 1, 1, 0] });
  });
});

describe('a name', () => {
  const tree = () =>
    by('many', 'one', [
      named('one', at(0)),
      named('many', fallback([at(1), named('deep', by('never', 'x', [named('x', at(2)), named('never', at(3))]))])),
    ]);
  it.each([
    [{}, [200, 200, 200, 200], 'config.targets[0]'],
    [{}, [503, 200, 200, 200], 'config.targets[0]'],
    [{ to: 'many' }, [200, 200, 200, 200], 'config.targets[1].targets[0]'],
    [{ to: 'many' }, [200, 503, 200, 200], 'config.targets[1].targets[1].targets[0]'],
    [{ to: 'many' }, [200, 503, 503, 200], 'config.targets[1].targets[1].targets[0]'],
  ])('may be a strategy’s: %j with %j ends at %s', async (metadata, statuses, path) => {
    expect(await ask(tree(), statuses, metadata)).toMatchObject({ path });
  });

  it('may be a strategy’s as default, too', async () => {
    const drawn = branch('loadbalance', [at(1, { weight: 0 }), at(2)]);
    const spec = by('one', 'drawn', [named('one', at(0)), named('drawn', drawn)]);
    expect(await ask(spec)).toMatchObject({ path: 'config.targets[1].targets[1]', calls: [0, 0, 1, 0] });
  });

  it('may be the same in another branch', async () => {
    const inner = (index: number) => by('a', 'b', [named('a', at(index)), named('b', at(index + 1))]);
    const spec = fallback([named('a', inner(0)), named('a', inner(2))]);
    expect(await ask(spec, [503, 503, 200, 200], { to: 'a' })).toMatchObject({ path: 'config.targets[1].targets[0]' });
  });
});

/** `levels` objects, the root and the target among them. */
function deep(levels: number, leaf: object, modes: readonly string[]): object {
  let node: object = named('x', leaf);
  for (let level = levels - 1; level >= 1; level -= 1) {
    const mode = modes[level % modes.length] ?? 'single';
    node = named('x', mode === 'conditional' ? by('x', 'x', [node]) : branch(mode, [node]));
  }
  return node;
}

const MODES = ['single', 'fallback', 'loadbalance', 'conditional'];

describe('depth', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('%i is followed through every mode', async (levels) => {
    const asked = await ask(deep(levels, at(0), MODES), [200]);
    expect(asked).toMatchObject({
      status: 200,
      path: `config${'.targets[0]'.repeat(levels - 1)}`,
      calls: [1, 0, 0, 0],
    });
  });

  it.each([9, 10, 40])('%i is refused', async (levels) => {
    const spec = deep(levels, { provider: 'simulator' }, MODES);
    expect(await refusalOf(stage, spec)).toBeDefined();
    const statuses = stage.gateway.apply(config('too-deep', spec), { allowComplaints: true });
    expect(statuses.find(({ name }) => name === 'too-deep')?.served).toBe('none');
    expect((await askBy(stage, CHAT, 'too-deep')).status).toBe(400);
  });
});

describe('width', () => {
  it('a hundred targets are asked in order', async () => {
    const [first, second] = stage.upstreams as [Upstream, Upstream];
    const targets = [...Array.from({ length: 99 }, () => target(first)), target(second)];
    expect(await ask(fallback(targets), [503, 200])).toMatchObject({
      calls: [99, 1, 0, 0],
      path: 'config.targets[99]',
      status: 200,
    });
  });

  it.each([
    ['at the root', (targets: object[]) => fallback(targets)],
    ['below', (targets: object[]) => branch('single', [fallback(targets)])],
  ])('a hundred and one are refused: %s', async (_where, tree) => {
    const targets = Array.from({ length: 101 }, () => ({ provider: 'simulator' }));
    expect(await refusalOf(stage, tree(targets))).toContain('targets');
  });
});

describe('single', () => {
  it.each([200, 400, 429, 500, 503])('returns the first target’s %i', async (status) => {
    expect(await ask(branch('single', [at(0), at(1)]), [status, 200])).toMatchObject({
      calls: [1, 0, 0, 0],
      status,
      path: 'config.targets[0]',
    });
  });

  it('is what a config without a strategy is: the path is its own', async () => {
    expect(await ask(at(0), [503])).toMatchObject({ status: 503, path: 'config' });
  });

  it.each([
    ['an unknown mode', { strategy: { mode: 'random' }, targets: [{ provider: 'simulator' }] }, 'mode'],
    ['no mode', { strategy: {}, targets: [{ provider: 'simulator' }] }, 'mode'],
    ['targets without a strategy', { targets: [{ provider: 'simulator' }] }, 'strategy'],
    ['a fallback without targets', { strategy: { mode: 'fallback' }, provider: 'simulator' }, 'targets'],
    ['no targets', fallback([]), 'targets'],
  ])('refused: %s', async (_what, spec, word) => {
    expect(await refusalOf(stage, spec)).toContain(word);
  });
});

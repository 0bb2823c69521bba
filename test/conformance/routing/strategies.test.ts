/** Single, load balance, conditional, nesting; where the answer came from. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestGateway } from '../../fakes/gateway.ts';
import { config } from '../../fakes/objects.ts';
import { openAiError } from '../../fakes/openai-wire.ts';
import { chat, json } from '../../fakes/replies.ts';
import type { Upstream } from '../../fakes/upstream.ts';
import { HI, type Stage, startStage, target } from '../stage.ts';

const QUERIES: readonly (readonly [name: string, query: object, metadata: object, body: object, matches: boolean])[] = [
  ['bare value', { 'metadata.a': 'x' }, { a: 'x' }, {}, true],
  ['bare value, another', { 'metadata.a': 'x' }, { a: 'y' }, {}, false],
  ['$eq', { 'metadata.a': { $eq: 'x' } }, { a: 'x' }, {}, true],
  ['$ne', { 'metadata.a': { $ne: 'x' } }, { a: 'y' }, {}, true],
  ['$ne, equal', { 'metadata.a': { $ne: 'x' } }, { a: 'x' }, {}, false],
  ['$ne, missing', { 'metadata.a': { $ne: 'x' } }, {}, {}, true],
  ['$in', { 'metadata.a': { $in: ['x', 'y'] } }, { a: 'y' }, {}, true],
  ['$in, none of them', { 'metadata.a': { $in: ['x', 'y'] } }, { a: 'z' }, {}, false],
  ['$in, missing', { 'metadata.a': { $in: ['x'] } }, {}, {}, false],
  ['$nin', { 'metadata.a': { $nin: ['x', 'y'] } }, { a: 'z' }, {}, true],
  ['$nin, missing', { 'metadata.a': { $nin: ['x'] } }, {}, {}, true],
  ['$nin, one of them', { 'metadata.a': { $nin: ['x'] } }, { a: 'x' }, {}, false],
  ['$gt', { 'params.max_tokens': { $gt: 10 } }, {}, { max_tokens: 11 }, true],
  ['$gt, equal', { 'params.max_tokens': { $gt: 10 } }, {}, { max_tokens: 10 }, false],
  ['$gte', { 'params.max_tokens': { $gte: 10 } }, {}, { max_tokens: 10 }, true],
  ['$lt', { 'params.temperature': { $lt: 0.5 } }, {}, { temperature: 0.4 }, true],
  ['$lte', { 'params.temperature': { $lte: 0.5 } }, {}, { temperature: 0.5 }, true],
  ['$gt, missing', { 'params.max_tokens': { $gt: 1 } }, {}, {}, false],
  ['$gt and $lt together', { 'params.max_tokens': { $gt: 10, $lt: 20 } }, {}, { max_tokens: 15 }, true],
  ['$gt and $lt together, one not', { 'params.max_tokens': { $gt: 10, $lt: 20 } }, {}, { max_tokens: 25 }, false],
  ['$regex', { 'metadata.a': { $regex: 'b+' } }, { a: 'abbc' }, {}, true],
  ['$regex, anchored', { 'metadata.a': { $regex: '^b+$' } }, { a: 'abbc' }, {}, false],
  ['$regex, missing', { 'metadata.a': { $regex: '.*' } }, {}, {}, false],
  ['$and', { $and: [{ 'metadata.a': 'x' }, { 'metadata.b': 'y' }] }, { a: 'x', b: 'y' }, {}, true],
  ['$and, one not', { $and: [{ 'metadata.a': 'x' }, { 'metadata.b': 'y' }] }, { a: 'x' }, {}, false],
  ['$or', { $or: [{ 'metadata.a': 'x' }, { 'metadata.b': 'y' }] }, { b: 'y' }, {}, true],
  ['$or, none', { $or: [{ 'metadata.a': 'x' }, { 'metadata.b': 'y' }] }, {}, {}, false],
  ['nested', { $or: [{ $and: [{ 'metadata.a': 'x' }, { 'params.model': 'm' }] }] }, { a: 'x' }, {}, true],
  ['several keys', { 'metadata.a': 'x', 'params.model': 'm' }, { a: 'x' }, {}, true],
  ['several keys, one not', { 'metadata.a': 'x', 'params.model': 'other' }, { a: 'x' }, {}, false],
  ['a model of the body', { 'params.model': { $in: ['m'] } }, {}, {}, true],
  ['a boolean of the body', { 'params.stream': { $eq: false } }, {}, { stream: false }, true],
  ['the path', { 'url.pathname': '/v1/chat/completions' }, {}, {}, true],
  ['another path', { 'url.pathname': { $regex: 'embeddings' } }, {}, {}, false],
];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(3, (upstreams) => {
    const [first, second, third] = upstreams as [Upstream, Upstream, Upstream];
    const named = (name: string, upstream: Upstream, more: object = {}) => target(upstream, { name, ...more });
    const conditional = (query: object) => ({
      strategy: { mode: 'conditional', conditions: [{ query, then: 'yes' }], default: 'no' },
      targets: [named('yes', first), named('no', second)],
    });
    const deep = (levels: number): object =>
      levels === 0 ? target(second) : { strategy: { mode: 'single' }, targets: [deep(levels - 1)] };
    return [
      ...QUERIES.map(([, query], index) => config(`query-${index}`, conditional(query))),
      config('single', { strategy: { mode: 'single' }, targets: [target(first), target(second)] }),
      config('deep', deep(7)),
      config('weights', {
        strategy: { mode: 'loadbalance' },
        targets: [target(first, { weight: 3 }), target(second), target(third, { weight: 0 })],
      }),
      config('first-match', {
        strategy: {
          mode: 'conditional',
          conditions: [
            { query: { 'params.model': 'm' }, then: 'b' },
            { query: { 'params.model': 'm' }, then: 'a' },
          ],
          default: 'a',
        },
        targets: [named('a', first), named('b', second)],
      }),
      config('tree', {
        strategy: { mode: 'fallback' },
        targets: [
          { strategy: { mode: 'loadbalance' }, targets: [target(first)] },
          {
            name: 'inner',
            strategy: {
              mode: 'conditional',
              conditions: [{ query: { 'metadata.to': 'third' }, then: 'branch' }],
              default: 'leaf',
            },
            targets: [
              named('leaf', second),
              { name: 'branch', strategy: { mode: 'fallback' }, targets: [target(third)] },
            ],
          },
        ],
      }),
      config('before-overrides', {
        override_params: { model: 'changed' },
        ...conditional({ 'params.model': 'changed' }),
      }),
      config('sticky', {
        strategy: {
          mode: 'loadbalance',
          sticky: { enabled: true, hash_fields: ['metadata.user', 'headers.x-session'] },
        },
        targets: [target(first), target(second), target(third)],
      }),
    ].join('');
  });
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const upstream of stage.upstreams) upstream.answer(chat());
});

async function ask(name: string, headers: Record<string, string> = {}, body: object = HI) {
  const counts = stage.upstreams.map((upstream) => upstream.calls.length);
  const response = await stage.gateway.chat(body, { 'x-gateway-config': name, ...headers });
  const asked = stage.upstreams.findIndex((upstream, index) => upstream.calls.length > (counts[index] ?? 0));
  return { response, asked, path: pathOf(response) };
}

function pathOf(response: Response): string | null {
  return response.headers.get('x-gateway-last-used-option-index');
}

describe('conditional', () => {
  it.each(QUERIES.map((query, index) => [query[0], index, query] as const))('%s', async (_name, index, query) => {
    const [, , metadata, body, matches] = query;
    const headers = { 'x-gateway-metadata': JSON.stringify(metadata) };
    const { asked } = await ask(`query-${index}`, headers, { ...HI, ...body });
    expect(asked).toBe(matches ? 0 : 1);
  });

  it('takes the first that matches', async () => {
    expect(await ask('first-match')).toMatchObject({ asked: 1, path: 'config.targets[1]' });
  });

  it('sees the body as it was sent, before overrides', async () => {
    expect((await ask('before-overrides')).asked).toBe(1);
    expect(stage.at(1).json(-1)['model']).toBe('changed');
    expect((await ask('before-overrides', {}, { ...HI, model: 'changed' })).asked).toBe(0);
  });
});

describe('single and nested', () => {
  it('single asks the first, whatever it answers', async () => {
    stage.at(0).answer(json(503, openAiError()));
    const { response, asked, path } = await ask('single');
    expect({ asked, path, status: response.status }).toEqual({ asked: 0, path: 'config.targets[0]', status: 503 });
  });

  it('eight levels are followed, and named in the path', async () => {
    const { response, path } = await ask('deep');
    expect(response.status).toBe(200);
    expect(path).toBe(`config${'.targets[0]'.repeat(7)}`);
  });

  it.each([
    [[200, 200, 200], {}, 'config.targets[0].targets[0]'],
    [[500, 200, 200], {}, 'config.targets[1].targets[0]'],
    [[500, 200, 200], { to: 'third' }, 'config.targets[1].targets[1].targets[0]'],
  ])('a tree with answers %j and metadata %j ends at %s', async (statuses, metadata, path) => {
    for (const [index, status] of statuses.entries())
      stage.at(index).answer(status === 200 ? chat() : json(status, openAiError()));
    expect(await ask('tree', { 'x-gateway-metadata': JSON.stringify(metadata) })).toMatchObject({ path });
  });
});

describe('loadbalance', () => {
  it('draws by weight, and never what weighs nothing', async () => {
    const counts = [0, 0, 0];
    const asked = await Promise.all(Array.from({ length: 400 }, () => ask('weights')));
    for (const { path } of asked)
      counts[Number(/\d/.exec(path ?? '')?.[0])] = (counts[Number(/\d/.exec(path ?? '')?.[0])] ?? 0) + 1;
    expect(counts[2]).toBe(0);
    // 300 expected; eight standard deviations of a binomial draw are 70.
    expect(counts[0]).toBeGreaterThan(230);
    expect(counts[0]).toBeLessThan(370);
  });

  it('sticks to one target for the same fields, over replicas too', async () => {
    const replica = await startTestGateway({ manifests: stage.manifests });
    try {
      const seen = new Set<string | null>();
      for (let user = 0; user < 30; user += 1) {
        const headers = {
          'x-gateway-config': 'sticky',
          'x-gateway-metadata': JSON.stringify({ user: `u-${user}` }),
        };
        const asked = [stage.gateway, replica, stage.gateway, replica].map((gateway) => gateway.chat(HI, headers));
        const paths = (await Promise.all(asked)).map(pathOf);
        expect(new Set(paths).size).toBe(1);
        seen.add(paths[0] ?? null);
      }
      expect(seen.size).toBe(3);
    } finally {
      await replica.close();
    }
  });
});

/** GET /v1/models and /v1/models/{id}: what a caller may name. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, object } from '../fakes/objects.ts';
import { failureOf, type Stage, startStage } from './stage.ts';

const KEYS = { a: 'models-key-of-team-a', b: 'models-key-of-team-b' } as const;

let stage: Stage;
beforeAll(async () => {
  const integration = (name: string, namespace: string, spec: object, placing: object = {}) =>
    object('Integration', name, { provider: 'simulator', ...spec }, { namespace, ...placing });
  const models = (...slugs: string[]) => ({
    allow_all_models: false,
    models: slugs.map((slug) => ({ slug, enabled: true })),
  });
  stage = await startStage(0, () =>
    [
      apiKey('a', KEYS.a, {}, 'team-a'),
      apiKey('b', KEYS.b, {}, 'team-b'),
      integration('one', 'team-a', models('x', 'org/y')),
      integration('two', 'team-a', {
        allow_all_models: false,
        models: [
          { slug: 'z', enabled: false },
          { slug: 'w', enabled: true },
        ],
      }),
      integration('shared', 'model-gateway', models('s'), {
        annotations: { 'modelgateway.dev/allowed-workspaces': '*' },
      }),
      integration('hidden', 'model-gateway', models('h')),
      integration('own', 'team-b', models('v')),
    ].join(''),
  );
});
afterAll(() => stage.close());

function get(path: string, key: string): Promise<Response> {
  return fetch(stage.gateway.origin + path, { headers: { authorization: `Bearer ${key}` } });
}

describe('models', () => {
  it.each([
    ['a', ['@one/org/y', '@one/x', '@shared/s', '@two/w']],
    ['b', ['@own/v', '@shared/s']],
  ] as const)('of team %s are those of its Integrations and of those shared with it', async (team, ids) => {
    const list = (await (await get('/v1/models', KEYS[team])).json()) as {
      object: string;
      total_count: number;
      data: { id: string; object: string; owned_by: string }[];
    };
    expect(list.object).toBe('list');
    expect(list.data.map(({ id }) => id).toSorted()).toEqual(ids);
    expect(list.total_count).toBe(ids.length);
    for (const model of list.data)
      expect(model).toMatchObject({ object: 'model', owned_by: expect.any(String), created: expect.any(Number) });
  });

  it.each(['@one/x', '@one/org/y', '@shared/s'])('%s is found by its id, written or escaped', async (id) => {
    for (const path of [`/v1/models/${id}`, `/v1/models/${encodeURIComponent(id)}`]) {
      const response = await get(path, KEYS.a);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ id, object: 'model' });
    }
  });

  it.each(['@one/nothing', '@two/z', '@hidden/h', '@own/v', '@nobody/x', 'nothing', '@one', '%00', '..%2f..%2f'])(
    '%s is not found',
    async (id) => {
      expect(await failureOf(await get(`/v1/models/${id}`, KEYS.a))).toMatchObject({ status: 404 });
    },
  );

  it('need a key', async () => {
    for (const path of ['/v1/models', '/v1/models/@one/x'])
      expect(await failureOf(await get(path, 'wrong'))).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });
});

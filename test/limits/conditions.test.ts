/** Which requests a policy is about: every key, values, exclusions, wildcards, groups. */
import { afterEach, describe, expect, it } from 'vitest';
import { HI, HI_MESSAGE, target } from '../conformance/stage.ts';
import { apiKey, config, object } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { answerOf, type LimitStage, rateLimit, startLimitStage, usageLimit } from './stage.ts';

const ORGANISATION = { namespace: 'model-gateway' };

let stage: LimitStage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

function integration(name: string, upstream: Upstream, placing?: { namespace: string }): string {
  const spec = { provider: 'openai', configurations: { custom_host: `${upstream.origin}/v1` } };
  return object('Integration', name, placing === undefined ? spec : { ...spec, allow_all_workspaces: true }, placing);
}

/** Keys web and batch of the workspace default, and web of team-b; Integrations main and spare, and shared of all. */
function world([upstream]: readonly Upstream[]): string {
  if (upstream === undefined) throw new Error('an upstream is needed');
  return [
    apiKey('web', 'key-web-000000000000', { defaults: { metadata: { tier: 'gold' } } }),
    apiKey('batch', 'key-batch-0000000000', {}),
    apiKey('web', 'key-elsewhere-000000', {}, 'team-b'),
    integration('main', upstream),
    integration('spare', upstream),
    integration('shared', upstream, ORGANISATION),
    config('plain', target(upstream)),
  ].join('\n');
}

interface Request {
  readonly key?: 'web' | 'batch' | 'elsewhere' | 'none';
  readonly config?: string;
  readonly metadata?: object;
  readonly model?: string;
  readonly path?: '/v1/chat/completions' | '/v1/messages' | '/v1/completions' | '/v1/embeddings';
  readonly user?: string;
}

const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': HI,
  '/v1/messages': HI_MESSAGE,
  '/v1/completions': { model: 'm', prompt: 'Hi' },
  '/v1/embeddings': { model: 'm', input: 'Hi' },
};

function send(on: LimitStage, request: Request): Promise<Response> {
  const { key = 'web', metadata, model, path = '/v1/chat/completions', user } = request;
  const chosen = request.config ?? (model?.startsWith('@') ? undefined : 'plain');
  const headers = {
    'x-gateway-api-key': key === 'none' ? '' : `key-${key}-`.padEnd(20, '0'),
    ...(chosen === undefined ? {} : { 'x-gateway-config': chosen }),
    ...(metadata === undefined ? {} : { 'x-gateway-metadata': JSON.stringify(metadata) }),
  };
  const body = { ...BODIES[path], ...(model === undefined ? {} : { model }), ...(user === undefined ? {} : { user }) };
  return on.gateway.post(path, body, headers);
}

/** Whether a policy that admits nothing refuses this request. */
async function refuses(on: LimitStage, request: Request): Promise<boolean> {
  const { status, text } = await answerOf(await send(on, request));
  if (status !== 200 && status !== 429) throw new Error(`answered ${status}: ${text}`);
  return status === 429;
}

type Case = readonly [what: string, condition: object, refused: readonly Request[], free: readonly Request[]];

const CASES: readonly Case[] = [
  ['api_key by name', { key: 'api_key', value: 'web' }, [{}], [{ key: 'batch' }]],
  ['api_key by namespace and name', { key: 'api_key', value: 'team-b/web' }, [], [{}]],
  ['api_key, one of several', { key: 'api_key', value: ['x', 'batch', 'web'] }, [{}, { key: 'batch' }], []],
  ['api_key, any but one', { key: 'api_key', value: '*', excludes: 'batch' }, [{}], [{ key: 'batch' }]],
  ['api_key, any but several', { key: 'api_key', value: '*', excludes: ['web', 'batch'] }, [], [{}, { key: 'batch' }]],
  [
    'metadata of the request',
    { key: 'metadata.team', value: ['red', 'blue'] },
    [{ metadata: { team: 'red' } }, { metadata: { team: 'blue' } }],
    [{ metadata: { team: 'green' } }, {}, { metadata: { teams: 'red' } }],
  ],
  [
    'metadata, any value',
    { key: 'metadata.team', value: '*' },
    [{ metadata: { team: '' } }, { metadata: { team: 'x' } }],
    [{}],
  ],
  [
    'metadata, any value but one',
    { key: 'metadata.team', value: '*', excludes: ['red'] },
    [{ metadata: { team: 'blue' } }],
    [{ metadata: { team: 'red' } }, {}],
  ],
  [
    "the key's metadata",
    { key: 'metadata.tier', value: 'gold' },
    [{}, { metadata: { tier: 'tin' } }],
    [{ key: 'batch' }],
  ],
  ["the body's user", { key: 'metadata._user', value: 'ann' }, [{ user: 'ann' }], [{ user: 'bob' }, {}]],
  [
    'metadata that every object has',
    { key: 'metadata.constructor', value: '*' },
    [{ metadata: { constructor: 'x' } }],
    [{}],
  ],
  ['config', { key: 'config', value: 'plain' }, [{}], [{ model: '@main/m' }]],
  ['any config', { key: 'config', value: '*' }, [{}], [{ model: '@main/m' }]],
  [
    'endpoint_type',
    { key: 'endpoint_type', value: ['messages', 'embed'] },
    [{ path: '/v1/messages' }, { path: '/v1/embeddings' }],
    [{}, { path: '/v1/completions' }],
  ],
  ['endpoint_type complete', { key: 'endpoint_type', value: 'complete' }, [{ path: '/v1/completions' }], [{}]],
  ['workspace_id', { key: 'workspace_id', value: 'default' }, [{}, { key: 'batch' }], []],
  ['another workspace_id', { key: 'workspace_id', value: 'team-b' }, [], [{}]],
  ['a prompt, which no request has yet', { key: 'prompt', value: '*' }, [], [{}]],
  [
    'virtual_key by name',
    { key: 'virtual_key', value: 'main' },
    [{ model: '@main/m' }],
    [{ model: '@spare/m' }, { model: '@shared/m' }, {}],
  ],
  [
    'virtual_key by namespace and name',
    { key: 'virtual_key', value: ['model-gateway/shared', 'default/nothing'] },
    [{ model: '@shared/m' }],
    [{ model: '@main/m' }, {}],
  ],
  [
    'any virtual_key',
    { key: 'virtual_key', value: '*', excludes: 'spare' },
    [{ model: '@main/m' }],
    [{ model: '@spare/m' }, {}],
  ],
  ['provider', { key: 'provider', value: 'openai' }, [{}, { model: '@main/m' }], []],
  ['another provider', { key: 'provider', value: '*', excludes: ['openai'] }, [], [{}]],
  ['model as sent', { key: 'model', value: 'm' }, [{}, { model: '@main/m' }], [{ model: 'n' }, { model: '@main/n' }]],
  [
    'model of an Integration',
    { key: 'model', value: '@main/m' },
    [{ model: '@main/m' }],
    [{ model: '@spare/m' }, { model: 'm' }],
  ],
  [
    'all models of an Integration',
    { key: 'model', value: '@main/*' },
    [{ model: '@main/m' }, { model: '@main/a/b' }],
    [{ model: '@spare/m' }, { model: 'main/m' }],
  ],
  [
    'models below a path',
    { key: 'model', value: 'llama/*' },
    [{ model: 'llama/8b' }, { model: '@main/llama/8b' }],
    [{ model: 'llama' }],
  ],
  [
    'all models but one',
    { key: 'model', value: '*', excludes: '@main/m' },
    [{ model: '@main/n' }, { model: 'm' }],
    [{ model: '@main/m' }],
  ],
];

describe('a condition', () => {
  it.each(CASES)('on %s', async (_, condition, refused, free) => {
    stage = await startLimitStage(rateLimit('none', { value: 0, conditions: [condition] }), { configs: world });
    for (const request of refused) expect([request, await refuses(stage, request)]).toEqual([request, true]);
    for (const request of free) expect([request, await refuses(stage, request)]).toEqual([request, false]);
  });

  it('holds together with all others: one that does not hold is enough', async () => {
    const conditions = [
      { key: 'api_key', value: 'web' },
      { key: 'metadata.team', value: 'red' },
      { key: 'virtual_key', value: 'main' },
    ];
    stage = await startLimitStage(rateLimit('none', { value: 0, conditions }), { configs: world });
    const whole: Request = { metadata: { team: 'red' }, model: '@main/m' };
    expect(await refuses(stage, whole)).toBe(true);
    for (const less of [
      { ...whole, key: 'batch' },
      { ...whole, metadata: {} },
      { ...whole, model: '@spare/m' },
    ] as const)
      expect(await refuses(stage, less)).toBe(false);
  });
});

describe('where a policy lies', () => {
  const team = { key: 'elsewhere', model: '@shared/m' } as const;

  it('in a workspace it is about that workspace alone, in the organisation namespace about all', async () => {
    stage = await startLimitStage(rateLimit('none', { value: 0 }), { configs: world });
    expect(await refuses(stage, {})).toBe(true);
    expect(await refuses(stage, team)).toBe(false);
    stage.limit(rateLimit('none', { value: 0 }, ORGANISATION));
    expect(await refuses(stage, {})).toBe(true);
    expect(await refuses(stage, team)).toBe(true);
  });

  it('one of the organisation may name a key by its namespace, and counts keys of one name apart', async () => {
    const conditions = [{ key: 'api_key', value: 'team-b/web' }];
    stage = await startLimitStage(rateLimit('none', { value: 0, conditions }, ORGANISATION), { configs: world });
    expect(await refuses(stage, { model: '@shared/m' })).toBe(false);
    expect(await refuses(stage, team)).toBe(true);
    const each = { value: 1, conditions: [{ key: 'api_key', value: 'web' }], group_by: [{ key: 'api_key' }] };
    stage.limit(rateLimit('each', each, ORGANISATION));
    expect(await refuses(stage, { model: '@shared/m' })).toBe(false);
    expect(await refuses(stage, team)).toBe(false);
    expect(await refuses(stage, { model: '@shared/m' })).toBe(true);
    expect(await refuses(stage, team)).toBe(true);
  });
});

/** Pairs of requests that count together, and a third that does not. */
const GROUPS: readonly (readonly [key: string, same: readonly [Request, Request], other: Request])[] = [
  ['api_key', [{ config: 'plain' }, { model: '@main/m' }], { key: 'batch' }],
  [
    'metadata.team',
    [{ metadata: { team: 'a' } }, { key: 'batch', metadata: { team: 'a' } }],
    { metadata: { team: 'b' } },
  ],
  ['config', [{}, { key: 'batch' }], { config: '{"virtual_key":"main"}' }],
  ['endpoint_type', [{}, { key: 'batch' }], { path: '/v1/embeddings' }],
  ['workspace_id', [{}, { key: 'batch' }], { key: 'elsewhere', model: '@shared/m' }],
  ['virtual_key', [{ model: '@main/m' }, { model: '@main/n' }], { model: '@spare/m' }],
  ['model', [{ model: '@main/m' }, { model: '@spare/m' }], { model: '@main/n' }],
  ['metadata._user', [{ user: 'ann' }, { user: 'ann', key: 'batch' }], { user: 'x'.repeat(2_000) }],
];

describe('group_by', () => {
  it.each(GROUPS)('%s counts each value on its own', async (key, [first, second], other) => {
    const policy = rateLimit('each', { value: 1, group_by: [{ key }] }, ORGANISATION);
    stage = await startLimitStage(policy, { configs: world });
    expect(await refuses(stage, first)).toBe(false);
    expect(await refuses(stage, second)).toBe(true);
    expect(await refuses(stage, other)).toBe(false);
    expect(await refuses(stage, other)).toBe(true);
  });

  it('of several keys counts each combination, and keeps values apart that read alike when joined', async () => {
    const group_by = [{ key: 'metadata.a' }, { key: 'metadata.b' }];
    stage = await startLimitStage(rateLimit('each', { value: 1, group_by }), { configs: world });
    const requests = [
      { a: 'x', b: 'yz' },
      { a: 'xy', b: 'z' },
      { a: 'x|y', b: 'z' },
      { a: 'x', b: 'y|z' },
      { a: '1:x', b: '' },
    ];
    for (const metadata of requests) expect(await refuses(stage, { metadata })).toBe(false);
    for (const metadata of requests) expect(await refuses(stage, { metadata })).toBe(true);
  });

  it('does not count a request that lacks a value', async () => {
    const group_by = [{ key: 'metadata.team' }, { key: 'api_key' }];
    stage = await startLimitStage(rateLimit('each', { value: 0, group_by }), { configs: world });
    expect(await refuses(stage, {})).toBe(false);
    expect(await refuses(stage, { metadata: { team: 'a' } })).toBe(true);
    stage.limit(rateLimit('each', { value: 0, group_by: [{ key: 'virtual_key' }] }));
    expect(await refuses(stage, {})).toBe(false);
    expect(await refuses(stage, { model: '@main/m' })).toBe(true);
    stage.limit(rateLimit('each', { value: 0, group_by: [{ key: 'prompt' }] }));
    expect(await refuses(stage, {})).toBe(false);
  });

  it('holds for budgets alike', async () => {
    const spec = { credit_limit: 0, group_by: [{ key: 'metadata.team' }] };
    stage = await startLimitStage(usageLimit('each', spec), { configs: world });
    expect((await send(stage, { metadata: { team: 'a' } })).status).toBe(412);
    expect((await send(stage, {})).status).toBe(200);
  });
});

describe('open callers', () => {
  it('have no key: what asks for one is not about them', async () => {
    const limits = rateLimit('none', { value: 0 });
    stage = await startLimitStage(limits, { configs: world, gateway: { open: true } });
    expect(await refuses(stage, { key: 'none' })).toBe(false);
    stage.limit(rateLimit('none', { value: 0, conditions: [{ key: 'workspace_id', value: 'default' }] }));
    expect(await refuses(stage, { key: 'none' })).toBe(true);
  });
});

describe("a workspace's metadata", () => {
  const workspace = (metadata: object) => object('Workspace', 'default', { defaults: { metadata } }, ORGANISATION);
  const tier = (value: string) => rateLimit('none', { value: 0, conditions: [{ key: 'metadata.tier', value }] });

  it("wins over the key's, and that over the request's", async () => {
    stage = await startLimitStage(workspace({ tier: 'iron' }) + tier('iron'), { configs: world });
    expect(await refuses(stage, { metadata: { tier: 'tin' } })).toBe(true);
    stage.limit(tier('gold'));
    expect(await refuses(stage, { metadata: { tier: 'tin' } })).toBe(true);
    expect(await refuses(stage, { key: 'batch', metadata: { tier: 'tin' } })).toBe(false);
    expect(await refuses(stage, { key: 'batch', metadata: { tier: 'gold' } })).toBe(true);
  });

  it('is of that workspace alone', async () => {
    stage = await startLimitStage(workspace({ tier: 'iron' }), { configs: world });
    stage.limit(
      workspace({ tier: 'iron' }) +
        rateLimit('none', { value: 0, conditions: [{ key: 'metadata.tier', value: 'iron' }] }, ORGANISATION),
    );
    expect(await refuses(stage, {})).toBe(true);
    expect(await refuses(stage, { key: 'elsewhere', model: '@shared/m' })).toBe(false);
  });
});

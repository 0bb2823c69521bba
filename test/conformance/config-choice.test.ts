/** Which config applies to a request (`x-gateway-config`, key, workspace), and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, config, defaultConfig } from '../fakes/objects.ts';
import { failureOf, HI, type Stage, startStage, target } from './stage.ts';

const KEYS = {
  plain: 'plain-key-0123456789',
  bound: 'bound-key-0123456789',
  fixed: 'fixed-key-0123456789',
  other: 'other-key-0123456789',
  lost: 'lost-key-01234567890',
} as const;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(2, ([first, second]) => {
    if (first === undefined || second === undefined) throw new Error('two upstreams');
    const named = (model: string, upstream = first) => target(upstream, { override_params: { model } });
    return [
      defaultConfig('house', named('by-default'), 'team-a'),
      config('mine', named('by-name'), { namespace: 'team-a' }),
      config('keys', named('by-key'), { namespace: 'team-a' }),
      config('secretive', named('not-yours'), { namespace: 'team-b' }),
      config('for-all', named('for-all'), {
        namespace: 'model-gateway',
        annotations: { 'modelgateway.dev/allowed-workspaces': '*' },
      }),
      config('for-a', named('for-a'), {
        namespace: 'model-gateway',
        annotations: { 'modelgateway.dev/allowed-workspaces': 'team-x, team-a' },
      }),
      config('for-b', named('for-b'), {
        namespace: 'model-gateway',
        annotations: { 'modelgateway.dev/allowed-workspaces': 'team-b' },
      }),
      config('private', named('private'), { namespace: 'model-gateway' }),
      config('mine-too', named('shared-name'), {
        namespace: 'model-gateway',
        annotations: { 'modelgateway.dev/allowed-workspaces': '*' },
      }),
      config('mine-too', named('own-name'), { namespace: 'team-a' }),
      apiKey('plain', KEYS.plain, {}, 'team-a'),
      apiKey('bound', KEYS.bound, { defaults: { config_id: 'keys' } }, 'team-a'),
      apiKey('fixed', KEYS.fixed, { defaults: { config_id: 'keys', allow_config_override: false } }, 'team-a'),
      apiKey('other', KEYS.other, {}, 'team-b'),
      apiKey('lost', KEYS.lost, { defaults: { config_id: 'for-all' } }, 'team-b'),
    ].join('');
  });
});
afterAll(() => stage.close());

function ask(key: keyof typeof KEYS, configHeader?: string): Promise<Response> {
  const named = configHeader === undefined ? {} : { 'x-gateway-config': configHeader };
  return stage.gateway.chat(HI, { 'x-gateway-api-key': KEYS[key], ...named });
}

describe('the config that applies', () => {
  it.each([
    ['the workspace default', 'plain', undefined, 'by-default'],
    ["the key's default before the workspace's", 'bound', undefined, 'by-key'],
    ["the key's default, fixed", 'fixed', undefined, 'by-key'],
    ["the header's before the workspace's", 'plain', 'mine', 'by-name'],
    ["the header's before the key's", 'bound', 'mine', 'by-name'],
    ['one that is shared with all', 'plain', 'for-all', 'for-all'],
    ['one that is shared with this workspace', 'plain', 'for-a', 'for-a'],
    ['an own one before a shared one of that name', 'plain', 'mine-too', 'own-name'],
    ['the shared one where there is no own', 'other', 'mine-too', 'shared-name'],
    ['a shared one as a key’s default', 'lost', undefined, 'for-all'],
  ] as const)('is %s', async (_what, key, header, model) => {
    const response = await ask(key, header);
    expect(response.status).toBe(200);
    expect(stage.at(0).json(-1)['model']).toBe(model);
  });

  it('replaces the default whole', async () => {
    const { origin } = stage.at(1);
    const inline = { provider: 'openai', api_key: 'mine', custom_host: `${origin}/v1` };
    const response = await ask('plain', JSON.stringify(inline));
    expect(await failureOf(response)).toMatchObject({ status: 400, code: 'override_not_allowed' });
    await ask('plain', JSON.stringify({ provider: 'simulator' })).then(async (answer) => {
      expect(await answer.json()).toMatchObject({ model: 'm', choices: [{ message: { content: 'Hi' } }] });
    });
  });

  it.each([
    ['of another workspace', 'plain', 'secretive'],
    ['shared with others only', 'plain', 'for-b'],
    ['of the organisation, shared with nobody', 'plain', 'private'],
    ['that nobody has', 'plain', 'no-such-config'],
    ['that no name can be', 'plain', '../../etc/passwd'],
    ['that is a name of every object', 'plain', 'constructor'],
    ['of the key’s team, asked by another', 'other', 'mine'],
  ] as const)('is refused by name where it is one %s', async (_what, key, header) => {
    const before = stage.at(0).calls.length;
    const failure = await failureOf(await ask(key, header));
    expect(failure).toMatchObject({ status: 400, code: 'unknown_config', type: 'invalid_request_error' });
    expect(failure.message).toContain(header);
    expect(stage.at(0).calls.length).toBe(before);
  });

  it.each(['mine', 'keys', '{"provider":"simulator"}'])(
    'is not overridden with %s for a key that forbids it',
    async (header) => {
      expect(await failureOf(await ask('fixed', header))).toMatchObject({
        status: 400,
        code: 'config_override_denied',
      });
    },
  );

  it('is none where nothing says who should answer', async () => {
    expect(await failureOf(await ask('other'))).toMatchObject({ status: 400, code: 'no_provider' });
  });
});

describe('an inline config', () => {
  it.each([
    ['no JSON', '{"provider"', 'invalid_config', ''],
    ['an unknown key', '{"provider":"simulator","speed":9}', 'invalid_config', 'speed'],
    ['an unknown key of a target', '{"targets":[{"provider":"simulator","wight":1}]}', 'invalid_config', 'targets[0]'],
    [
      'an unknown strategy',
      '{"strategy":{"mode":"best"},"targets":[{"provider":"simulator"}]}',
      'invalid_config',
      'mode',
    ],
    ['too many attempts', '{"provider":"simulator","retry":{"attempts":6}}', 'invalid_config', 'attempts'],
    [
      'weights that are all 0',
      '{"strategy":{"mode":"loadbalance"},"targets":[{"provider":"simulator","weight":0}]}',
      'invalid_config',
      'weight',
    ],
    ['a provider that is not known', '{"provider":"nobody","api_key":"k"}', 'unknown_provider', 'nobody'],
    ['no targets', '{"strategy":{"mode":"fallback"},"targets":[]}', 'invalid_config', 'targets'],
    [
      'a regular expression that is not RE2',
      '{"strategy":{"mode":"conditional","conditions":[{"query":{"metadata.a":{"$regex":"(?=x)"}},"then":"a"}],"default":"a"},"targets":[{"name":"a","provider":"simulator"}]}',
      'invalid_config',
      '$regex',
    ],
    [
      'a name that no target has',
      '{"strategy":{"mode":"conditional","conditions":[],"default":"b"},"targets":[{"name":"a","provider":"simulator"}]}',
      'invalid_config',
      'default',
    ],
    ['a slug that is not known', '{"provider":"@nobody"}', 'unknown_slug', 'nobody'],
  ])('with %s is refused, and the message says where', async (_what, text, code, named) => {
    const failure = await failureOf(await ask('plain', text));
    expect(failure).toMatchObject({ status: 400, code, type: 'invalid_request_error' });
    expect(failure.message).toContain(named);
  });

  it('may be as deep as a stored one, and no deeper', async () => {
    const nested = (levels: number): object =>
      levels === 1 ? { provider: 'simulator' } : { strategy: { mode: 'single' }, targets: [nested(levels - 1)] };
    expect((await ask('plain', JSON.stringify(nested(8)))).status).toBe(200);
    expect(await failureOf(await ask('plain', JSON.stringify(nested(9))))).toMatchObject({
      status: 400,
      code: 'invalid_config',
    });
  });

  it('may have 100 targets at a level, and no more', async () => {
    const wide = (count: number) => ({
      strategy: { mode: 'fallback' },
      targets: Array.from({ length: count }, () => ({ provider: 'simulator' })),
    });
    expect((await ask('plain', JSON.stringify(wide(100)))).status).toBe(200);
    expect((await ask('plain', JSON.stringify(wide(101)))).status).toBe(400);
  });
});

describe('a config that was never accepted', () => {
  it('is refused with the reason of its refusal', async () => {
    const own = await startStage(1);
    try {
      const refused = config('broken', { provider: 'nobody', api_key: 'k' });
      own.gateway.apply(refused, { allowComplaints: true });
      const failure = await failureOf(await own.gateway.chat(HI, { 'x-gateway-config': 'broken' }));
      expect(failure).toMatchObject({ status: 400, code: 'config_refused' });
      expect(failure.message).toContain('nobody');
    } finally {
      await own.close();
    }
  });
});

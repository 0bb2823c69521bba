/** Who answers where no config says it: provider header, virtual key, model; Integrations, passthrough, direct mode. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, config, object, secret } from '../fakes/objects.ts';
import { failureOf, HI, type Stage, startStage } from './stage.ts';

const KEY = 'team-key-0123456789';
const OTHER = 'other-key-0123456789';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(2, ([first, second]) => {
    const integration = (name: string, spec: object, placing: object = {}) =>
      object(
        'Integration',
        name,
        { provider: 'openai', allow_all_models: true, ...spec },
        { namespace: 'team-a', ...placing },
      );
    const stored = { secret_mappings: [{ target_field: 'api_key', secret_name: 'creds', secret_key: 'key' }] };
    const at = (origin: string | undefined) => ({ configurations: { custom_host: `${origin}/v1` } });
    return [
      secret('creds', { key: 'stored-key' }, 'team-a'),
      secret('creds', { key: 'organisation-key' }, 'model-gateway'),
      integration('prod', { ...stored, ...at(first?.origin) }),
      integration('few', {
        ...stored,
        ...at(first?.origin),
        allow_all_models: false,
        models: [
          { slug: 'yes', enabled: true },
          { slug: 'off', enabled: false },
          { slug: 'elsewhere', enabled: true, configurations: { custom_host: `${second?.origin}/v1` } },
        ],
      }),
      integration(
        'ours',
        { ...stored, ...at(second?.origin) },
        {
          namespace: 'model-gateway',
          annotations: { 'modelgateway.dev/allowed-workspaces': '*' },
        },
      ),
      integration('theirs', at(first?.origin), { namespace: 'team-b' }),
      config('pass', { passthrough: true }, { namespace: 'team-a' }),
      config('retry-only', { retry: { attempts: 1 } }, { namespace: 'team-a' }),
      config('vk', { virtual_key: 'prod' }, { namespace: 'team-a' }),
      config('slug', { provider: '@prod' }, { namespace: 'team-a' }),
      config('few', { provider: '@few' }, { namespace: 'team-a' }),
      config('bare', { provider: 'openai', custom_host: `${first?.origin}/v1` }, { namespace: 'team-a' }),
      apiKey('team', KEY, {}, 'team-a'),
      apiKey('other', OTHER, {}, 'team-b'),
    ].join('');
  });
});
afterAll(() => stage.close());

function ask(headers: Record<string, string>, body: object = HI): Promise<Response> {
  return stage.gateway.chat(body, { 'x-gateway-api-key': KEY, ...headers });
}

describe('an Integration', () => {
  const withModel = (model: string) => ({ ...HI, model });
  it.each([
    ['by the provider header', { 'x-gateway-provider': '@prod' }, HI, 'm'],
    ['by the virtual key header', { 'x-gateway-virtual-key': 'prod' }, HI, 'm'],
    ['by the model', {}, withModel('@prod/gpt-x'), 'gpt-x'],
    ['by a model with slashes', {}, withModel('@prod/org/gpt-x'), 'org/gpt-x'],
    ['by a passthrough config and the header', { 'x-gateway-config': 'pass', 'x-gateway-provider': '@prod' }, HI, 'm'],
    ['by a passthrough config and the model', { 'x-gateway-config': 'pass' }, withModel('@prod/x'), 'x'],
    ['by a config without a provider', { 'x-gateway-config': 'retry-only', 'x-gateway-virtual-key': 'prod' }, HI, 'm'],
    ["by a config's virtual_key", { 'x-gateway-config': 'vk' }, HI, 'm'],
    ["by a config's @slug", { 'x-gateway-config': 'slug' }, HI, 'm'],
    ["by a config's @slug, named by the model again", { 'x-gateway-config': 'slug' }, withModel('@prod/x'), 'x'],
    ['that lists the model', { 'x-gateway-provider': '@few' }, withModel('yes'), 'yes'],
  ])('%s is asked with its own credential', async (_what, headers, body, model) => {
    const response = await ask(headers, body);
    expect(response.status).toBe(200);
    expect(stage.at(0).json(-1)['model']).toBe(model);
    expect(stage.at(0).calls.at(-1)?.headers.authorization).toBe('Bearer stored-key');
    expect(response.headers.get('x-gateway-provider')).toBe('openai');
  });

  it('of the organisation is asked with the organisation’s credential', async () => {
    expect((await ask({ 'x-gateway-provider': '@ours' })).status).toBe(200);
    expect(stage.at(1).calls.at(-1)?.headers.authorization).toBe('Bearer organisation-key');
  });

  it('may have a host for a model of its own', async () => {
    const before = stage.at(1).calls.length;
    expect((await ask({ 'x-gateway-provider': '@few' }, withModel('elsewhere'))).status).toBe(200);
    expect(stage.at(1).calls.length).toBe(before + 1);
    expect(stage.at(1).json(-1)['model']).toBe('elsewhere');
  });

  it.each([
    ['header', { 'x-gateway-provider': '@no-such' }, HI],
    ['virtual key', { 'x-gateway-virtual-key': 'no-such' }, HI],
    ['model', {}, withModel('@no-such/m')],
    ['header, of another team', { 'x-gateway-provider': '@theirs' }, HI],
    ['model, of another team', {}, withModel('@theirs/m')],
    ['header, a name of every object', { 'x-gateway-provider': '@constructor' }, HI],
  ])('that is not there is named in a 400: by %s', async (_what, headers, body) => {
    const failure = await failureOf(await ask(headers, body));
    expect(failure).toMatchObject({ status: 400, code: 'unknown_slug' });
    expect(failure.message).toMatch(/no-such|theirs|constructor/);
  });

  it.each(['no', 'off'])('that does not allow the model %s: 403', async (model) => {
    const before = stage.at(0).calls.length;
    const failures = [
      await failureOf(await ask({ 'x-gateway-provider': '@few' }, withModel(model))),
      await failureOf(await ask({ 'x-gateway-config': 'few' }, withModel(model))),
      await failureOf(await ask({}, withModel(`@few/${model}`))),
    ];
    for (const failure of failures)
      expect(failure).toMatchObject({ status: 403, code: 'model_not_allowed', type: 'permission_error' });
    expect(stage.at(0).calls.length).toBe(before);
  });

  it('comes in order: provider header, virtual key, model', async () => {
    const headers = { 'x-gateway-provider': '@prod', 'x-gateway-virtual-key': 'ours' };
    await ask(headers, withModel('plain'));
    expect(stage.at(0).json(-1)['model']).toBe('plain');
    const before = stage.at(1).calls.length;
    await ask({ 'x-gateway-virtual-key': 'ours' }, withModel('second'));
    expect(stage.at(1).calls.length).toBe(before + 1);
  });
});

describe('a target without a credential', () => {
  it('sends none: never the caller’s bearer', async () => {
    const response = await stage.gateway.chat(HI, {
      'x-gateway-api-key': '',
      authorization: `Bearer ${KEY}`,
      'x-gateway-config': 'bare',
    });
    expect(response.status).toBe(200);
    expect(stage.at(0).calls.at(-1)?.headers.authorization).toBeUndefined();
    await ask({ 'x-gateway-config': 'bare', authorization: 'Bearer callers-own' });
    expect(stage.at(0).calls.at(-1)?.headers.authorization).toBeUndefined();
  });
});

describe('direct mode', () => {
  it('needs a gateway key besides the provider’s', async () => {
    const headers = { 'x-gateway-provider': 'openai', authorization: 'Bearer sk-provider' };
    const response = await stage.gateway.chat(HI, { ...headers, 'x-gateway-api-key': '' });
    expect(await failureOf(response)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it('refuses a provider that is not known', async () => {
    const failure = await failureOf(await ask({ 'x-gateway-provider': 'nobody', authorization: 'Bearer sk-x' }));
    expect(failure).toMatchObject({ status: 400, code: 'unknown_provider' });
    expect(failure.message).toContain('nobody');
  });

  it('reaches the simulator without any credential', async () => {
    const response = await ask({ 'x-gateway-provider': 'simulator' });
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hi' } }] });
  });
});

/** How the official SDKs are set up: who calls, to where, by which config; and what they read beside the answer. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anthropicMessage } from '../fakes/anthropic-wire.ts';
import { apiKey, object, secret } from '../fakes/objects.ts';
import { openAiChat } from '../fakes/openai-wire.ts';
import { json } from '../fakes/replies.ts';
import { HI, saying, TEXT } from './said.ts';
import { COMBINATIONS, SDKS, type Sdk, type Stage, startStage, WIRES, type Wire } from './stage.ts';

const OTHER_KEY = 'another-key-of-the-workspace';
const BOUND_KEY = 'a-key-that-is-bound-to-a-config';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage((baseUrl) =>
    [
      apiKey('other', OTHER_KEY),
      apiKey('bound', BOUND_KEY, { defaults: { config_id: 'openai', allow_config_override: false } }),
      secret('stored', { api_key: 'stored-key' }),
      ...WIRES.map((wire) => integration(wire, baseUrl[wire])),
    ].join(''),
  );
});
afterAll(() => stage.close());

function integration(provider: Wire, customHost: string): string {
  return object('Integration', `my-${provider}`, {
    provider,
    secret_mappings: [{ target_field: 'api_key', secret_name: 'stored', secret_key: 'api_key' }],
    configurations: { custom_host: customHost },
    allow_all_models: false,
    models: [
      { slug: 'small', enabled: true },
      { slug: 'maker/large', enabled: true },
      { slug: 'retired', enabled: false },
    ],
  });
}

interface Setup {
  readonly model?: string;
  readonly key?: string;
  /** As bearer where the SDK has another way by default. */
  readonly authToken?: string;
  readonly headers?: Record<string, string>;
}

/** Asks by a client that is set up so and no further: no config is named unless `headers` do. */
function ask(sdk: Sdk, { model = 'm', key = stage.gateway.key, authToken, headers = {} }: Setup) {
  const common = { maxRetries: 0, defaultHeaders: headers };
  if (sdk === 'openai') {
    const client = new OpenAI({ ...common, baseURL: `${stage.gateway.origin}/v1`, apiKey: authToken ?? key });
    return client.chat.completions.create({ model, messages: [HI] }).withResponse();
  }
  const credential = authToken === undefined ? { apiKey: key } : { authToken, apiKey: null };
  const client = new Anthropic({ ...common, baseURL: stage.gateway.origin, ...credential });
  return client.messages.create({ model, max_tokens: 10, messages: [HI] }).withResponse();
}

function failureOf(sdk: Sdk, setup: Setup): Promise<unknown> {
  return ask(sdk, setup).catch((error: unknown) => error);
}

const ERRORS = { openai: OpenAI, anthropic: Anthropic } as const;
const CREDENTIAL: Readonly<Record<Wire, (key: string) => object>> = {
  openai: (key) => ({ authorization: `Bearer ${key}` }),
  anthropic: (key) => ({ 'x-api-key': key }),
};

describe.each(COMBINATIONS)('a client of the %s SDK over the wire of %s', (sdk, wire) => {
  const sent = () => stage.upstream[wire].calls.at(-1);
  const answered = () => stage.upstream[wire].answer(saying(wire, TEXT, false));

  const SETUPS: readonly (readonly [what: string, setup: () => Setup, credential: string])[] = [
    ['its key as the SDK sends it', () => ({ headers: { 'x-gateway-config': wire } }), 'upstream-key'],
    [
      'its key as bearer',
      () => ({ authToken: stage.gateway.key, headers: { 'x-gateway-config': wire } }),
      'upstream-key',
    ],
    [
      'its key in the gateway’s header',
      () => ({ key: 'unused', headers: { 'x-gateway-config': wire, 'x-gateway-api-key': OTHER_KEY } }),
      'upstream-key',
    ],
    [
      'a config written out',
      () => ({
        headers: {
          'x-gateway-config': JSON.stringify({ strategy: { mode: 'single' }, targets: [{ provider: `@my-${wire}` }] }),
        },
        model: 'small',
      }),
      'stored-key',
    ],
    [
      'an Integration in a header',
      () => ({ headers: { 'x-gateway-provider': `@my-${wire}` }, model: 'small' }),
      'stored-key',
    ],
    [
      'an Integration as virtual key',
      () => ({ headers: { 'x-gateway-virtual-key': `my-${wire}` }, model: 'small' }),
      'stored-key',
    ],
    ['an Integration in the model’s name', () => ({ model: `@my-${wire}/small` }), 'stored-key'],
    [
      'a provider and a credential of its own',
      () => ({
        authToken: 'own-key',
        headers: {
          'x-gateway-api-key': stage.gateway.key,
          'x-gateway-provider': wire,
          'x-gateway-custom-host': `${stage.upstream[wire].origin}/v1`,
        },
      }),
      'own-key',
    ],
  ];
  it.each(SETUPS)('reaches it with %s', async (_what, setup, credential) => {
    answered();
    const before = stage.upstream[wire].calls.length;
    const { data, response } = await ask(sdk, setup());
    expect(data).toMatchObject({ model: wire === 'openai' ? 'gpt-test' : 'claude-test' });
    expect(response.headers.get('x-gateway-provider')).toBe(wire);
    expect(stage.upstream[wire].calls.length - before).toBe(1);
    expect(sent()?.headers).toMatchObject(CREDENTIAL[wire](credential));
    const text = sent()?.rawHeaders.join('\n');
    expect(text).not.toMatch(/x-gateway|x-stainless|unused/i);
    expect(text).not.toContain(stage.gateway.key);
    expect(text).not.toContain(OTHER_KEY);
    expect(stage.upstream[wire].json(-1)['model']).toBe(setup().model === undefined ? 'm' : 'small');
  });

  it('names a model with a slash in its name', async () => {
    answered();
    await ask(sdk, { model: `@my-${wire}/maker/large` });
    expect(stage.upstream[wire].json(-1)['model']).toBe('maker/large');
  });

  it('is told PermissionDeniedError for a model that is not listed', async () => {
    const failure = await failureOf(sdk, { model: `@my-${wire}/retired` });
    expect(failure).toBeInstanceOf(ERRORS[sdk].PermissionDeniedError);
    expect((failure as Error).message).toContain('retired');
  });

  it('knows its request by an id, answered or refused', async () => {
    answered();
    const { data, request_id: requestId } = await ask(sdk, { headers: { 'x-gateway-config': wire } });
    expect(requestId).toMatch(/^req_/);
    expect(data).toHaveProperty('_request_id', requestId);
    const refused = await failureOf(sdk, { headers: { 'x-gateway-config': wire }, model: '' });
    expect(refused).toMatchObject({ status: 400, requestID: expect.stringMatching(/^req_/) });
    stage.upstream[wire].answer(json(500, { error: { message: 'No.', type: 'api_error' } }));
    const failed = await failureOf(sdk, { headers: { 'x-gateway-config': wire } });
    expect(failed).toMatchObject({ status: 500, requestID: expect.stringMatching(/^req_/) });
  });

  it('is told the id of the provider where its dialect has one, else the gateway’s', async () => {
    const said = wire === 'openai' ? openAiChat() : anthropicMessage();
    stage.upstream[wire].answer(json(200, said, { 'request-id': 'req_of_theirs', 'x-request-id': 'req_x_of_theirs' }));
    const { request_id: requestId, response } = await ask(sdk, { headers: { 'x-gateway-config': wire } });
    const own = response.headers.get('x-request-id');
    expect(own).not.toContain('theirs');
    expect(requestId).toBe(sdk === 'openai' ? own : 'req_of_theirs');
  });

  it('finds its trace again', async () => {
    answered();
    const headers = { 'x-gateway-config': wire, 'x-gateway-trace-id': `job 7 of ${sdk}` };
    const { response } = await ask(sdk, { headers });
    expect(response.headers.get('x-gateway-trace-id')).toBe(`job 7 of ${sdk}`);
  });
});

describe.each(SDKS)('a client of the %s SDK', (sdk) => {
  const REFUSED: readonly (readonly [
    what: string,
    setup: Setup,
    errorClass: 'BadRequestError' | 'AuthenticationError',
  ])[] = [
    ['a wrong key', { key: 'no-key-of-ours' }, 'AuthenticationError'],
    ['a wrong key as bearer', { authToken: 'no-key-of-ours' }, 'AuthenticationError'],
    ['a config that does not exist', { headers: { 'x-gateway-config': 'nowhere' } }, 'BadRequestError'],
    ['a config that is no JSON', { headers: { 'x-gateway-config': '{"targets":' } }, 'BadRequestError'],
    ['an Integration that does not exist', { model: '@nobody/m' }, 'BadRequestError'],
    ['no word of where to go', {}, 'BadRequestError'],
    [
      'metadata that is no JSON',
      { headers: { 'x-gateway-config': 'openai', 'x-gateway-metadata': 'x' } },
      'BadRequestError',
    ],
    [
      'a config beside a key that is bound',
      { key: BOUND_KEY, headers: { 'x-gateway-config': 'anthropic' } },
      'BadRequestError',
    ],
  ];
  it.each(REFUSED)('with %s is refused, and nobody upstream asked', async (_what, setup, errorClass) => {
    const before = WIRES.map((wire) => stage.upstream[wire].calls.length);
    const failure = await failureOf(sdk, setup);
    expect(failure).toBeInstanceOf(ERRORS[sdk][errorClass]);
    expect((failure as Error).message).not.toMatch(/no-key-of-ours|a-key-that-is-bound/);
    expect(WIRES.map((wire) => stage.upstream[wire].calls.length)).toEqual(before);
  });

  it('with a key that is bound needs no config of its own', async () => {
    stage.upstream.openai.answer(saying('openai', TEXT, false));
    expect((await ask(sdk, { key: BOUND_KEY })).data.model).toBe('gpt-test');
  });
});

it.each(COMBINATIONS)('a stream of the %s SDK over the wire of %s has an id too', async (sdk, wire) => {
  stage.upstream[wire].answer(saying(wire, TEXT, true));
  const ask = { model: 'm', messages: [HI], stream: true } as const;
  const { data, request_id: requestId } =
    sdk === 'openai'
      ? await stage
          .openai(wire)
          .chat.completions.create({ ...ask, messages: [HI] })
          .withResponse()
      : await stage
          .anthropic(wire)
          .messages.create({ ...ask, messages: [HI], max_tokens: 10 })
          .withResponse();
  let events = 0;
  for await (const _ of data) events += 1;
  expect(events).toBeGreaterThan(1);
  expect(requestId).toMatch(/^req_/);
});

it.each(WIRES)('a client of the anthropic SDK may send its key as x-api-key, as older ones do: %s', async (wire) => {
  stage.upstream[wire].answer(saying(wire, TEXT, false));
  const client = (key: string) =>
    new Anthropic({
      baseURL: stage.gateway.origin,
      apiKey: null,
      authToken: null,
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-config': wire, 'x-api-key': key },
    });
  const ask = { model: 'm', max_tokens: 10, messages: [HI] };
  await client(OTHER_KEY).messages.create(ask);
  expect(stage.upstream[wire].calls.at(-1)?.headers).toMatchObject(CREDENTIAL[wire]('upstream-key'));
  expect(stage.upstream[wire].calls.at(-1)?.rawHeaders.join('\n')).not.toContain(OTHER_KEY);
  await expect(client('no-key-of-ours').messages.create(ask)).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
});

describe('the anthropic SDK where there is nothing', () => {
  it('knows its request by an id too', async () => {
    const client = new Anthropic({ baseURL: stage.gateway.origin, apiKey: stage.gateway.key, maxRetries: 0 });
    const failure = await client.messages.batches.retrieve('none').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Anthropic.NotFoundError);
    expect(failure).toMatchObject({ requestID: expect.stringMatching(/^req_/), type: 'not_found_error' });
  });
});

describe('the openai SDK lists', () => {
  const client = () => new OpenAI({ baseURL: `${stage.gateway.origin}/v1`, apiKey: stage.gateway.key, maxRetries: 0 });
  const IDS = WIRES.flatMap((wire) => [`@my-${wire}/maker/large`, `@my-${wire}/small`]).toSorted();

  it('the models that are enabled', async () => {
    const models = [];
    for await (const model of client().models.list()) models.push(model);
    expect(models.map(({ id }) => id).toSorted()).toEqual(IDS);
    for (const { object: kind, created, id, owned_by: owner } of models) {
      expect([kind, typeof created, id.startsWith(`@my-${owner}/`)]).toEqual(['model', 'number', true]);
    }
  });

  it.each(IDS)('%s by its id', async (id) => {
    expect(await client().models.retrieve(id)).toMatchObject({ id, object: 'model' });
  });

  it.each(['@my-openai/retired', '@my-openai/none', 'none'])('no %s', async (id) => {
    const failure = await client()
      .models.retrieve(id)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.NotFoundError);
    expect(failure).toMatchObject({ code: 'unknown_model', param: 'model' });
  });

  it('nothing to whom it does not know', async () => {
    await expect(client().withOptions({ apiKey: 'no-key-of-ours' }).models.list()).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });
});

/** Our own request headers: what they may hold, and what each does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKey, config, defaultConfig } from '../fakes/objects.ts';
import { chat, hangAfterHeaders, message } from '../fakes/replies.ts';
import { failureOf, HI, HI_MESSAGE, type Stage, startStage, target } from './stage.ts';

let stage: Stage;
const KEY = 'tagged-key-0123456789';
beforeAll(async () => {
  stage = await startStage(2, ([first, second]) => {
    if (first === undefined || second === undefined) throw new Error('two upstreams');
    const conditional = {
      strategy: {
        mode: 'conditional',
        conditions: [
          { query: { 'metadata.tier': { $eq: 'gold' } }, then: 'gold' },
          { query: { 'metadata._user': 'u-7' }, then: 'seven' },
          { query: { 'metadata.n': '5' }, then: 'five' },
          { query: { 'metadata.flag': 'true' }, then: 'flag' },
        ],
        default: 'other',
      },
      targets: ['gold', 'seven', 'five', 'flag', 'other'].map((name) =>
        target(first, { name, override_params: { model: name } }),
      ),
    };
    return [
      defaultConfig('house', target(first)),
      config('by-metadata', conditional),
      config('slow', target(first, { request_timeout: 60_000 })),
      config('quick', target(first, { request_timeout: 50 })),
      config('thinker', target(second, { provider: 'anthropic' })),
      config('open-thinker', target(second, { provider: 'anthropic', strict_vendor_compliance: false })),
      apiKey('tagged', KEY, { defaults: { metadata: { tier: 'gold' } } }),
    ].join('');
  });
});
afterAll(() => stage.close());

const BAD: readonly (readonly [header: string, value: string, why: RegExp])[] = [
  ['x-gateway-request-timeout', '0', /positive integer/],
  ['x-gateway-request-timeout', '-5', /positive integer/],
  ['x-gateway-request-timeout', '1.5', /positive integer/],
  ['x-gateway-request-timeout', 'soon', /positive integer/],
  ['x-gateway-request-timeout', '1e3', /positive integer/],
  ['x-gateway-request-timeout', '99999999999', /positive integer/],
  ['x-gateway-metadata', 'tier=gold', /JSON object/],
  ['x-gateway-metadata', '["gold"]', /JSON object/],
  ['x-gateway-metadata', '"gold"', /JSON object/],
  ['x-gateway-metadata', 'null', /JSON object/],
  ['x-gateway-metadata', '{"tier":{"a":1}}', /"tier"/],
  ['x-gateway-metadata', '{"tier":["a"]}', /"tier"/],
  ['x-gateway-metadata', '{"tier":null}', /"tier"/],
  ['x-gateway-metadata', `{"tier":"${'x'.repeat(129)}"}`, /128/],
  ['x-gateway-metadata', '{"tier":"a\\r\\nb"}', /line ends/],
  ['x-gateway-strict-vendor-compliance', 'yes', /true or false/],
];

describe('a header of ours', () => {
  it.each(BAD)('%s: %s is a 400 that names it', async (header, value, why) => {
    const before = stage.at(0).calls.length;
    const failure = await failureOf(await stage.gateway.chat(HI, { [header]: value }));
    expect(failure).toMatchObject({ status: 400, code: 'invalid_value', param: header });
    expect(failure.message).toContain(header);
    expect(failure.message).toMatch(why);
    expect(stage.at(0).calls.length).toBe(before);
  });

  it('is never sent on, known or not', async () => {
    await stage.gateway.chat(HI, {
      'x-gateway-metadata': '{"a":"b"}',
      'x-gateway-debug': 'false',
      'x-gateway-cache-namespace': 'n',
      'x-gateway-cache-force-refresh': 'true',
      'x-gateway-trace-id': 't-1',
      'x-gateway-invented': 'x',
    });
    expect(JSON.stringify(stage.at(0).calls.at(-1)?.rawHeaders)).not.toContain('x-gateway');
  });
});

describe('metadata', () => {
  const modelFor = async (headers: Record<string, string>, body: object = HI) => {
    const response = await stage.gateway.chat(body, { 'x-gateway-config': 'by-metadata', ...headers });
    expect(response.status).toBe(200);
    return stage.at(0).json(-1)['model'];
  };
  it.each([
    ['a string', '{"tier":"gold"}', 'gold'],
    ['a number as its string', '{"n":5}', 'five'],
    ['a boolean as its string', '{"flag":true}', 'flag'],
    ['128 characters', `{"tier":"${'x'.repeat(128)}"}`, 'other'],
    ['an empty object', '{}', 'other'],
    ['a name of every object', '{"__proto__":"gold","constructor":"gold"}', 'other'],
  ])('may hold %s', async (_what, metadata, model) => {
    expect(await modelFor({ 'x-gateway-metadata': metadata })).toBe(model);
  });

  it('takes the body’s user as _user, unless there is one', async () => {
    expect(await modelFor({}, { ...HI, user: 'u-7' })).toBe('seven');
    const own = { 'x-gateway-metadata': '{"_user":"somebody"}' };
    expect(await modelFor(own, { ...HI, user: 'u-7' })).toBe('other');
    expect(stage.at(0).json(-1)['user']).toBe('u-7');
  });

  it('of the key wins over the request’s', async () => {
    const headers = { 'x-gateway-api-key': KEY, 'x-gateway-metadata': '{"tier":"silver"}' };
    expect(await modelFor(headers)).toBe('gold');
  });
});

describe('x-gateway-request-timeout', () => {
  it.each([
    ['shortens a config’s', 'slow', '50'],
    ['is not needed where the config has one', 'quick', undefined],
  ])('%s', async (_what, name, header) => {
    stage.at(0).answer(hangAfterHeaders);
    const headers = header === undefined ? {} : { 'x-gateway-request-timeout': header };
    const failure = await failureOf(await stage.gateway.chat(HI, { 'x-gateway-config': name, ...headers }));
    expect(failure).toMatchObject({ status: 408, code: 'request_timeout', type: 'timeout_error' });
    stage.at(0).answer(chat());
  });

  it('lengthens a config’s', async () => {
    stage.at(0).answer({
      send: (response, call) => {
        setTimeout(() => chat().send(response, call), 150);
      },
    });
    const headers = { 'x-gateway-config': 'quick', 'x-gateway-request-timeout': '20000' };
    expect((await stage.gateway.chat(HI, headers)).status).toBe(200);
    stage.at(0).answer(chat());
  });
});

describe('strict compliance', () => {
  const ask = async (name: string, headers: Record<string, string> = {}) => {
    stage.at(1).answer(message({ thinking: 'Hm.', text: 'Good day.' }));
    const response = await stage.gateway.chat(HI, { 'x-gateway-config': name, ...headers });
    return JSON.stringify(await response.json());
  };
  const OFF = { 'x-gateway-strict-vendor-compliance': 'false' };
  const ON = { 'x-gateway-strict-vendor-compliance': 'true' };
  it.each([
    ['is on by default', 'thinker', {}, false],
    ['is switched off by the header', 'thinker', OFF, true],
    ['is switched off by the config', 'open-thinker', {}, true],
    ['stays off where either says so', 'open-thinker', ON, true],
  ])('%s', async (_what, name, headers, shown) => {
    const answer = await ask(name, headers);
    expect(answer).toContain('Good day.');
    expect(answer.includes('Hm.')).toBe(shown);
    expect(answer.includes('content_blocks')).toBe(shown);
  });

  it('does not filter thinking on /v1/messages', async () => {
    stage.at(1).answer(message({ thinking: 'Hm.', text: 'Good day.' }));
    const response = await stage.gateway.post('/v1/messages', HI_MESSAGE, { 'x-gateway-config': 'thinker' });
    expect(await response.json()).toMatchObject({ content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text' }] });
  });
});

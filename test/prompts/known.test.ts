/** Which prompt a request was made of is known to limits, logs, metrics, spans, metadata and conditions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverSpan } from '#gateway/telemetry/spans.ts';
import { target } from '../conformance/stage.ts';
import { config, object } from '../fakes/objects.ts';
import { anExchange } from '../gateway/telemetry/settled-exchange.ts';
import { asking, type PromptStage, prompt, startPromptStage } from './stage.ts';

const TWO = ['greet', 'bye']
  .map((name) => prompt(name, asking(`${name} {{name}}`, { model: 'm', virtual_key: 'main' })))
  .join('');

let stage: PromptStage;
beforeAll(async () => {
  stage = await startPromptStage(TWO);
});
afterAll(() => stage.close());

const limit = (condition: object, group: object[] = []) =>
  object('RateLimitPolicy', 'few', {
    type: 'requests',
    unit: 'rph',
    value: 2,
    conditions: [condition],
    group_by: group,
  });
const statusOf = async (name: string) => (await stage.complete(name, { variables: {} })).status;

describe('a limit', () => {
  it('is about the requests of one prompt', async () => {
    stage.become(TWO + limit({ key: 'prompt', value: 'greet' }, [{ key: 'prompt' }]));
    expect([await statusOf('greet'), await statusOf('greet'), await statusOf('greet')]).toEqual([200, 200, 429]);
    expect(await statusOf('bye')).toBe(200);
    const plain = await stage.gateway.chat({ model: '@main/m', messages: [{ role: 'user', content: 'x' }] });
    expect(plain.status).toBe(200);
  });

  it('counts each prompt for itself', async () => {
    stage.become(
      TWO +
        object('RateLimitPolicy', 'each', {
          type: 'requests',
          unit: 'rph',
          value: 1,
          conditions: [{ key: 'workspace_id', value: 'default' }],
          group_by: [{ key: 'prompt' }],
        }),
    );
    expect([await statusOf('greet'), await statusOf('bye'), await statusOf('greet'), await statusOf('bye')]).toEqual([
      200, 200, 429, 429,
    ]);
  });
});

describe('a request that was made of a prompt', () => {
  it('says so in its log line; rendering has one too, without a text of either', async () => {
    stage.become(TWO);
    await stage.complete('greet@latest', { variables: { name: 'CANARY-1' } });
    await stage.render('bye', { variables: { name: 'CANARY-2' } });
    const lines = await stage.gateway.logs();
    const [completed, rendered] = lines.filter(({ msg }) => msg === 'request').slice(-2);
    expect(completed).toMatchObject({
      path: '/v1/prompts/:prompt_id/completions',
      endpoint: 'chatComplete',
      prompt: 'greet',
      prompt_version: 1,
      model: 'm',
      status: 200,
    });
    expect(rendered).toMatchObject({
      path: '/v1/prompts/:prompt_id/render',
      endpoint: 'render',
      prompt: 'bye',
      status: 200,
      attempts: 0,
    });
    expect(JSON.stringify(lines)).not.toContain('CANARY');
  });

  it('says so in its span', () => {
    const use = { namespace: 'default', name: 'greet', uid: undefined, version: 3 };
    const { attributes } = serverSpan(anExchange({ prompt: use }), 1);
    expect(attributes).toMatchObject({ 'modelgateway.prompt': 'greet', 'modelgateway.prompt_version': 3 });
    expect(Object.keys(serverSpan(anExchange(), 1).attributes).join()).not.toContain('prompt');
  });

  it('can be routed by its metadata', async () => {
    const routed = config('routed', {
      strategy: {
        mode: 'conditional',
        default: 'plain',
        conditions: [{ query: { 'metadata._prompt': { $eq: 'greet' } }, then: 'greeter' }],
      },
      targets: [
        { name: 'greeter', ...target(stage.at(0)), override_params: { model: 'for-greet' } },
        { name: 'plain', ...target(stage.at(0)), override_params: { model: 'for-others' } },
      ],
    });
    stage.become(TWO + routed);
    for (const [name, model] of [
      ['greet', 'for-greet'],
      ['bye', 'for-others'],
    ] as const) {
      await stage.complete(name, { variables: {} }, { 'x-gateway-config': 'routed' });
      expect(stage.at(0).json(-1)['model']).toBe(model);
    }
  });

  it('counts in metrics as the endpoint that it became', async () => {
    stage.become(TWO);
    const before = await stage.gateway.metric('modelgateway_requests_total', {
      endpoint: 'chatComplete',
      status: '200',
    });
    await stage.complete('greet', { variables: {} });
    const after = await stage.gateway.metric('modelgateway_requests_total', {
      endpoint: 'chatComplete',
      status: '200',
    });
    expect(after).toBe(before + 1);
  });
});

describe('live edits', () => {
  it('hold for the next request, and a bad one changes nothing', async () => {
    const spec = (text: string) => prompt('live', { string: text });
    stage.become(spec('one {{a}}'));
    expect((await stage.rendered('live', { a: 1 }))['prompt']).toBe('one 1');
    stage.become(spec('two {{a}}'));
    expect((await stage.rendered('live', { a: 1 }))['prompt']).toBe('two 1');
    stage.become(spec('three {{#a}}'), true);
    expect((await stage.rendered('live', { a: 1 }))['prompt']).toBe('two 1');
    expect((await stage.rendered('live@1', { a: 1 }))['prompt']).toBe('one 1');
  });

  it('of a partial hold for all prompts that name it', async () => {
    const prompts = prompt('a', { string: '{{>sign}}!' }) + prompt('b', { string: '{{>sign}}?' });
    for (const sign of ['Ann', 'Ben']) {
      stage.become(prompts + object('PromptPartial', 'sign', { string: sign }));
      expect([(await stage.rendered('a'))['prompt'], (await stage.rendered('b'))['prompt']]).toEqual([
        `${sign}!`,
        `${sign}?`,
      ]);
    }
  });
});

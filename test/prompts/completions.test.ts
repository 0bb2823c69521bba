/** `POST /v1/prompts/{id}/completions`, and a config's `prompt_id`: a filled-in prompt is a request like any other. */
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failureOf } from '../conformance/stage.ts';
import { config, defaultConfig, object } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import { chat, json, pieces } from '../fakes/replies.ts';
import { asking, type PromptStage, prompt, startPromptStage } from './stage.ts';

let stage: PromptStage;
beforeAll(async () => {
  stage = await startPromptStage();
});
beforeEach(() => stage.at(0).answer(chat()));
afterAll(() => stage.close());

const GREET = prompt(
  'greet',
  asking('Hi {{name}}', { model: 'gpt-4o', virtual_key: 'main', parameters: { temperature: 0.5 } }),
);
const filled = (name: string) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: `Hi ${name}` }],
  temperature: 0.5,
});
const last = () => stage.at(0).calls.at(-1);

describe('completions of a prompt', () => {
  it('go where the prompt says, as the body that it renders to', async () => {
    stage.become(GREET);
    const response = await stage.complete('greet', { variables: { name: 'Ann' } });
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ object: 'chat.completion' }),
    ]);
    expect(stage.at(0).json(-1)).toEqual(filled('Ann'));
    expect(last()?.path).toBe('/v1/chat/completions');
    expect(last()?.headers.authorization).toBe('Bearer sk-main');
    expect(response.headers.get('x-gateway-provider')).toBe('openai');
  });

  it('of a text prompt are text completions', async () => {
    const completion = {
      id: 'c',
      object: 'text_completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, text: 'so', finish_reason: 'stop', logprobs: null }],
    };
    stage.at(0).answer(json(200, completion));
    stage.become(
      prompt('tale', {
        string: 'Once {{upon}}',
        model: 'm',
        provider: '@main',
        parameters: { max_tokens: '{{most}}' },
      }),
    );
    const response = await stage.complete('tale', { variables: { upon: 'a time', most: 5 } });
    expect([response.status, await response.json()]).toEqual([200, completion]);
    expect(last()?.path).toBe('/v1/completions');
    expect(stage.at(0).json(-1)).toEqual({ model: 'm', prompt: 'Once a time', max_tokens: 5 });
  });

  it('stream as chat does, to the official SDK, whole and streamed', async () => {
    stage.become(GREET);
    const client = new OpenAI({ baseURL: `${stage.gateway.origin}/v1`, apiKey: stage.gateway.key, maxRetries: 0 });
    const path = '/prompts/greet/completions';
    const body = { variables: { name: 'Ann' } };
    stage.at(0).answer(json(200, openAiChat({ text: 'Hello Ann' })));
    const whole = await client.post<OpenAI.ChatCompletion>(path, { body });
    expect(whole).toMatchObject({ choices: [{ message: { content: 'Hello Ann' } }] });

    stage.at(0).answer(pieces(openAiEvents({ text: 'Hello Ann' })));
    const stream = await client.post<AsyncIterable<OpenAI.ChatCompletionChunk>>(path, {
      body: { ...body, stream: true },
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello Ann');
    expect(stage.at(0).json(-1)).toMatchObject({ ...filled('Ann'), stream: true });
  });

  it('end with [DONE], or with the error of a stream that was cut', async () => {
    stage.become(GREET);
    stage.at(0).answer(pieces(openAiEvents({ text: 'x' })));
    const body = { variables: { name: 'Ann' }, stream: true };
    expect(await (await stage.complete('greet', body)).text()).toMatch(/data: \[DONE\]\n\n$/);
    stage.at(0).answer(pieces(openAiEvents({ text: 'x' }).slice(0, 2), { ending: 'reset' }));
    const cut = await (await stage.complete('greet', body)).text();
    expect(cut).not.toContain('[DONE]');
    expect(cut).toContain('upstream_cut');
  });

  it.each<[root: object, sent: object]>([
    [{ model: 'other' }, { model: 'other' }],
    [{ temperature: 0 }, { temperature: 0 }],
    [
      { max_completion_tokens: 7, seed: 1 },
      { max_completion_tokens: 7, seed: 1 },
    ],
    [{ messages: [{ role: 'user', content: 'mine' }] }, { messages: [{ role: 'user', content: 'mine' }] }],
  ])('take what the root says: %j', async (root, sent) => {
    stage.become(GREET);
    expect((await stage.complete('greet', { variables: { name: 'Ann' }, ...root })).status).toBe(200);
    expect(stage.at(0).json(-1)).toEqual({ ...filled('Ann'), ...sent });
  });

  it('are bounded as every request is, once they are filled in', async () => {
    stage.become(prompt('hot', asking('x', { virtual_key: 'main', parameters: { temperature: '{{heat}}' } })));
    expect((await stage.complete('hot', { variables: { heat: 2 }, model: 'm' })).status).toBe(200);
    const failure = await failureOf(await stage.complete('hot', { variables: { heat: 3 }, model: 'm' }));
    expect(failure).toMatchObject({ status: 400, code: 'invalid_value', param: 'temperature' });
  });

  it('need somebody to go to', async () => {
    stage.become(prompt('lost', asking('x', { model: 'm' })));
    expect(await failureOf(await stage.complete('lost', { variables: {} }))).toMatchObject({
      status: 400,
      code: 'no_provider',
    });
    const named = await stage.complete('lost', { variables: {} }, { 'x-gateway-virtual-key': 'main' });
    expect(named.status).toBe(200);
    expect((await stage.complete('lost', { variables: {}, model: '@main/m' })).status).toBe(200);
    expect(stage.at(0).json(-1)).toMatchObject({ model: 'm' });
  });

  it('answer failures with status and envelope of chat', async () => {
    stage.become(GREET);
    stage.at(0).answer(json(418, { error: { message: 'teapot', type: 'odd', code: 'tea' } }));
    const failure = await failureOf(await stage.complete('greet', { variables: { name: 'Ann' } }));
    expect(failure).toMatchObject({ status: 418, code: 'tea', message: 'teapot' });
    expect(await failureOf(await stage.complete('nobody', { variables: {} }))).toMatchObject({
      status: 404,
      code: 'unknown_prompt',
    });
  });
});

describe('who answers', () => {
  const other = (stage: PromptStage) => ({
    provider: 'openai',
    api_key: 'sk-other',
    custom_host: `${stage.at(0).origin}/v1`,
  });

  it("is a config of the request before the prompt; the model stays the prompt's", async () => {
    stage.become(GREET + config('elsewhere', other(stage)));
    await stage.complete('greet', { variables: { name: 'Ann' } }, { 'x-gateway-config': 'elsewhere' });
    expect(last()?.headers.authorization).toBe('Bearer sk-other');
    expect(stage.at(0).json(-1)).toEqual(filled('Ann'));
  });

  it("is the workspace's default config before the prompt", async () => {
    stage.become(GREET + defaultConfig('usual', other(stage)));
    await stage.complete('greet', { variables: { name: 'Ann' } });
    expect(last()?.headers.authorization).toBe('Bearer sk-other');
  });

  it('is the prompt where a config leaves it open', async () => {
    stage.become(GREET + config('retrying', { retry: { attempts: 1, on_status_codes: [500] } }));
    stage.at(0).answer([json(500, {}), chat()]);
    const response = await stage.complete('greet', { variables: { name: 'Ann' } }, { 'x-gateway-config': 'retrying' });
    expect([response.status, last()?.headers.authorization]).toEqual([200, 'Bearer sk-main']);
    expect(response.headers.get('x-gateway-retry-attempt-count')).toBe('1');
  });

  it("is an Integration of the prompt's own workspace where the prompt is shared", async () => {
    const { origin } = stage.at(0);
    const annotations = { 'modelgateway.dev/allowed-workspaces': '*' };
    const home = { namespace: 'model-gateway' };
    const shared =
      object('Prompt', 'ours', asking('x', { model: 'm', virtual_key: 'secretly' }), { ...home, annotations }) +
      object('Integration', 'secretly', { provider: 'simulator' }, home);
    stage.become(shared);
    const response = await stage.complete('ours', { variables: {} });
    expect([response.status, response.headers.get('x-gateway-provider')]).toEqual([200, 'simulator']);
    expect(await failureOf(await stage.gateway.chat({ ...asking('x'), model: '@secretly/m' }))).toMatchObject({
      code: 'unknown_slug',
    });
    expect(origin).toContain('127.0.0.1');
  });
});

describe('prompt_id in a config', () => {
  const via = (name: string) => ({ 'x-gateway-config': name });
  const target = () => ({ provider: 'openai', api_key: 'k', custom_host: `${stage.at(0).origin}/v1` });

  it('fills in chat completions: variables may be left out, the root of the body wins', async () => {
    stage.become(GREET + config('bound', { ...target(), prompt_id: 'greet@1' }));
    expect((await stage.gateway.chat({ variables: { name: 'Ann' } }, via('bound'))).status).toBe(200);
    expect(stage.at(0).json(-1)).toEqual(filled('Ann'));
    await stage.gateway.chat({ model: 'x' }, via('bound'));
    expect(stage.at(0).json(-1)).toEqual({ ...filled(''), model: 'x' });
    const messages = [{ role: 'user', content: 'mine' }];
    await stage.gateway.chat({ messages }, via('bound'));
    expect(stage.at(0).json(-1)).toEqual({ ...filled(''), messages });
  });

  it('serves the SDK, streamed', async () => {
    stage.become(GREET + config('bound', { ...target(), prompt_id: 'greet' }));
    const defaultHeaders = via('bound');
    const client = new OpenAI({
      baseURL: `${stage.gateway.origin}/v1`,
      apiKey: stage.gateway.key,
      maxRetries: 0,
      defaultHeaders,
    });
    stage.at(0).answer(pieces(openAiEvents({ text: 'Hello' })));
    const asked = { variables: { name: 'Ann' } } as unknown as OpenAI.ChatCompletionCreateParamsStreaming;
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello');
  });

  it("of an inline config is looked for in the caller's workspace", async () => {
    stage.become(GREET);
    const inline = JSON.stringify({ ...target(), prompt_id: 'greet' });
    const listed = await stage.gateway.chat({ variables: { name: 'A' } }, { 'x-gateway-config': inline });
    expect(await failureOf(listed)).toMatchObject({ status: 400, code: 'override_not_allowed' });
    const direct = JSON.stringify({ prompt_id: 'greet' });
    expect((await stage.gateway.chat({ variables: { name: 'A' } }, { 'x-gateway-config': direct })).status).toBe(200);
    expect(last()?.headers.authorization).toBe('Bearer sk-main');
  });

  it('that is of the other form is refused, and has no effect on embeddings', async () => {
    stage.become(prompt('tale', { string: 'Once' }) + config('bound', { ...target(), prompt_id: 'tale' }));
    const failure = await failureOf(await stage.gateway.chat({ variables: {} }, via('bound')));
    expect(failure).toMatchObject({ status: 400, code: 'invalid_value', param: 'prompt_id' });
    expect(failure.message).toContain('/v1/completions');
    const list = { object: 'list', data: [], model: 'm', usage: { prompt_tokens: 1, total_tokens: 1 } };
    stage.at(0).answer(json(200, list));
    const embedded = await stage.gateway.post('/v1/embeddings', { model: 'm', input: 'x' }, via('bound'));
    expect([embedded.status, await embedded.json()]).toEqual([200, list]);
  });

  it('that is not there is 404', async () => {
    stage.become(config('bound', { ...target(), prompt_id: 'nobody' }), true);
    expect(await failureOf(await stage.gateway.chat({ variables: {} }, via('bound')))).toMatchObject({
      status: 404,
      code: 'unknown_prompt',
    });
  });
});

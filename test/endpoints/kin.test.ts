/** Each provider that speaks OpenAI's dialect: where it is, how it is asked, what it lacks. Written from their public documentation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROVIDERS } from '#gateway/providers/registry.ts';
import { failureOf, type Stage, startStage } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';

type Operation = 'chat' | 'complete' | 'embed';
const ALL: readonly Operation[] = ['chat', 'complete', 'embed'];

const KIN: readonly (readonly [name: string, baseUrl: string | undefined, operations: readonly Operation[]])[] = [
  ['openai', 'https://api.openai.com/v1', ALL],
  ['baseten', 'https://inference.baseten.co/v1', ['chat']],
  ['cerebras', 'https://api.cerebras.ai/v1', ['chat', 'complete']],
  ['dashscope', 'https://dashscope.aliyuncs.com/compatible-mode/v1', ['chat', 'embed']],
  ['deepinfra', 'https://api.deepinfra.com/v1/openai', ALL],
  ['deepseek', 'https://api.deepseek.com/v1', ['chat']],
  ['fireworks-ai', 'https://api.fireworks.ai/inference/v1', ALL],
  ['github', 'https://models.github.ai/inference', ['chat', 'embed']],
  ['groq', 'https://api.groq.com/openai/v1', ['chat']],
  ['huggingface', 'https://router.huggingface.co/v1', ['chat']],
  ['hyperbolic', 'https://api.hyperbolic.xyz/v1', ['chat', 'complete']],
  ['mistral-ai', 'https://api.mistral.ai/v1', ['chat', 'embed']],
  ['moonshot', 'https://api.moonshot.ai/v1', ['chat']],
  ['novita-ai', 'https://api.novita.ai/openai/v1', ALL],
  ['nvidia', 'https://integrate.api.nvidia.com/v1', ALL],
  ['openrouter', 'https://openrouter.ai/api/v1', ALL],
  ['perplexity-ai', 'https://api.perplexity.ai', ['chat']],
  ['sambanova', 'https://api.sambanova.ai/v1', ['chat', 'embed']],
  ['siliconflow', 'https://api.siliconflow.com/v1', ['chat', 'embed']],
  ['together-ai', 'https://api.together.xyz/v1', ALL],
  ['upstage', 'https://api.upstage.ai/v1', ['chat', 'embed']],
  ['x-ai', 'https://api.x.ai/v1', ['chat', 'complete']],
  ['zhipu', 'https://open.bigmodel.cn/api/paas/v4', ['chat', 'embed']],
  ['lmstudio', 'http://localhost:1234/v1', ALL],
  ['ollama', 'http://localhost:11434/v1', ALL],
  ['vllm', undefined, ALL],
  ['openai-compatible', undefined, ALL],
];

const REQUESTS: Readonly<Record<Operation, readonly [path: string, upstreamPath: string, body: object]>> = {
  chat: ['/v1/chat/completions', '/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }],
  complete: ['/v1/completions', '/completions', { model: 'm', prompt: 'Hi' }],
  embed: ['/v1/embeddings', '/embeddings', { model: 'm', input: 'Hi' }],
};

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) =>
    KIN.map(([name]) =>
      config(name, {
        provider: name,
        api_key: `key-of-${name}`,
        custom_host: `${(upstream as Upstream).origin}/base/of/${name}`,
      }),
    ).join(''),
  );
});
afterAll(() => stage.close());

describe('the kin of OpenAI', () => {
  it('is all here, and nobody besides', () => {
    const others = ['anthropic', 'simulator'];
    expect([...PROVIDERS.keys()].toSorted()).toEqual([...KIN.map(([name]) => name), ...others].toSorted());
  });

  it.each(KIN)('%s is at %s', (name, baseUrl) => {
    expect(PROVIDERS.get(name)?.baseUrl).toBe(baseUrl);
  });
});

describe.each(KIN)('%s', (name, _baseUrl, operations) => {
  it.each(ALL)('%s', async (operation) => {
    const [path, upstreamPath, body] = REQUESTS[operation];
    const response = await stage.gateway.post(path, body, { 'x-gateway-config': name });
    if (!operations.includes(operation)) {
      expect(await failureOf(response)).toMatchObject({ status: 501, code: 'unsupported_operation' });
      return;
    }
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-provider')).toBe(name);
    const call = stage.at(0).calls.at(-1);
    expect(call?.path).toBe(`/base/of/${name}${upstreamPath}`);
    expect(call?.headers.authorization).toBe(`Bearer key-of-${name}`);
    expect(call?.body).toBe(JSON.stringify(body));
  });

  it('asks for a stream’s usage only where it wants to be asked', async () => {
    await (await stage.gateway.chat({ ...REQUESTS.chat[2], stream: true }, { 'x-gateway-config': name })).text();
    const asks = !['mistral-ai', 'perplexity-ai'].includes(name);
    expect(stage.at(0).json(-1)['stream_options']).toEqual(asks ? { include_usage: true } : undefined);
  });

  it('lacks counting of tokens', async () => {
    const response = await stage.gateway.post('/v1/messages/count_tokens', REQUESTS.chat[2], {
      'x-gateway-config': name,
    });
    expect(response.status).toBe(501);
  });
});

describe('openai', () => {
  it('takes organisation and project as headers', async () => {
    const spec = {
      provider: 'openai',
      api_key: 'k',
      vendor_organization: 'org-1',
      vendor_project: 'proj-1',
      custom_host: `${stage.at(0).origin}/v1`,
    };
    stage.gateway.apply(stage.manifests + config('organised', spec));
    await stage.gateway.chat(REQUESTS.chat[2], { 'x-gateway-config': 'organised' });
    expect(stage.at(0).calls.at(-1)?.headers).toMatchObject({
      'openai-organization': 'org-1',
      'openai-project': 'proj-1',
    });
  });
});

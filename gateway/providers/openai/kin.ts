/** Providers whose public API is OpenAI's wire format. A new one is a row here, and nothing else. */
import type { Credentials, Provider } from '../provider.ts';
import { OPENAI_MODELS } from './models.ts';
import { bearer, openAiCompatible } from './provider.ts';

const OPENAI_HEADERS = [
  ['openai-organization', 'vendor_organization'],
  ['openai-project', 'vendor_project'],
] as const;

function authorizeOpenAi(credentials: Credentials): readonly string[] {
  const headers = [...bearer(credentials)];
  for (const [header, field] of OPENAI_HEADERS) {
    const value = credentials[field];
    if (typeof value === 'string' && value !== '') headers.push(header, value);
  }
  return headers;
}

/** Usage comes in the last chunk by itself, and `stream_options` may be refused as an unknown field. */
const tellsUsage = { streamUsageOnRequest: false } as const;
/** A server of the user's own: a key is sent where one is given. */
const local = { needsCredential: false } as const;

export const OPENAI_KIN: readonly Provider[] = [
  openAiCompatible({
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    authorize: authorizeOpenAi,
    models: OPENAI_MODELS,
  }),
  openAiCompatible({ name: 'baseten', baseUrl: 'https://inference.baseten.co/v1', operations: ['chat'] }),
  openAiCompatible({ name: 'cerebras', baseUrl: 'https://api.cerebras.ai/v1', operations: ['chat', 'complete'] }),
  openAiCompatible({
    name: 'dashscope',
    baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    operations: ['chat', 'embed'],
  }),
  openAiCompatible({ name: 'deepinfra', baseUrl: 'https://api.deepinfra.com/v1/openai' }),
  openAiCompatible({ name: 'deepseek', baseUrl: 'https://api.deepseek.com/v1', operations: ['chat'] }),
  openAiCompatible({ name: 'fireworks-ai', baseUrl: 'https://api.fireworks.ai/inference/v1' }),
  openAiCompatible({ name: 'github', baseUrl: 'https://models.github.ai/inference', operations: ['chat', 'embed'] }),
  openAiCompatible({ name: 'groq', baseUrl: 'https://api.groq.com/openai/v1', operations: ['chat'] }),
  openAiCompatible({ name: 'huggingface', baseUrl: 'https://router.huggingface.co/v1', operations: ['chat'] }),
  openAiCompatible({ name: 'hyperbolic', baseUrl: 'https://api.hyperbolic.xyz/v1', operations: ['chat', 'complete'] }),
  openAiCompatible({
    name: 'mistral-ai',
    baseUrl: 'https://api.mistral.ai/v1',
    operations: ['chat', 'embed'],
    ...tellsUsage,
  }),
  openAiCompatible({ name: 'moonshot', baseUrl: 'https://api.moonshot.ai/v1', operations: ['chat'] }),
  openAiCompatible({ name: 'novita-ai', baseUrl: 'https://api.novita.ai/openai/v1' }),
  openAiCompatible({ name: 'nvidia', baseUrl: 'https://integrate.api.nvidia.com/v1' }),
  openAiCompatible({ name: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1' }),
  openAiCompatible({
    name: 'perplexity-ai',
    baseUrl: 'https://api.perplexity.ai',
    operations: ['chat'],
    ...tellsUsage,
  }),
  openAiCompatible({ name: 'sambanova', baseUrl: 'https://api.sambanova.ai/v1', operations: ['chat', 'embed'] }),
  openAiCompatible({ name: 'siliconflow', baseUrl: 'https://api.siliconflow.com/v1', operations: ['chat', 'embed'] }),
  openAiCompatible({ name: 'together-ai', baseUrl: 'https://api.together.xyz/v1' }),
  openAiCompatible({ name: 'upstage', baseUrl: 'https://api.upstage.ai/v1', operations: ['chat', 'embed'] }),
  openAiCompatible({ name: 'x-ai', baseUrl: 'https://api.x.ai/v1', operations: ['chat', 'complete'] }),
  openAiCompatible({ name: 'zhipu', baseUrl: 'https://open.bigmodel.cn/api/paas/v4', operations: ['chat', 'embed'] }),

  openAiCompatible({ name: 'lmstudio', baseUrl: 'http://localhost:1234/v1', ...local }),
  openAiCompatible({ name: 'ollama', baseUrl: 'http://localhost:11434/v1', ...local }),
  openAiCompatible({ name: 'vllm', baseUrl: undefined, ...local }),
  openAiCompatible({ name: 'openai-compatible', baseUrl: undefined, ...local }),
];

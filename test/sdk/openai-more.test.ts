/** The rest of what the official OpenAI SDK is used for: text completions, embeddings, models, and how it says who calls. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAiCompletion, openAiCompletionChunks, openAiEmbedding, openAiEvent } from '../fakes/openai-wire.ts';
import { chat, json, message, pieces } from '../fakes/replies.ts';
import { type Stage, startStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const HI = [{ role: 'user' as const, content: 'Hi' }];

describe('openai SDK', () => {
  it('completes text', async () => {
    stage.upstream.openai.answer(json(200, openAiCompletion({ text: 'upon a time' })));
    const answer = await stage.openai('openai').completions.create({ model: 'm', prompt: 'Once', max_tokens: 5 });
    expect(answer.choices[0]?.text).toBe('upon a time');
    expect(stage.upstream.openai.calls.at(-1)?.path).toBe('/v1/completions');
    expect(stage.upstream.openai.json(-1)).toEqual({ model: 'm', prompt: 'Once', max_tokens: 5 });
  });

  it('streams text', async () => {
    const events = [...openAiCompletionChunks({ text: 'upon a time' }).map(openAiEvent), openAiEvent('[DONE]')];
    stage.upstream.openai.answer(pieces(events));
    let text = '';
    const stream = await stage.openai('openai').completions.create({ model: 'm', prompt: 'Once', stream: true });
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    expect(text).toBe('upon a time');
  });

  it('embeds', async () => {
    stage.upstream.openai.answer(
      json(
        200,
        openAiEmbedding([
          [0.5, 0.25],
          [1, 0],
        ]),
      ),
    );
    const input = ['one', 'two'];
    const answer = await stage.openai('openai').embeddings.create({ model: 'm', input, encoding_format: 'float' });
    expect(answer.data.map(({ embedding }) => embedding)).toEqual([
      [0.5, 0.25],
      [1, 0],
    ]);
    expect(stage.upstream.openai.calls.at(-1)?.path).toBe('/v1/embeddings');
  });

  it('embeds in base64, which the SDK asks for by itself', async () => {
    const vector = Buffer.from(new Float32Array([0.5, -2, 0.25]).buffer).toString('base64');
    const data = [{ object: 'embedding', index: 0, embedding: vector }];
    stage.upstream.openai.answer(
      json(200, { object: 'list', model: 'm', data, usage: { prompt_tokens: 1, total_tokens: 1 } }),
    );
    const answer = await stage.openai('openai').embeddings.create({ model: 'm', input: 'one', dimensions: 3 });
    expect(answer.data[0]?.embedding).toEqual([0.5, -2, 0.25]);
    expect(stage.upstream.openai.json(-1)).toEqual({
      model: 'm',
      input: 'one',
      dimensions: 3,
      encoding_format: 'base64',
    });
  });

  it.each(['completions', 'embeddings'] as const)('is told where a provider has no %s', async (what) => {
    const client = stage.openai('anthropic');
    const asked =
      what === 'completions'
        ? client.completions.create({ model: 'm', prompt: 'Once' })
        : client.embeddings.create({ model: 'm', input: 'one' });
    await expect(asked).rejects.toMatchObject({ status: 501, code: 'unsupported_operation' });
  });

  it('takes the key as bearer or in its own header, and never sends it on', async () => {
    stage.upstream.openai.answer(chat());
    const baseURL = `${stage.gateway.origin}/v1`;
    const headers = { 'x-gateway-config': 'openai' };
    const asBearer = new OpenAI({ baseURL, apiKey: stage.gateway.key, maxRetries: 0, defaultHeaders: headers });
    const inHeader = new OpenAI({
      baseURL,
      apiKey: 'unused',
      maxRetries: 0,
      defaultHeaders: { ...headers, 'x-gateway-api-key': stage.gateway.key },
    });
    for (const client of [asBearer, inHeader]) {
      await client.chat.completions.create({ model: 'm', messages: HI });
      const { rawHeaders } = stage.upstream.openai.calls.at(-1) ?? { rawHeaders: [] };
      expect(rawHeaders).toContain('Bearer upstream-key');
      expect(rawHeaders.join('\n')).not.toContain(stage.gateway.key);
      expect(rawHeaders.join('\n')).not.toMatch(/x-gateway|x-stainless|unused/i);
    }
  });

  it('reads the headers of an answer', async () => {
    stage.upstream.anthropic.answer(message());
    const asked = stage.openai('anthropic').chat.completions.create({ model: 'm', messages: HI });
    const { response, request_id: requestId } = await asked.withResponse();
    expect(response.headers.get('x-gateway-provider')).toBe('anthropic');
    expect(response.headers.get('x-gateway-last-used-option-index')).toBe('config');
    expect(response.headers.get('x-gateway-retry-attempt-count')).toBe('0');
    expect(requestId).toMatch(/^req_/);
  });

  it('tries again by itself where the gateway says that it may', async () => {
    stage.upstream.openai.answer([json(503, { error: { message: 'busy' } }, { 'retry-after-ms': '1' }), chat()]);
    const before = stage.upstream.openai.calls.length;
    const client = stage.openai('openai').withOptions({ maxRetries: 1 });
    await client.chat.completions.create({ model: 'm', messages: HI });
    expect(stage.upstream.openai.calls.length - before).toBe(2);
  });
});

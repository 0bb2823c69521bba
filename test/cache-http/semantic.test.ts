/** Requests that mean the same, as an embedding model says. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAiEmbedding } from '../fakes/openai-wire.ts';
import { after, hangBeforeHeaders, json, problem, type Reply } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { type CacheStage, numbered, question, startCacheStage, streamed, toldBy } from './stage.ts';

let stage: CacheStage;
let model: Upstream;
const SEMANTIC = { cache: { mode: 'semantic' } };

/** Texts that begin alike mean the same. */
function meaningOf(text: string): number[] {
  const [first = ''] = text.split(' ');
  const angle = [...first].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  return [Math.cos(angle), Math.sin(angle), 0.01 * (text.length % 3)];
}

function embedding(body: string): Reply {
  const { input } = JSON.parse(body) as { input: string };
  return json(200, openAiEmbedding([meaningOf(input)]));
}

function manifests(origin: string): string {
  return `
apiVersion: v1
kind: Secret
metadata: {name: embedder, namespace: model-gateway}
stringData: {key: embedding-key}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Integration
metadata: {name: embedder, namespace: model-gateway}
spec:
  provider: openai
  secret_mappings: [{target_field: api_key, secret_name: embedder, secret_key: key}]
  configurations: {custom_host: "${origin}/v1"}
`;
}

beforeAll(async () => {
  model = await startUpstream(problem(500));
  stage = await startCacheStage({
    manifests: manifests(model.origin),
    cache: { embedding: { slug: 'embedder', model: 'e-3' } },
  });
});
beforeEach(() => model.answer(({ body }) => embedding(body)));
afterAll(async () => {
  await stage.close();
  await model.close();
});

let words = 0;
/** One that nobody has asked yet, in many words. */
function newWord(): string {
  words += 1;
  return `${'abcdefghij'[words % 10]}${words}`;
}

function ask(text: string, more: object = {}, headers: Record<string, string> = {}) {
  return stage.ask({ ...question(text), ...more }, headers, SEMANTIC);
}

describe('a semantic cache', () => {
  it('answers what means the same, and says so', async () => {
    const word = newWord();
    const first = await toldBy(ask(`${word} is what?`));
    expect(first.cache).toBe('SEMANTIC MISS');
    expect(await toldBy(ask(`${word}, what is that?`.replace(',', ' ')))).toEqual({ ...first, cache: 'SEMANTIC HIT' });
    expect(await toldBy(ask(`${word} is what?`))).toEqual({ ...first, cache: 'HIT' });
  });

  it('asks the model of the installation, with its own credential', async () => {
    const word = newWord();
    await toldBy(ask(`${word} is what?`));
    expect(model.json(-1)).toEqual({ model: 'e-3', input: `${word} is what?` });
    expect(model.calls.at(-1)).toMatchObject({
      path: '/v1/embeddings',
      headers: { authorization: 'Bearer embedding-key' },
    });
  });

  it('gives it as a stream to who asks for one', async () => {
    const word = newWord();
    const first = await toldBy(ask(`${word} is what?`));
    expect(await streamed(ask(`${word} what is it?`, { stream: true }))).toMatchObject({
      cache: 'SEMANTIC HIT',
      done: true,
      text: first.text,
    });
  });

  it.each([
    ['another temperature', { temperature: 0.3 }, {}],
    ['another model', { model: 'other' }, {}],
    ['another namespace', {}, { 'x-gateway-cache-namespace': 'elsewhere' }],
    ['another workspace', {}, { 'x-gateway-api-key': 'other-tenant-key-0123456789' }],
  ])('does not, where it comes with %s', async (_what, more, headers) => {
    const word = newWord();
    await toldBy(ask(`${word} is what?`));
    expect((await toldBy(ask(`${word} what is it?`, more, headers as Record<string, string>))).cache).toBe(
      'SEMANTIC MISS',
    );
  });

  it('compares short conversations alone', async () => {
    const messages = ['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content: `${newWord()} ${content}` }));
    const calls = model.calls.length;
    expect((await toldBy(stage.ask({ model: 'm', messages }, {}, SEMANTIC))).cache).toBe('MISS');
    expect(model.calls.length).toBe(calls);
  });

  it.each([
    ['fails', problem(500)],
    ['says nothing of use', json(200, { data: [] })],
    ['sends no vector', json(200, { data: [{ embedding: 'AAAA' }] })],
  ])('is as simple where the model %s', async (_how, reply) => {
    model.answer(reply);
    const faults = await stage.gateway.metric('modelgateway_cache_faults_total', { of: 'embedding' });
    const word = newWord();
    expect(await toldBy(ask(`${word} is what?`))).toMatchObject({ status: 200, cache: 'MISS' });
    expect((await toldBy(ask(`${word} is what?`))).cache).toBe('HIT');
    expect(await stage.gateway.metric('modelgateway_cache_faults_total', { of: 'embedding' })).toBe(faults + 1);
  });

  it('waits no longer than two seconds for the model', async () => {
    model.answer(hangBeforeHeaders);
    const beganAt = performance.now();
    expect(await toldBy(ask(`${newWord()} is what?`))).toMatchObject({ status: 200, cache: 'MISS' });
    expect(performance.now() - beganAt).toBeGreaterThan(1_900);
  });

  it('asks the model once for equal requests at once', async () => {
    model.answer(({ body }) => after(100, embedding(body)));
    const calls = model.calls.length;
    const asked = `${newWord()} is what?`;
    const told = await Promise.all(Array.from({ length: 5 }, () => toldBy(ask(asked))));
    expect(new Set(told.map(({ text }) => text)).size).toBe(1);
    expect(model.calls.length).toBe(calls + 1);
  });

  it('asks nobody where the mode is simple', async () => {
    const calls = model.calls.length;
    stage.upstream.answer(numbered());
    await toldBy(stage.ask(question(`${newWord()} is what?`)));
    expect(model.calls.length).toBe(calls);
  });
});

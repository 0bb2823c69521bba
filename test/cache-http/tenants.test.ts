/** No sequence of requests of one tenant changes an answer of another. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAiChat, openAiEmbedding } from '../fakes/openai-wire.ts';
import { chatStream, json } from '../fakes/replies.ts';
import type { Call } from '../fakes/upstream.ts';
import { type CacheStage, question, startCacheStage, streamed, toldBy } from './stage.ts';

let stage: CacheStage;
let calls = 0;

beforeAll(async () => {
  stage = await startCacheStage((upstream) => ({
    manifests: embedder(upstream.origin),
    cache: { embedding: { slug: 'embedder', model: 'e' } },
  }));
});
afterAll(() => stage.close());

function embedder(origin: string): string {
  return `
apiVersion: v1
kind: Secret
metadata: {name: embedder, namespace: model-gateway}
stringData: {key: k}
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

/** Everything means the same. */
function answered(call: Call) {
  if (call.path.endsWith('/embeddings')) return json(200, openAiEmbedding([[1, 0]]));
  calls += 1;
  const text = `call ${calls}`;
  return call.body.includes('"stream":true') ? chatStream({ text }) : json(200, openAiChat({ text }));
}

const request = fc.record({
  tenant: fc.constantFrom('a', 'b'),
  about: fc.integer({ min: 0, max: 1 }),
  stream: fc.boolean(),
  refresh: fc.boolean(),
  mode: fc.constantFrom('simple', 'semantic'),
  namespace: fc.constantFrom(undefined, 'shared', 'team-a', 'team-b'),
});
type Asked = typeof request extends fc.Arbitrary<infer One> ? One : never;

/** `sharing`: every run has questions of its own. */
function ask(run: string, { tenant, about, stream, refresh, mode, namespace }: Asked): Promise<Response> {
  const headers: Record<string, string> = tenant === 'b' ? { 'x-gateway-api-key': stage.otherKey } : {};
  if (refresh) headers['x-gateway-cache-force-refresh'] = 'true';
  if (namespace !== undefined) headers['x-gateway-cache-namespace'] = namespace;
  // Apart from other runs in what semantic caches compare, too.
  return stage.ask({ ...question(`about ${about}`), seed: Number.parseInt(run.slice(0, 8), 16), stream }, headers, {
    cache: { mode },
  });
}

describe('two tenants who ask the same (G35)', () => {
  it('get answers of their own calls alone, in every order, stored or under way', async () => {
    stage.upstream.answer(answered);
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 3, maxLength: 12 }), fc.boolean(), async (asked, atOnce) => {
        const run = randomUUID();
        const heard = { a: new Set<string>(), b: new Set<string>() };
        const note = async (one: Asked) => {
          const { text } = await (one.stream ? streamed : toldBy)(ask(run, one));
          expect(text).toMatch(/^call \d+$/);
          heard[one.tenant as 'a' | 'b'].add(text);
        };
        if (atOnce) await Promise.all(asked.map(note));
        else for (const one of asked) await note(one);
        expect([...heard.a].filter((call) => heard.b.has(call))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  }, 120_000);

  it('what one asks for changes nothing of what the other is told: not the status, not the call', async () => {
    stage.upstream.answer(answered);
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), async (asked) => {
        const statuses = async (run: string, before: readonly Asked[]) => {
          for (const one of before) await (await ask(run, { ...one, tenant: 'a' })).text();
          const told: (string | null)[] = [];
          for (const one of asked) {
            const response = await ask(run, { ...one, tenant: 'b' });
            await response.text();
            told.push(response.headers.get('x-gateway-cache-status'));
          }
          return told;
        };
        expect(await statuses(randomUUID(), asked)).toEqual(await statuses(randomUUID(), []));
      }),
      { numRuns: 15 },
    );
  }, 120_000);
});

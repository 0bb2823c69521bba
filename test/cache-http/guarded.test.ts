/** Guardrails and the cache: what did not pass is never given again, and whoever asks is judged anew. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { openAiChat, openAiEvents } from '../fakes/openai-wire.ts';
import { chatStream, json, pieces, problem, type Reply } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { guardrail, LOOSE, NO_WORD, REDACT, startGuarded } from '../guardrails/stage.ts';
import { CACHED, question, streamed, toldBy } from './stage.ts';

let stage: Stage;
const FAILS = { ...NO_WORD, parameters: { words: ['dubious'], operator: 'none' } };

function manifests([upstream]: readonly Upstream[]): string {
  if (upstream === undefined) return '';
  return [
    guardrail('denies', [NO_WORD], { deny: true }),
    guardrail('minds', [FAILS], { deny: false }),
    guardrail('redacts', [REDACT]),
    config('plain', target(upstream, CACHED) as object),
    config('loose', target(upstream, { ...CACHED, output_guardrails: ['redacts'] }) as object),
    config('asked', target(upstream, { ...CACHED, input_guardrails: ['denies'] }) as object),
    config('at-target', {
      targets: [target(upstream, { ...CACHED, input_guardrails: ['denies'], output_guardrails: ['minds'] })],
      strategy: { mode: 'single' },
    }),
  ].join('\n');
}

beforeAll(async () => {
  stage = await startGuarded({ ...CACHED, output_guardrails: ['denies', 'minds'] }, manifests);
});
afterAll(() => stage.close());

function saying(text: string): (call: { readonly body: string }) => Reply {
  return ({ body }) => (body.includes('"stream":true') ? chatStream({ text }) : json(200, openAiChat({ text })));
}

function named(name: string, more: object = {}): Record<string, string> {
  return { 'x-gateway-config': name, ...more };
}

describe('output guardrails', () => {
  it.each([
    ['denied', 'a forbidden word', 446],
    ['passed with a bad mark', 'a dubious word', 246],
  ])('what was %s is not kept', async (_how, text, status) => {
    const asked = question();
    stage.at(0).answer(saying(text));
    for (let time = 0; time < 2; time += 1)
      expect(await toldBy(stage.gateway.chat(asked))).toMatchObject({ status, cache: 'MISS' });
    stage.at(0).answer(saying('all is well'));
    expect(await toldBy(stage.gateway.chat(asked))).toMatchObject({ status: 200, cache: 'MISS' });
    expect(await toldBy(stage.gateway.chat(asked))).toMatchObject({ status: 200, cache: 'HIT' });
  });

  it('an answer that one config let pass is not given to another whose guardrails never saw it', async () => {
    const asked = question();
    stage.at(0).answer(saying('a forbidden word'));
    expect(await toldBy(stage.gateway.chat(asked, named('plain')))).toMatchObject({ status: 200, cache: 'MISS' });
    expect(await toldBy(stage.gateway.chat(asked))).toMatchObject({ status: 446, cache: 'MISS' });
  });

  it('what they have rewritten is what is kept', async () => {
    const asked = question();
    stage.at(0).answer(saying('my secret word'));
    for (const cache of ['MISS', 'HIT'])
      expect(await toldBy(stage.gateway.chat(asked, named('loose')))).toEqual({
        status: 200,
        cache,
        text: 'my *** word',
      });
    expect(await streamed(stage.gateway.chat({ ...asked, stream: true }, named('loose')))).toMatchObject({
      cache: 'HIT',
      done: true,
      text: 'my *** word',
    });
  });

  it('a change of theirs makes another entry', async () => {
    const asked = question();
    stage.at(0).answer(saying('my secret word'));
    await toldBy(stage.gateway.chat(asked, named('loose')));
    stage.gateway.apply(stage.manifests.replace('***', '###'));
    expect(await toldBy(stage.gateway.chat(asked, named('loose')))).toEqual({
      status: 200,
      cache: 'MISS',
      text: 'my ### word',
    });
    stage.gateway.apply(stage.manifests);
    expect(await toldBy(stage.gateway.chat(asked, named('loose')))).toMatchObject({
      cache: 'HIT',
      text: 'my *** word',
    });
  });
});

describe('input guardrails', () => {
  it('are asked of a hit, too', async () => {
    const asked = question('a forbidden word');
    stage.at(0).answer(saying('an answer'));
    await toldBy(stage.gateway.chat(asked, named('plain')));
    expect((await toldBy(stage.gateway.chat(asked, named('plain')))).cache).toBe('HIT');
    expect((await stage.gateway.chat(asked, named('asked'))).status).toBe(446);
    expect((await stage.gateway.chat(asked, named('at-target'))).status).toBe(446);
  });

  it('of a target are asked before its cache is', async () => {
    const asked = question();
    stage.at(0).answer(saying('an answer'));
    for (const cache of ['MISS', 'HIT'])
      expect(await toldBy(stage.gateway.chat(asked, named('at-target')))).toEqual({
        status: 200,
        cache,
        text: 'an answer',
      });
  });

  it('say in a hit what they said of this very request', async () => {
    const asked = question();
    stage.at(0).answer(saying('an answer'));
    const shown = async (): Promise<unknown> => {
      const response = await stage.gateway.chat(asked, named('asked', LOOSE));
      const { hook_results: results } = (await response.json()) as {
        hook_results: { before_request_hooks: { created_at: string }[]; after_request_hooks: [] };
      };
      expect(results.before_request_hooks).toHaveLength(1);
      expect(results.after_request_hooks).toHaveLength(0);
      return [response.headers.get('x-gateway-cache-status'), results.before_request_hooks[0]?.created_at];
    };
    const [first, again] = [await shown(), await shown()] as [string, string][];
    expect([first?.[0], again?.[0]]).toEqual(['MISS', 'HIT']);
    expect(again?.[1]).not.toBe(first?.[1]);
  });
});

describe('whatever an upstream does (G35)', () => {
  /** How the next call ends; `good` alone may be given again. */
  const reply = fc.constantFrom<'good' | 'denied' | 'minded' | 'failed' | 'cut' | 'garbled'>(
    'good',
    'denied',
    'minded',
    'failed',
    'cut',
    'garbled',
  );
  const step = fc.record({ reply, about: fc.integer({ min: 0, max: 2 }), stream: fc.boolean() });
  const TEXTS = { good: 'fine', denied: 'a forbidden word', minded: 'a dubious word' } as const;

  function scripted(
    how: typeof reply extends fc.Arbitrary<infer Way> ? Way : never,
    index: number,
  ): (call: { readonly body: string }) => Reply {
    if (how === 'failed') return () => problem(400, `failed ${index}`);
    if (how === 'cut') return ({ body }) => cut(body.includes('"stream":true'), index);
    if (how === 'garbled') return () => json(200, { nothing: 'of the sort' }, { 'content-type': 'text/html' });
    return saying(`${TEXTS[how]} ${index}`);
  }

  function cut(isStream: boolean, index: number): Reply {
    const text = `cut ${index}`;
    if (isStream) return pieces(openAiEvents({ text }).slice(0, 3), { ending: 'reset' });
    const body = JSON.stringify(openAiChat({ text }));
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    return pieces([body.slice(0, body.length / 2)], { headers, ending: 'reset' });
  }

  it('an answer that is given again is one that was given whole, with a 200, and to this question', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
        const run = randomUUID();
        const given = new Map<number, Set<string>>();
        for (const [index, { reply: how, about, stream }] of steps.entries()) {
          stage.at(0).answer(scripted(how, index));
          const told = await tellOf({ ...question(`${run} ${about}`), stream });
          const known = given.get(about) ?? new Set();
          given.set(about, known);
          if (told.cache === 'HIT') expect([...known]).toContain(told.text);
          else if (told.isWhole && how === 'good') known.add(told.text);
        }
      }),
      { numRuns: 25 },
    );
  });

  async function tellOf(asked: { readonly stream: boolean }) {
    const response = await stage.gateway.chat(asked);
    const { status } = response;
    if (asked.stream) {
      const { text, done, cache } = await streamed(response);
      return { text, cache, isWhole: done && status === 200 };
    }
    const { text, cache } = await toldBy(response);
    return { text, cache, isWhole: status === 200 };
  }
});

/** What is asked again is answered from the cache, and says so. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAiEmbedding, openAiEvents } from '../fakes/openai-wire.ts';
import { chat, json, pieces, problem } from '../fakes/replies.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { CACHED, type CacheStage, numbered, question, startCacheStage, streamed, toldBy } from './stage.ts';

let stage: CacheStage;

beforeAll(async () => {
  stage = await startCacheStage();
});

afterAll(() => stage.close());

function calls(): number {
  return stage.upstream.calls.length;
}

describe('a config with a cache', () => {
  it('answers an equal request without calling anybody, and says so in a header', async () => {
    const asked = question();
    const first = await toldBy(stage.ask(asked));
    const before = calls();
    expect(first.cache).toBe('MISS');
    expect(await toldBy(stage.ask(asked))).toEqual({ ...first, cache: 'HIT' });
    expect(calls()).toBe(before);
  });

  it('without a cache says DISABLED, and calls each time', async () => {
    const asked = question();
    const before = calls();
    for (let time = 0; time < 2; time += 1) expect((await toldBy(stage.ask(asked, {}, {}))).cache).toBe('DISABLED');
    expect(calls()).toBe(before + 2);
  });

  it('names the provider of a hit, and gives the body as it was', async () => {
    const asked = question();
    const first = await (await stage.ask(asked)).text();
    const again = await stage.ask(asked);
    expect(again.headers.get('x-gateway-provider')).toBe('openai');
    expect(again.headers.get('content-type')).toBe('application/json');
    expect(await again.text()).toBe(first);
  });

  it.each([
    ['the order of keys', (asked: object) => Object.fromEntries(Object.entries(asked).reverse())],
    ['user', (asked: object) => ({ ...asked, safety_identifier: 'someone' })],
  ])('finds it in spite of %s', async (_what, other) => {
    const asked = { ...question(), temperature: 0.5 };
    const first = await toldBy(stage.ask(asked));
    expect(await toldBy(stage.ask(other(asked)))).toEqual({ ...first, cache: 'HIT' });
  });

  it.each([
    ['another model', { model: 'n' }],
    ['another temperature', { temperature: 0.7 }],
    ['a field that nobody knows', { brand_new: true }],
    ['another user, who is metadata', { user: 'bob' }],
  ])('does not find it for %s', async (_what, other) => {
    const asked = question();
    await toldBy(stage.ask(asked));
    expect((await toldBy(stage.ask({ ...asked, ...other }))).cache).toBe('MISS');
  });

  it.each([
    ['another host', { custom_host: 'self' }],
    ['other override_params', { override_params: { temperature: 0.1 } }],
    ['less strict compliance', { strict_vendor_compliance: false }],
  ])('does not find it for a config with %s', async (_what, more) => {
    const asked = question();
    await toldBy(stage.ask(asked));
    const { custom_host: host } = more as { custom_host?: string };
    const other = host === undefined ? more : { custom_host: `${stage.upstream.origin}/v2` };
    expect((await toldBy(stage.ask(asked, {}, { ...CACHED, ...other }))).cache).toBe('MISS');
  });

  it('is asked for the body with override_params applied', async () => {
    const asked = question();
    const first = await toldBy(stage.ask({ ...asked, temperature: 0.1 }));
    const overridden = { ...CACHED, override_params: { temperature: 0.1 } };
    expect(await toldBy(stage.ask(asked, {}, overridden))).toEqual({ ...first, cache: 'HIT' });
  });

  it('renews an answer with x-gateway-cache-force-refresh, and keeps the new one', async () => {
    const asked = question();
    const first = await toldBy(stage.ask(asked));
    const renewed = await toldBy(stage.ask(asked, { 'x-gateway-cache-force-refresh': 'true' }));
    expect(renewed.cache).toBe('REFRESH');
    expect(renewed.text).not.toBe(first.text);
    expect(await toldBy(stage.ask(asked))).toEqual({ ...renewed, cache: 'HIT' });
  });

  it('does not keep what a caller asks not to with cache-control: no-store', async () => {
    const asked = question();
    for (let time = 0; time < 2; time += 1)
      expect((await toldBy(stage.ask(asked, { 'cache-control': 'no-store' }))).cache).toBe('MISS');
  });

  it('keeps apart what has another metadata, unless a namespace is named', async () => {
    const asked = question();
    const of = (tier: string) => ({ 'x-gateway-metadata': JSON.stringify({ tier }) });
    await toldBy(stage.ask(asked, of('gold')));
    expect((await toldBy(stage.ask(asked, of('tin')))).cache).toBe('MISS');
    expect((await toldBy(stage.ask(asked, of('gold')))).cache).toBe('HIT');
    const shelf = { 'x-gateway-cache-namespace': 'shelf' };
    await toldBy(stage.ask(asked, { ...of('gold'), ...shelf }));
    expect((await toldBy(stage.ask(asked, { ...of('tin'), ...shelf }))).cache).toBe('HIT');
    expect((await toldBy(stage.ask(asked, { ...shelf, 'x-gateway-cache-namespace': 'other' }))).cache).toBe('MISS');
  });

  it.each([
    ['x-gateway-cache-force-refresh', 'maybe'],
    ['x-gateway-cache-namespace', 'n'.repeat(257)],
  ])('refuses %s: %s', async (name, value) => {
    const response = await stage.ask(question(), { [name]: value });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: name } });
  });

  it('never gives an answer of another workspace', async () => {
    const asked = question();
    await toldBy(stage.ask(asked));
    expect((await toldBy(stage.ask(asked, { 'x-gateway-api-key': stage.otherKey }))).cache).toBe('MISS');
  });

  it('forgets an answer after max_age', async () => {
    const asked = question();
    const brief = { cache: { mode: 'simple', max_age: 1 } };
    await toldBy(stage.ask(asked, {}, brief));
    expect((await toldBy(stage.ask(asked, {}, brief))).cache).toBe('HIT');
    await waitFor(async () => (await toldBy(stage.ask(asked, {}, brief))).cache === 'MISS', 'the end of max_age');
  });

  it('keeps no failure', async () => {
    const asked = question();
    stage.upstream.answer(problem(400, 'No.'));
    expect((await stage.ask(asked)).headers.get('x-gateway-cache-status')).toBe('MISS');
    stage.upstream.answer(numbered());
    expect(await toldBy(stage.ask(asked))).toMatchObject({ status: 200, cache: 'MISS' });
  });

  it('keeps nothing of an answer that was cut', async () => {
    const asked = question();
    const whole = JSON.stringify({ id: 'x', object: 'chat.completion', choices: [] });
    stage.upstream.answer({
      send(response) {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(whole.length) });
        response.write(whole.slice(0, 20), () => response.socket?.resetAndDestroy());
      },
    });
    expect((await stage.ask(asked)).status).toBe(502);
    stage.upstream.answer(numbered());
    expect(await toldBy(stage.ask(asked))).toMatchObject({ status: 200, cache: 'MISS' });
  });

  it('keeps embeddings, too', async () => {
    stage.upstream.answer(json(200, openAiEmbedding()));
    const asked = { model: 'e', input: 'kept?' };
    const statuses: (string | null)[] = [];
    for (let time = 0; time < 2; time += 1)
      statuses.push(
        (await stage.gateway.post('/v1/embeddings', asked, stage.config())).headers.get('x-gateway-cache-status'),
      );
    stage.upstream.answer(numbered());
    expect(statuses).toEqual(['MISS', 'HIT']);
  });

  it('semantic is as simple where no embedding model is named', async () => {
    const asked = question();
    const semantic = { cache: { mode: 'semantic' } };
    expect((await toldBy(stage.ask(asked, {}, semantic))).cache).toBe('MISS');
    expect((await toldBy(stage.ask(asked, {}, semantic))).cache).toBe('HIT');
  });
});

describe('a stream', () => {
  const streaming = (asked: object) => ({ ...asked, stream: true });

  it('is kept whole, and given again as a stream with an end', async () => {
    const asked = streaming(question());
    const first = await streamed(stage.ask(asked));
    expect(first).toMatchObject({ cache: 'MISS', done: true });
    const again = await streamed(stage.ask(asked));
    expect(again).toMatchObject({ cache: 'HIT', done: true, text: first.text });
  });

  it('and a whole answer are one entry, both ways', async () => {
    const one = question();
    const first = await toldBy(stage.ask(one));
    expect(await streamed(stage.ask(streaming(one)))).toMatchObject({ cache: 'HIT', done: true, text: first.text });
    const other = question();
    const stream = await streamed(stage.ask(streaming(other)));
    expect(await toldBy(stage.ask(other))).toEqual({ status: 200, cache: 'HIT', text: stream.text });
  });

  it('tells usage where it is asked for', async () => {
    const asked = streaming(question());
    await streamed(stage.ask(asked));
    const told = await streamed(stage.ask({ ...asked, stream_options: { include_usage: true } }));
    expect(told).toMatchObject({ cache: 'HIT', done: true });
    expect(told.raw).toContain('"usage":{"prompt_tokens":9');
    expect((await streamed(stage.ask(asked))).raw).not.toContain('"usage"');
  });

  it('that was cut is not kept', async () => {
    const asked = streaming(question());
    stage.upstream.answer(pieces(openAiEvents().slice(0, 3), { ending: 'reset' }));
    expect((await streamed(stage.ask(asked))).done).toBe(false);
    stage.upstream.answer(numbered());
    expect(await streamed(stage.ask(asked))).toMatchObject({ cache: 'MISS', done: true });
  });

  it("is given again in Anthropic's dialect", async () => {
    const asked = { ...question(), max_tokens: 16 };
    const first = await stage.gateway.post('/v1/messages', asked, stage.config());
    expect(first.headers.get('x-gateway-cache-status')).toBe('MISS');
    const whole = (await first.json()) as { content: { text: string }[] };
    const again = await stage.gateway.post('/v1/messages', streaming(asked), stage.config());
    expect(again.headers.get('x-gateway-cache-status')).toBe('HIT');
    const events = await again.text();
    expect(events).toContain('event: message_start');
    expect(events).toContain(JSON.stringify(whole.content[0]?.text));
    expect(events).toContain('event: message_stop');
  });
});

describe('targets with caches of their own', () => {
  const targets = (more: object, ...own: object[]) => {
    const at = { provider: 'openai', api_key: 'k', custom_host: `${stage.upstream.origin}/v1` };
    return {
      'x-gateway-config': JSON.stringify({ targets: own.map((each) => ({ ...at, ...each })), ...more }),
    };
  };

  it('are asked at their turn', async () => {
    const asked = question();
    const fallback = { strategy: { mode: 'fallback' } };
    const config = targets(fallback, { override_params: { model: 'bad' } }, CACHED);
    stage.upstream.answer((call) => (call.body.includes('bad') ? problem(500) : chat({ text: 'second' })));
    const first = await toldBy(stage.gateway.chat(asked, config));
    const before = calls();
    const second = await stage.gateway.chat(asked, config);
    stage.upstream.answer(numbered());
    expect(first).toEqual({ status: 200, cache: 'MISS', text: 'second' });
    expect(second.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
    expect(await toldBy(second)).toEqual({ ...first, cache: 'HIT' });
    expect(calls()).toBe(before + 1);
  });

  it('replace what the root says', async () => {
    const asked = question();
    const config = targets(
      { ...CACHED, strategy: { mode: 'fallback' } },
      { cache: { mode: 'simple', max_age: 1 } },
      {},
    );
    await toldBy(stage.gateway.chat(asked, config));
    expect((await toldBy(stage.gateway.chat(asked, config))).cache).toBe('HIT');
    await waitFor(async () => (await toldBy(stage.gateway.chat(asked, config))).cache === 'MISS', 'the end of max_age');
  });

  it('do not matter where the root alone has one: whichever answered counts for all', async () => {
    const asked = question();
    const config = targets({ ...CACHED, strategy: { mode: 'loadbalance' } }, {}, { override_params: { top_p: 0.5 } });
    const first = await toldBy(stage.gateway.chat(asked, config));
    for (let time = 0; time < 5; time += 1)
      expect(await toldBy(stage.gateway.chat(asked, config))).toEqual({ ...first, cache: 'HIT' });
  });
});

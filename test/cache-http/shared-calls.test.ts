/** Equal requests that come while one is under way share its call. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openAiEvents } from '../fakes/openai-wire.ts';
import { chat, chatStream, gated, pieces, problem, type Reply } from '../fakes/replies.ts';
import { waitFor } from '../fakes/wait-for.ts';
import { CACHED, type CacheStage, numbered, question, startCacheStage, streamed, toldBy } from './stage.ts';

let stage: CacheStage;

beforeAll(async () => {
  stage = await startCacheStage();
});

afterEach(() => stage.upstream.answer(numbered()));
afterAll(() => stage.close());

const EVENTS = openAiEvents({ text: 'one two three four' });

/** A stream that stops after its first events until the test opens the gate. */
function halted(last: Reply = pieces(EVENTS.slice(3))): { readonly reply: Reply; open(): void } {
  const gate = Promise.withResolvers<void>();
  return {
    open: () => gate.resolve(),
    reply: {
      async send(response, call) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of EVENTS.slice(0, 3)) response.write(event);
        await gate.promise;
        if (response.destroyed) return;
        response.writeHead = () => response;
        await last.send(response, call);
      },
    },
  };
}

/** Requests of this gateway that are under way. */
async function underWay(count: number): Promise<void> {
  await waitFor(
    async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === count,
    `${count} requests`,
  );
}

/** What has come of a body so far. */
class Reading {
  text = '';
  ended = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(response: Response) {
    if (response.body === null) throw new Error('there is no body');
    this.#reader = response.body.getReader();
    void this.#read();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read())
        this.text += decoder.decode(part.value, { stream: true });
    } catch {
      this.text += '(broken off)';
    }
    this.ended = true;
  }
}

describe('equal requests at once', () => {
  it('make one call, and all get its answer', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(chat({ text: 'for all' }));
    stage.upstream.answer(gate.reply);
    const asking = Array.from({ length: 20 }, () => toldBy(stage.ask(asked)));
    await underWay(20);
    await stage.upstream.called(before + 1);
    gate.open();
    const told = await Promise.all(asking);
    expect(stage.upstream.calls.length).toBe(before + 1);
    expect(told.map(({ text }) => text)).toEqual(told.map(() => 'for all'));
    expect(told.filter(({ cache }) => cache === 'MISS')).toHaveLength(1);
    expect(told.filter(({ cache }) => cache === 'HIT')).toHaveLength(19);
  });

  it('of two workspaces never share a call', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(chat());
    stage.upstream.answer(gate.reply);
    const asking = [stage.ask(asked), stage.ask(asked, { 'x-gateway-api-key': stage.otherKey })].map(toldBy);
    await stage.upstream.called(before + 2);
    gate.open();
    for (const told of await Promise.all(asking)) expect(told.cache).toBe('MISS');
  });

  it('each call where the first has failed, one after the other', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(problem(500));
    stage.upstream.answer((_call, index) => (index === 0 ? gate.reply : chat({ text: 'second try' })));
    const asking = [toldBy(stage.ask(asked)), toldBy(stage.ask(asked)), toldBy(stage.ask(asked))];
    await underWay(3);
    gate.open();
    const told = await Promise.all(asking);
    expect(told.filter(({ status }) => status === 500)).toHaveLength(1);
    expect(told.filter(({ text }) => text === 'second try')).toHaveLength(2);
    expect(stage.upstream.calls.length).toBe(before + 2);
  });

  it('share a failure that has come three times', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(problem(500, 'Broken.'));
    stage.upstream.answer(gate.reply);
    const asking = Array.from({ length: 6 }, () => stage.ask(asked));
    await underWay(6);
    gate.open();
    for (const answer of await Promise.all(asking)) {
      expect(answer.status).toBe(500);
      expect(await answer.json()).toMatchObject({ error: { message: 'Broken.' } });
    }
    expect(stage.upstream.calls.length).toBe(before + 3);
  });

  it('go on where the one who called has left', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(chat({ text: 'still there' }));
    stage.upstream.answer(gate.reply);
    const leaving = new AbortController();
    const first = stage.gateway.chat(asked, stage.config(), leaving.signal).catch(() => undefined);
    await stage.upstream.called(before + 1);
    const second = toldBy(stage.ask(asked));
    await underWay(2);
    leaving.abort();
    await first;
    gate.open();
    expect(await second).toEqual({ status: 200, cache: 'HIT', text: 'still there' });
    expect(stage.upstream.calls.length).toBe(before + 1);
  });

  it('end the call where all of them have left', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    stage.upstream.answer(gated(chat()).reply);
    const leaving = new AbortController();
    const asking = [0, 1].map(() => stage.gateway.chat(asked, stage.config(), leaving.signal).catch(() => undefined));
    await underWay(2);
    await stage.upstream.called(before + 1);
    leaving.abort();
    await Promise.all(asking);
    await waitFor(() => stage.upstream.calls.at(-1)?.abortedAt !== undefined, 'the end of the call');
    await underWay(0);
  });

  it('wait no longer than their own request_timeout, and call for themselves then', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(chat({ text: 'late' }));
    stage.upstream.answer((_call, index) => (index === 0 ? gate.reply : chat({ text: 'its own' })));
    const first = toldBy(stage.ask(asked));
    await stage.upstream.called(before + 1);
    expect(await toldBy(stage.ask(asked, { 'x-gateway-request-timeout': '100' }))).toMatchObject({ text: 'its own' });
    gate.open();
    expect((await first).text).toBe('late');
  });

  it('do not share what one of them forbids to keep', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const gate = gated(chat());
    stage.upstream.answer(gate.reply);
    const asking = [toldBy(stage.ask(asked, { 'cache-control': 'no-store' })), toldBy(stage.ask(asked))];
    await stage.upstream.called(before + 2);
    gate.open();
    for (const told of await Promise.all(asking)) expect(told.cache).toBe('MISS');
  });

  it('share a call of a target whose cache is its own, and fall back each where it fails', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const at = { provider: 'openai', api_key: 'k', custom_host: `${stage.upstream.origin}/v1` };
    const targets = [
      { ...at, ...CACHED, override_params: { model: 'first' } },
      { ...at, override_params: { model: 'second' } },
    ];
    const config = { 'x-gateway-config': JSON.stringify({ strategy: { mode: 'fallback' }, targets }) };
    const gate = gated(problem(500));
    stage.upstream.answer((call) => (call.body.includes('first') ? gate.reply : chat({ text: 'fallen back' })));
    const asking = Array.from({ length: 8 }, () => toldBy(stage.gateway.chat(asked, config)));
    await underWay(8);
    gate.open();
    for (const told of await Promise.all(asking)) expect(told).toMatchObject({ status: 200, text: 'fallen back' });
    const firsts = stage.upstream.calls.slice(before).filter(({ body }) => body.includes('first'));
    expect(firsts).toHaveLength(3);
  });
});

describe('a running stream', () => {
  const streaming = { stream: true };

  it('is joined from its start', async () => {
    const asked = { ...question(), ...streaming };
    const before = stage.upstream.calls.length;
    const halt = halted();
    stage.upstream.answer(halt.reply);
    const first = new Reading(await stage.ask(asked));
    await waitFor(() => first.text.includes('one'), 'the first words');
    const response = await stage.ask(asked);
    const second = new Reading(response);
    expect(response.headers.get('x-gateway-cache-status')).toBe('HIT');
    await waitFor(() => second.text.includes('one'), 'the same words');
    expect(second.ended).toBe(false);
    halt.open();
    await waitFor(() => first.ended && second.ended, 'the ends');
    expect(second.text).toBe(first.text);
    expect(second.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(stage.upstream.calls.length).toBe(before + 1);
  });

  it('ends for all in an error where it is cut, and is not kept', async () => {
    const asked = { ...question(), ...streaming };
    const halt = halted(pieces([], { ending: 'reset' }));
    stage.upstream.answer(halt.reply);
    const [first, second] = [new Reading(await stage.ask(asked)), new Reading(await stage.ask(asked))];
    await waitFor(() => second.text.includes('one'), 'the first words');
    halt.open();
    await waitFor(() => first.ended && second.ended, 'the ends');
    for (const { text } of [first, second]) {
      expect(text).toContain('"code":"upstream_cut"');
      expect(text).not.toContain('[DONE]');
    }
    stage.upstream.answer(numbered());
    expect((await streamed(stage.ask(asked))).cache).toBe('MISS');
  });

  it('runs on for others where its caller has left', async () => {
    const asked = { ...question(), ...streaming };
    const before = stage.upstream.calls.length;
    const halt = halted();
    stage.upstream.answer(halt.reply);
    const leaving = new AbortController();
    const first = new Reading(await stage.gateway.chat(asked, stage.config(), leaving.signal));
    await waitFor(() => first.text.includes('one'), 'the first words');
    const second = new Reading(await stage.ask(asked));
    await waitFor(() => second.text.includes('one'), 'the same words');
    leaving.abort();
    await waitFor(() => first.ended, 'its caller to leave');
    halt.open();
    await waitFor(() => second.ended, 'the end');
    expect(second.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(stage.upstream.calls.length).toBe(before + 1);
    expect(await streamed(stage.ask(asked))).toMatchObject({ cache: 'HIT', done: true });
  });

  it('ends where all have left', async () => {
    const asked = { ...question(), ...streaming };
    stage.upstream.answer(halted().reply);
    const leaving = new AbortController();
    for (let time = 0; time < 2; time += 1) {
      const reading = new Reading(await stage.gateway.chat(asked, stage.config(), leaving.signal));
      await waitFor(() => reading.text.includes('one'), 'the first words');
    }
    leaving.abort();
    await waitFor(() => stage.upstream.calls.at(-1)?.abortedAt !== undefined, 'the end of the call');
    await underWay(0);
  });

  it('gives a caller who wants no stream the whole of it', async () => {
    const asked = question();
    const before = stage.upstream.calls.length;
    const halt = halted();
    stage.upstream.answer(halt.reply);
    const first = new Reading(await stage.ask({ ...asked, ...streaming }));
    await waitFor(() => first.text.includes('one'), 'the first words');
    const whole = toldBy(stage.ask(asked));
    await underWay(2);
    halt.open();
    expect(await whole).toEqual({ status: 200, cache: 'HIT', text: 'one two three four' });
    expect(stage.upstream.calls.length).toBe(before + 1);
  });

  it('is not joined by who wants to be told of usage, and who gets a stream of its own then', async () => {
    const asked = { ...question(), ...streaming };
    const halt = halted();
    stage.upstream.answer(halt.reply);
    const first = new Reading(await stage.ask(asked));
    await waitFor(() => first.text.includes('one'), 'the first words');
    const second = streamed(stage.ask({ ...asked, stream_options: { include_usage: true } }));
    await underWay(2);
    halt.open();
    const told = await second;
    expect(told).toMatchObject({ cache: 'HIT', done: true, text: 'one two three four' });
    expect(told.raw).toContain('"usage":{');
  });

  it('of many callers at once is one call', async () => {
    const asked = { ...question(), ...streaming };
    const before = stage.upstream.calls.length;
    stage.upstream.answer(chatStream({ text: 'many words for many callers' }, { gapMs: 20 }));
    const told = await Promise.all(Array.from({ length: 20 }, () => streamed(stage.ask(asked))));
    for (const { text, done } of told)
      expect({ text, done }).toEqual({ text: 'many words for many callers', done: true });
    expect(stage.upstream.calls.length).toBe(before + 1);
  });
});

describe('a caller who reads nothing', () => {
  it('holds up the others no longer than it is waited for, and the stream runs on for them', async () => {
    const slow = await startCacheStage({ limits: { writeIdleMs: 300 } });
    try {
      const asked = { ...question(), stream: true };
      const long = openAiEvents({ text: `${'x'.repeat(32_768)} `.repeat(400) });
      const halt = halted(pieces(long.slice(1)));
      slow.upstream.answer(halt.reply);
      const unread = await slow.ask(asked);
      const response = await slow.ask(asked);
      const shared = new Reading(response);
      await waitFor(() => shared.text.includes('one'), 'the first words');
      halt.open();
      await waitFor(() => shared.ended, 'the end', 20_000);
      expect(response.headers.get('x-gateway-cache-status')).toBe('HIT');
      expect(shared.text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(shared.text.length).toBeGreaterThan(400 * 32_768);
      expect(slow.upstream.calls).toHaveLength(1);
      await expect(unread.text()).rejects.toThrow();
    } finally {
      await slow.close();
    }
  }, 30_000);
});

describe('a gateway that shuts down', () => {
  it('ends in an error for all who share a stream, or wait for a whole answer', async () => {
    const ending = await startCacheStage({ drainMs: 100 });
    const asked = { ...question(), stream: true };
    const halt = halted();
    ending.upstream.answer(halt.reply);
    const parts = [new Reading(await ending.ask(asked)), new Reading(await ending.ask(asked))];
    const waiting = toldBy(ending.ask({ ...asked, stream: false }));
    await waitFor(async () => (await ending.gateway.metric('modelgateway_requests_in_flight')) === 3, 'all three');
    const closed = ending.gateway.close();
    await waitFor(() => parts.every(({ ended }) => ended), 'the ends');
    for (const { text } of parts) expect(text).toContain('"code":"draining"');
    expect((await waiting).status).toBe(503);
    halt.open();
    await closed;
    await ending.close();
  });
});

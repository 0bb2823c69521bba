/** The fakes themselves: a check that rests on a wrong fake proves nothing. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { anthropicEvents } from './anthropic-wire.ts';
import { type Fault, startNetProxy } from './net.ts';
import { openAiEvents } from './openai-wire.ts';
import { rawExchange, rawPost } from './raw.ts';
import {
  after,
  chat,
  chatStream,
  cutAt,
  gated,
  gzipped,
  hangAfterHeaders,
  hangBeforeHeaders,
  huge,
  json,
  neverEnding,
  problem,
  rawBytes,
  redirect,
  resetBeforeHeaders,
  resetMidBody,
} from './replies.ts';
import { chatTextOf, parseSse, readSse } from './sse.ts';
import { type Script, startUpstream, type Upstream } from './upstream.ts';
import { waitFor } from './wait-for.ts';

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.close();
});

async function upstream(script: Script): Promise<Upstream> {
  const started = await startUpstream(script);
  running.push(started);
  return started;
}

describe('upstream', () => {
  it('records calls and answers in turn, the last reply for ever', async () => {
    const server = await upstream([problem(503), chat({ text: 'Hi' })]);
    const ask = () => fetch(`${server.origin}/v1/x?y=1`, { method: 'POST', body: '{"a":1}', headers: { 'X-A': 'b' } });
    const statuses = [(await ask()).status, (await ask()).status, (await ask()).status];
    expect(statuses).toEqual([503, 200, 200]);
    expect(server.calls[0]).toMatchObject({ method: 'POST', path: '/v1/x?y=1', headers: { 'x-a': 'b' } });
    expect(server.json(0)).toEqual({ a: 1 });
    await waitFor(() => server.calls[2]?.finishedAt !== undefined, 'the end of the answer');
    expect(server.calls[2]?.abortedAt).toBeUndefined();
    server.answer((call, index) => json(200, { path: call.path, index }));
    expect(await (await ask()).json()).toEqual({ path: '/v1/x?y=1', index: 0 });
  });

  it('notices a caller who leaves', async () => {
    const server = await upstream(neverEnding('data: {}\n\n', { gapMs: 5 }));
    const controller = new AbortController();
    const response = await fetch(server.origin, { signal: controller.signal });
    const left = performance.now();
    controller.abort();
    await expect(response.text()).rejects.toThrow();
    await waitFor(() => server.calls[0]?.abortedAt !== undefined, 'the abort');
    expect((server.calls[0]?.abortedAt ?? 0) - left).toBeLessThan(500);
  });

  it.each([
    ['hangs before headers', hangBeforeHeaders, 'no headers'],
    ['hangs after headers', hangAfterHeaders, 'no body'],
  ])('%s', async (_, reply, what) => {
    const server = await upstream(reply);
    const asked = fetch(server.origin, { signal: AbortSignal.timeout(150) });
    if (what === 'no headers') await expect(asked).rejects.toThrow(/timeout|aborted/i);
    else await expect((await asked).text()).rejects.toThrow(/timeout|aborted/i);
  });

  it.each([
    ['before headers', resetBeforeHeaders],
    ['in the middle of a body', resetMidBody('{"x": "0123456789"}')],
    ['in the middle of a stream', chatStream({}, { ending: 'reset' })],
  ])('resets %s', async (_, reply) => {
    const server = await upstream(reply);
    await expect(fetch(server.origin).then((response) => response.text())).rejects.toThrow();
  });

  it('sends what was written before a reset', async () => {
    const server = await upstream(chatStream({ text: 'a b' }, { ending: 'reset', gapMs: 5 }));
    const { events, complete } = await readSse(await fetch(server.origin));
    expect(complete).toBe(false);
    expect(events).toHaveLength(openAiEvents({ text: 'a b' }).length);
  });

  it('is huge, compressed, elsewhere, late, or waits for the test', async () => {
    const gate = gated(json(200, { gate: true }));
    const late = after(60, json(200, {}));
    const server = await upstream([huge(1_000_000), gzipped({ z: 1 }), redirect('/there'), late, gate.reply]);
    const ask = () => fetch(server.origin, { redirect: 'manual' });
    expect((await (await ask()).text()).length).toBeGreaterThan(1_000_000);
    expect(await (await ask()).json()).toEqual({ z: 1 });
    expect((await ask()).headers.get('location')).toBe('/there');
    const before = performance.now();
    await (await ask()).text();
    expect(performance.now() - before).toBeGreaterThan(55);
    const waiting = ask();
    await server.called(5);
    gate.open();
    expect(await (await waiting).json()).toEqual({ gate: true });
  });

  it('writes bytes as they are', async () => {
    const server = await upstream(rawBytes(['HTTP/1.1 299 Odd\r\ncontent-', 'length: 2\r\n\r\n', 'ok'], { gapMs: 5 }));
    const response = await fetch(server.origin);
    expect([response.status, await response.text()]).toEqual([299, 'ok']);
  });
});

describe('cutAt', () => {
  it('loses nothing, whatever the offsets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), fc.array(fc.integer({ min: -5, max: 300 })), (bytes, offsets) => {
        const parts = cutAt(bytes, offsets);
        expect(Buffer.concat(parts).equals(Buffer.from(bytes))).toBe(true);
        expect(parts.every((part) => part.length > 0)).toBe(true);
      }),
    );
  });
});

describe('wire formats', () => {
  it('openai: text, parallel tools, usage, end marker', () => {
    const toolCalls = [
      { id: 'call_1', name: 'a', arguments: '{"x":1}' },
      { id: 'call_2', name: 'b', arguments: '{}' },
    ];
    const events = parseSse(openAiEvents({ text: 'one two', toolCalls }).join(''));
    expect(chatTextOf(events)).toBe('one two');
    expect(events.at(-1)?.data).toBe('[DONE]');
    const deltas = events.slice(0, -1).flatMap(({ data }) => JSON.parse(data).choices[0]?.delta.tool_calls ?? []);
    const argumentsOf = (index: number) =>
      deltas
        .filter((delta) => delta.index === index)
        .map((delta) => delta.function.arguments)
        .join('');
    expect([argumentsOf(0), argumentsOf(1)]).toEqual(['{"x":1}', '{}']);
  });

  it('anthropic: blocks in order, each begun and ended', () => {
    const toolUses = [{ id: 'toolu_1', name: 'a', input: { x: 1 } }];
    const events = parseSse(anthropicEvents({ thinking: 'Hm.', text: 'one two', toolUses }).join(''));
    expect(events[0]?.event).toBe('message_start');
    expect(events.at(-1)?.event).toBe('message_stop');
    expect(events.every(({ event, data }) => JSON.parse(data).type === event)).toBe(true);
    const count = (name: string) => events.filter(({ event }) => event === name).length;
    expect([count('content_block_start'), count('content_block_stop')]).toEqual([3, 3]);
  });
});

describe('sse', () => {
  it('reads what the standard allows', () => {
    const text = '\uFEFF: note\n\nevent: a\ndata: 1\ndata:2\n\ndata\r\n\r\ndata: 3\r\n\r\ndata: unfinished';
    expect(parseSse(text).map(({ event, data }) => [event, data])).toEqual([
      ['a', '1\n2'],
      [undefined, '3'],
    ]);
  });
});

describe('net proxy', () => {
  it('passes bytes one by one, with delay', async () => {
    const server = await upstream(chatStream({ text: 'a b c' }));
    const proxy = await startNetProxy(server.origin, { everyByte: true, delayMs: 20 });
    running.push(proxy);
    const before = performance.now();
    const { events, complete } = await readSse(await fetch(proxy.origin));
    expect([chatTextOf(events), complete]).toEqual(['a b c', true]);
    expect(performance.now() - before).toBeGreaterThan(38);
  });

  it.each<[Fault]>([['reset'], ['refuse'], ['black-hole']])('%s', async (fault) => {
    const server = await upstream(json(200, {}));
    const proxy = await startNetProxy(server.origin);
    running.push(proxy);
    proxy.setFault(fault);
    const headers = { connection: 'close' };
    await expect(fetch(proxy.origin, { headers, signal: AbortSignal.timeout(200) })).rejects.toThrow();
    proxy.setFault('none');
    if (fault !== 'black-hole') expect((await fetch(proxy.origin, { headers })).status).toBe(200);
  });
});

describe('raw client', () => {
  it('sends two requests in one packet and reads both answers', async () => {
    const server = await upstream(json(200, { ok: true }));
    const twice = rawPost('/a', '{}') + rawPost('/b', '{}');
    const heard = await rawExchange(server.origin, twice, { waitMs: 100 });
    expect(heard.statuses).toEqual([200, 200]);
    expect(heard.first?.headers['content-type']).toBe('application/json');
    expect(heard.closed).toBe(false);
    expect(server.calls.map(({ path }) => path)).toEqual(['/a', '/b']);
  });

  it('tells that the server closed', async () => {
    const server = await upstream(json(200, {}));
    const heard = await rawExchange(server.origin, ['GET / HTT', 'P/9.9\r\n\r\n'], { gapMs: 10 });
    expect([heard.statuses, heard.closed]).toEqual([[400], true]);
  });
});

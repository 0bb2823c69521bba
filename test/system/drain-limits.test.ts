/** What a drain does to each kind of request and connection, up to its limit and past it. */
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startGateway } from '#gateway/server.ts';
import { HI, HI_MESSAGE, type Stage, startStage, target } from '../conformance/stage.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiEvent } from '../fakes/openai-wire.ts';
import { rawPost } from '../fakes/raw.ts';
import { chat, chatStream, gated, hangAfterHeaders, hangBeforeHeaders, json, neverEnding } from '../fakes/replies.ts';
import { parseSse } from '../fakes/sse.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { waitFor } from '../fakes/wait-for.ts';

const closing: Stage[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((stage) => stage.close()));
});

async function staged(limits: { graceMs?: number; drainMs?: number }): Promise<Stage> {
  const stage = await startStage(
    1,
    ([upstream]) => {
      const one = target(upstream as Upstream);
      return (
        defaultConfig('house', one) +
        config('patient', { ...one, retry: { attempts: 1, on_status_codes: [503], use_retry_after_headers: true } }) +
        config('whole', { strategy: { mode: 'single', stream_delivery: 'whole' }, targets: [one] })
      );
    },
    () => limits,
  );
  closing.push(stage);
  return stage;
}

const EVENT = openAiEvent({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }],
});
const DRAINING = { error: { code: 'draining', type: 'server_error' } };

/** The first line of the log that has a status: no test has two requests that end. */
async function lineOf(stage: Stage) {
  return (await stage.gateway.logs()).find(({ msg }) => msg === 'request');
}

describe('past its limit', () => {
  it.each([
    ['has no answer yet', hangBeforeHeaders, {}],
    ['has headers and no body', hangAfterHeaders, {}],
    ['waits for its next try', json(503, {}, { 'retry-after-ms': '50000' }), { 'x-gateway-config': 'patient' }],
  ] as const)('a request that %s is told 503, and its upstream is let go of', async (_what, reply, headers) => {
    const stage = await staged({ drainMs: 150 });
    stage.at(0).answer(reply);
    const answered = stage.gateway.chat(HI, headers);
    await stage.at(0).called(1);
    await stage.gateway.close();
    const response = await answered;
    expect(response.status).toBe(503);
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.json()).toMatchObject(DRAINING);
    expect(await lineOf(stage)).toMatchObject({ status: 503, error: 'draining', attempts: 1 });
    const [call] = stage.at(0).calls;
    await waitFor(() => call?.abortedAt !== undefined || call?.finishedAt !== undefined, 'the call to end');
    expect(stage.at(0).calls).toHaveLength(1);
  });

  it.each([
    ['has not begun', hangBeforeHeaders, {}],
    ['is held until it is whole', neverEnding(EVENT, { gapMs: 10 }), { 'x-gateway-config': 'whole' }],
  ] as const)('a stream that %s is an ordinary 503', async (_what, reply, headers) => {
    const stage = await staged({ drainMs: 150 });
    stage.at(0).answer(reply);
    const answered = stage.gateway.chat({ ...HI, stream: true }, headers);
    await stage.at(0).called(1);
    await stage.gateway.close();
    expect((await answered).status).toBe(503);
    expect(await (await answered).json()).toMatchObject(DRAINING);
    await waitFor(() => stage.at(0).calls[0]?.abortedAt !== undefined, 'the upstream to be let go of');
  });

  it.each([
    ['/v1/chat/completions', HI, DRAINING],
    ['/v1/messages', HI_MESSAGE, { type: 'error', error: { message: expect.stringContaining('shutting down') } }],
  ] as const)('streams of %s end with its error event, all of them', async (path, body, last) => {
    const stage = await staged({ drainMs: 200 });
    stage.at(0).answer(neverEnding(EVENT, { gapMs: 10 }));
    const streams = await Promise.all(
      Array.from({ length: 12 }, () => stage.gateway.post(path, { ...body, stream: true })),
    );
    const texts = Promise.all(streams.map((response) => response.text()));
    await stage.gateway.close();
    for (const text of await texts) {
      const events = parseSse(text);
      expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject(last);
      expect(events.filter(({ data }) => data.includes('shutting down'))).toHaveLength(1);
      expect(text).not.toMatch(/\[DONE\]|message_stop/);
    }
    const lines = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request');
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(line).toMatchObject({ status: 200, stream_failed: true, error: 'draining' });
    await waitFor(() => stage.at(0).calls.every(({ abortedAt }) => abortedAt !== undefined), 'all upstreams');
  });

  it('a body that is still being sent is not waited for', async () => {
    const stage = await staged({ drainMs: 100 });
    const { hostname, port } = new URL(stage.gateway.origin);
    const socket = connect({ host: hostname, port: Number(port) });
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(
      rawPost('/v1/chat/completions', JSON.stringify(HI), { 'x-gateway-api-key': stage.gateway.key }).slice(0, -5),
    );
    await waitFor(async () => (await stage.gateway.metric('modelgateway_requests_in_flight')) === 1, 'the request');
    const startedMs = performance.now();
    await stage.gateway.close();
    await closed;
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(received).toMatch(/^HTTP\/1\.1 503 [\s\S]*"code":"draining"/);
  });
});

describe('up to its limit', () => {
  it('all that runs is finished, many at once, whole and streamed', async () => {
    const stage = await staged({ drainMs: 20_000 });
    const gate = gated(chat({ text: 'at last' }));
    const stream = chatStream({ text: 'one two three' }, { gapMs: 20 });
    stage.at(0).answer((call) => (JSON.parse(call.body).stream === true ? stream : gate.reply));
    const answered = Array.from({ length: 20 }, (_, index) => stage.gateway.chat({ ...HI, stream: index % 2 === 0 }));
    await stage.at(0).called(20);
    const closed = stage.gateway.close();
    expect((await fetch(`${stage.gateway.adminOrigin}/readyz`)).status).toBe(503);
    gate.open();
    for (const [index, answer] of answered.entries()) {
      const response = await answer;
      expect(response.status).toBe(200);
      expect(await response.text()).toMatch(index % 2 === 0 ? /three[\s\S]*\[DONE\]\n\n$/ : /at last/);
    }
    await closed;
    const lines = (await stage.gateway.logs()).filter(({ msg }) => msg === 'request');
    expect(lines.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(lines.every((line) => line['error'] === undefined)).toBe(true);
  });

  it('connections that are idle are closed at once, and hold nothing up', async () => {
    const stage = await staged({ drainMs: 20_000 });
    const { hostname, port } = new URL(stage.gateway.origin);
    const sockets = Array.from({ length: 5 }, () => connect({ host: hostname, port: Number(port) }));
    const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)));
    const opened = sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve)));
    await Promise.all(opened);
    await (await stage.gateway.chat(HI)).text();
    const startedMs = performance.now();
    await stage.gateway.close();
    await Promise.all(closed);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it('is one drain, however often it is asked for, and also when it is over', async () => {
    const local = { host: '127.0.0.1', port: 0, adminHost: '127.0.0.1', adminPort: 0 };
    const gateway = await startGateway({ ...local, open: true, logLevel: 'silent', graceMs: 50, drainMs: 1_000 });
    await Promise.all([gateway.drain(), gateway.drain()]);
    await gateway.drain();
    await expect(fetch(`${gateway.adminOrigin}/healthz`)).rejects.toThrow();
  });
});

describe('its grace', () => {
  it('takes new connections and new requests, each of which is the last of its connection', async () => {
    const stage = await staged({ graceMs: 500 });
    const closed = stage.gateway.close();
    const readyz = await fetch(`${stage.gateway.adminOrigin}/readyz`);
    expect([readyz.status, (await readyz.text()).trim()]).toEqual([503, 'draining']);
    const responses = await Promise.all(Array.from({ length: 10 }, () => stage.gateway.chat(HI)));
    for (const response of responses) {
      expect(response.status).toBe(200);
      expect(response.headers.get('connection')).toBe('close');
      await response.text();
    }
    expect((await fetch(`${stage.gateway.adminOrigin}/metrics`)).status).toBe(200);
    await closed;
    await expect(stage.gateway.chat(HI)).rejects.toThrow();
    await expect(fetch(`${stage.gateway.adminOrigin}/healthz`)).rejects.toThrow();
  });

  it('says connection: close to what was asked before it began, and to errors', async () => {
    const stage = await staged({ graceMs: 300 });
    const gate = gated(chat());
    stage.at(0).answer(gate.reply);
    const answered = stage.gateway.chat(HI);
    await stage.at(0).called(1);
    const closed = stage.gateway.close();
    gate.open();
    expect((await answered).headers.get('connection')).toBe('close');
    const refused = await stage.gateway.chat(HI, { 'x-gateway-api-key': 'wrong' });
    expect([refused.status, refused.headers.get('connection')]).toEqual([401, 'close']);
    await closed;
  });
});

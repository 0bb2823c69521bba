/** G30 and G31: callers who leave, who read slowly, who send slowly. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { apiKey, config, defaultConfig } from '../fakes/objects.ts';
import { openAiEvent } from '../fakes/openai-wire.ts';
import { rawPost } from '../fakes/raw.ts';
import { chat, hangBeforeHeaders, neverEnding, pieces } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';

const KEY = 'leaving-key-0123456789';
const EVENT = openAiEvent({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }],
});
const STREAM = JSON.stringify({ ...HI, stream: true });

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(1, ([upstream]) =>
    [
      defaultConfig('house', target(upstream as Upstream)),
      config('retrying', target(upstream as Upstream, { retry: { attempts: 3 } })),
      apiKey('leaving', KEY),
    ].join(''),
  );
});
afterAll(() => stage.close());
beforeEach(() => stage.at(0).answer(chat()));

function open(): Promise<Socket> {
  const { hostname, port } = new URL(stage.gateway.origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.on('error', () => undefined);
  });
}

async function settled(): Promise<void> {
  await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight'), { timeout: 10_000 }).toBe(0);
}

async function lastLine(): Promise<Readonly<Record<string, unknown>>> {
  return (await stage.gateway.logs()).filter(({ msg }) => msg === 'request').at(-1) ?? {};
}

describe('a caller who leaves', () => {
  it.each([
    ['before the answer', hangBeforeHeaders, JSON.stringify(HI)],
    ['before the first event', hangBeforeHeaders, STREAM],
    ['in the middle of a stream', pieces([EVENT, EVENT], { ending: 'stall' }), STREAM],
    ['in the middle of a fast stream', neverEnding(EVENT), STREAM],
  ])('%s ends the upstream call within 100 ms', async (_when, reply, body) => {
    stage.at(0).answer(reply);
    const before = stage.at(0).calls.length;
    const socket = await open();
    socket.write(rawPost('/v1/chat/completions', body, { 'x-gateway-api-key': KEY }));
    await stage.at(0).called(before + 1);
    await new Promise((resolve) => setTimeout(resolve, 60));
    const leftAt = performance.now();
    socket.destroy();
    await expect.poll(() => stage.at(0).calls[before]?.abortedAt, { interval: 5 }).toBeDefined();
    // 100 ms is the promise; the rest is a busy machine's.
    expect((stage.at(0).calls[before]?.abortedAt ?? 0) - leftAt).toBeLessThan(400);
    await settled();
    expect(await lastLine()).toMatchObject({ status: 499 });
  });

  it('in the middle of its own body is no error of anybody', async () => {
    const before = stage.at(0).calls.length;
    const socket = await open();
    socket.write(rawPost('/v1/chat/completions', JSON.stringify(HI), { 'x-gateway-api-key': KEY }).slice(0, -10));
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(1);
    socket.destroy();
    await settled();
    expect(stage.at(0).calls.length).toBe(before);
    expect(await lastLine()).toMatchObject({ status: 499 });
  });

  it('while a retry waits is asked for no more', async () => {
    stage.at(0).answer({ send: (response) => void response.writeHead(503).end('{}') });
    const before = stage.at(0).calls.length;
    const socket = await open();
    const headers = { 'x-gateway-api-key': KEY, 'x-gateway-config': 'retrying' };
    socket.write(rawPost('/v1/chat/completions', JSON.stringify(HI), headers));
    await stage.at(0).called(before + 1);
    socket.destroy();
    await settled();
    const asked = stage.at(0).calls.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(stage.at(0).calls.length).toBe(asked);
  });

  it('and many at once leave nothing behind', async () => {
    stage.at(0).answer(neverEnding(EVENT, { gapMs: 5 }));
    const sockets = await Promise.all(Array.from({ length: 60 }, open));
    for (const socket of sockets) socket.write(rawPost('/v1/chat/completions', STREAM, { 'x-gateway-api-key': KEY }));
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight'), { timeout: 10_000 }).toBe(60);
    for (const socket of sockets) socket.destroy();
    await settled();
    await expect.poll(() => stage.at(0).connections.open, { timeout: 10_000 }).toBeLessThan(5);
  });
});

describe('a caller who reads slowly', () => {
  it('holds the upstream back, not the gateway’s memory', async () => {
    stage.at(0).answer(neverEnding(EVENT));
    const sockets = await Promise.all(Array.from({ length: 20 }, open));
    const before = process.memoryUsage();
    for (const socket of sockets) {
      socket.pause();
      socket.write(rawPost('/v1/chat/completions', STREAM, { 'x-gateway-api-key': KEY }));
    }
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const { external, heapUsed } = process.memoryUsage();
    const grown = external + heapUsed - before.external - before.heapUsed;
    // The scripted upstream lives in this process too, and so does what nobody has collected yet.
    expect(grown / 20).toBeLessThan(5 * 1024 * 1024);
    expect((await stage.gateway.chat(HI, { 'x-gateway-config': 'nobody' })).status).toBe(400);
    for (const socket of sockets) socket.destroy();
    await settled();
  });
});

describe('a caller who half-closes', () => {
  it('is taken as gone, as proxies do', async () => {
    stage.at(0).answer(hangBeforeHeaders);
    const before = stage.at(0).calls.length;
    const socket = await open();
    socket.end(rawPost('/v1/chat/completions', JSON.stringify(HI), { 'x-gateway-api-key': KEY }));
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
    for (const call of stage.at(0).calls.slice(before)) await expect.poll(() => call.abortedAt).toBeDefined();
    await settled();
  });
});

/** G30 and G31: callers who read or send too slowly are cut off in time, told so where they can be, and logged as such. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { config } from '../fakes/objects.ts';
import { openAiEvent } from '../fakes/openai-wire.ts';
import { rawPost } from '../fakes/raw.ts';
import { chat, huge, neverEnding, pieces, type Reply } from '../fakes/replies.ts';
import type { Upstream } from '../fakes/upstream.ts';
import { PATHS, streamBody, WIRES, type Wire } from './stream-stage.ts';

const WRITE_IDLE_MS = 400;
const REQUEST_MS = 600;
const EVENT = openAiEvent({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta: { content: 'word '.repeat(100) }, finish_reason: null }],
});

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(
    1,
    ([upstream]) => {
      const up = upstream as Upstream;
      const whole = { strategy: { mode: 'single', stream_delivery: 'whole' }, targets: [target(up)] };
      return config('openai', target(up)) + config('whole', whole);
    },
    () => ({ limits: { writeIdleMs: WRITE_IDLE_MS, headersMs: 300, requestMs: REQUEST_MS } }),
  );
});
afterAll(() => stage.close());

function open(): Promise<Socket> {
  const { hostname, port } = new URL(stage.gateway.origin);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () => resolve(socket));
    socket.on('error', () => undefined);
  });
}

function post(client: Wire, body: object, name = 'openai'): string {
  const headers = { 'x-gateway-api-key': stage.gateway.key, 'x-gateway-config': name };
  return rawPost(PATHS[client], JSON.stringify(body), headers);
}

/** What came, once the other side has closed. */
function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += String(bytes);
    });
    socket.on('close', () => resolve(text));
  });
}

async function newLines(since: number): Promise<readonly Record<string, unknown>[]> {
  return (await stage.gateway.logs()).filter(({ msg }) => msg === 'request').slice(since);
}

async function lineCount(): Promise<number> {
  return (await newLines(0)).length;
}

/** Whether the gateway has let go of a connection whose other end does not read: writing to it fails. */
async function isCut(socket: Socket): Promise<boolean> {
  if (!socket.destroyed) socket.write('x');
  return socket.destroyed;
}

const UNREAD: readonly (readonly [what: string, config: string, body: object, reply: Reply])[] = [
  ['a stream without end', 'openai', streamBody('openai'), neverEnding(EVENT)],
  ['an answer of 30 MB', 'openai', HI, huge(30 * 1024 * 1024)],
  [
    'a stream of 30 MB that is held',
    'whole',
    streamBody('openai'),
    pieces([EVENT.repeat(60_000), openAiEvent('[DONE]')]),
  ],
  ['a stream that broke off', 'openai', streamBody('openai'), pieces([EVENT.repeat(60_000), 'data: hello\n\n'])],
];

describe('a caller who does not read', () => {
  it.each(UNREAD)('%s is cut off, and so is the upstream', async (_what, name, body, reply) => {
    const before = await lineCount();
    const asked = stage.at(0).calls.length;
    stage.at(0).answer(reply);
    const socket = await open();
    socket.pause();
    socket.write(post('openai', body, name));
    await stage.at(0).called(asked + 1);
    await expect.poll(() => isCut(socket), { timeout: 15_000, interval: 50 }).toBe(true);
    await expect.poll(() => stage.at(0).calls[asked]?.abortedAt ?? stage.at(0).calls[asked]?.finishedAt).toBeDefined();
    await expect.poll(() => stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
    const lines = await newLines(before);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ status: 499 });
    stage.at(0).answer(chat());
    expect((await stage.gateway.chat(HI, { 'x-gateway-config': 'openai' })).status).toBe(200);
  });

  it('for a while, and then does, gets all of it', async () => {
    stage.at(0).answer(huge(12 * 1024 * 1024));
    const socket = await open();
    socket.pause();
    socket.write(post('openai', HI));
    await new Promise((resolve) => setTimeout(resolve, WRITE_IDLE_MS / 2));
    const bytes = await new Promise<number>((resolve) => {
      let sum = 0;
      socket.on('data', (chunk) => {
        sum += chunk.length;
        if (sum > 12 * 1024 * 1024) resolve(sum);
      });
      socket.on('close', () => resolve(-1));
      socket.resume();
    });
    expect(bytes).toBeGreaterThan(12 * 1024 * 1024);
    socket.destroy();
  });

  it('after its answer is not cut off: the connection is kept', async () => {
    stage.at(0).answer(chat());
    const socket = await open();
    let text = '';
    socket.on('data', (bytes) => {
      text += String(bytes);
    });
    for (let turn = 1; turn <= 2; turn += 1) {
      socket.write(post('openai', HI));
      await expect.poll(() => text.match(/HTTP\/1\.1 200/g)?.length).toBe(turn);
      await new Promise((resolve) => setTimeout(resolve, WRITE_IDLE_MS + 200));
    }
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });
});

describe('a caller whose body comes slowly', () => {
  it.each(WIRES)('is told so with 408, in the words of %s, and the connection is closed', async (client) => {
    const before = await lineCount();
    const asked = stage.at(0).calls.length;
    const socket = await open();
    const whole = post(client, streamBody(client));
    const text = untilClosed(socket);
    socket.write(whole.slice(0, -30));
    const drip = setInterval(() => socket.write('a'), 300);
    const answer = await text;
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    const { error, type } = JSON.parse(answer.slice(answer.indexOf('{'))) as { error: object; type?: string };
    expect(error).toMatchObject({ type: 'timeout_error', code: 'request_timeout' });
    expect(type).toBe(client === 'anthropic' ? 'error' : undefined);
    const lines = await newLines(before);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ status: 408, error: 'request_timeout', attempts: 0 });
    expect(stage.at(0).calls.length).toBe(asked);
    expect(await stage.gateway.metric('modelgateway_requests_in_flight')).toBe(0);
  });

  it('but in time is served', async () => {
    stage.at(0).answer(chat());
    const socket = await open();
    const whole = post('openai', HI);
    let text = '';
    socket.on('data', (bytes) => {
      text += String(bytes);
    });
    for (const part of whole.match(/[\s\S]{1,60}/g) ?? []) {
      socket.write(part);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  it('has no limit on the answer: a stream may last longer than a request', async () => {
    const events = Array.from({ length: 12 }, () => EVENT);
    stage.at(0).answer(pieces([...events, openAiEvent('[DONE]')], { gapMs: REQUEST_MS / 8 }));
    const response = await stage.gateway.chat(streamBody('openai'), { 'x-gateway-config': 'openai' });
    expect((await response.text()).endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

describe('callers whose heads come slowly', () => {
  it('300 of them are told so with 408, and others are served meanwhile', async () => {
    stage.at(0).answer(chat());
    const sockets = await Promise.all(Array.from({ length: 300 }, open));
    const texts = sockets.map(untilClosed);
    for (const socket of sockets) socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-a: ');
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('a');
    }, 100);
    for (let turn = 0; turn < 20; turn += 1)
      expect((await stage.gateway.chat(HI, { 'x-gateway-config': 'openai' })).status).toBe(200);
    const answers = await Promise.all(texts);
    clearInterval(drip);
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
  });
});

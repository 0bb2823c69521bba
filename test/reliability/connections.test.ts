/** Connections to upstreams: kept, given up and renewed as HTTP/1.1 has it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HI, type Stage, startStage, target } from '../conformance/stage.ts';
import { startNetProxy } from '../fakes/net.ts';
import { config, defaultConfig } from '../fakes/objects.ts';
import { openAiChat } from '../fakes/openai-wire.ts';
import { chat, chatStream, json, problem, rawBytes } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';

let stage: Stage;
let upstream: Upstream;
beforeAll(async () => {
  stage = await startStage(0);
});
afterAll(() => stage.close());
beforeEach(async () => {
  upstream = await startUpstream(chat());
  stage.gateway.apply(defaultConfig('house', target(upstream)));
  return () => upstream.close();
});

async function ask(body: object = HI): Promise<number> {
  const response = await stage.gateway.chat(body);
  await response.text();
  return response.status;
}

describe('a connection', () => {
  it('serves one request after the other', async () => {
    for (let request = 0; request < 10; request += 1) expect(await ask()).toBe(200);
    expect(upstream.connections.accepted).toBe(1);
  });

  it('serves again after errors and streams that were read to their end', async () => {
    upstream.answer([problem(500), chatStream(), json(429, {}), chat()]);
    expect(await ask()).toBe(500);
    expect(await ask({ ...HI, stream: true })).toBe(200);
    expect(await ask()).toBe(429);
    expect(await ask()).toBe(200);
    expect(upstream.connections.accepted).toBe(1);
  });

  it('is one of as many as there are requests at once, and no more', async () => {
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    const opened = upstream.connections.accepted;
    expect(opened).toBeLessThanOrEqual(20);
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(upstream.connections.accepted).toBeLessThanOrEqual(20);
  });

  it.each([
    ['says close', { connection: 'close' }],
    ['says that it keeps none', { 'keep-alive': 'timeout=1', connection: 'keep-alive' }],
  ])('to an upstream that %s is not used again', async (_what, headers) => {
    upstream.answer(json(200, openAiChat(), headers));
    for (let request = 0; request < 3; request += 1) expect(await ask()).toBe(200);
    expect(upstream.connections.accepted).toBe(3);
  });

  it('that the upstream closed while it was idle is not missed', async () => {
    const body = JSON.stringify(openAiChat());
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    upstream.answer(rawBytes([head + body]));
    for (let request = 0; request < 5; request += 1) {
      expect(await ask()).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  it('that died unnoticed is replaced, without a word to the caller', async () => {
    const proxy = await startNetProxy(upstream.origin);
    try {
      const through = { provider: 'openai', api_key: 'k', custom_host: `${proxy.origin}/v1` };
      stage.gateway.apply(config('proxied', through) + defaultConfig('house', through));
      expect(await ask()).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      upstream.answer([{ send: (response) => void response.socket?.resetAndDestroy() }, chat()]);
      expect(await ask()).toBe(200);
      expect(upstream.calls.length).toBe(3);
    } finally {
      await proxy.close();
    }
  });

  it('goes to the new host after a change of manifests', async () => {
    const other = await startUpstream(chat({ text: 'from the other' }));
    try {
      expect(await ask()).toBe(200);
      stage.gateway.apply(defaultConfig('house', target(other)));
      const response = await stage.gateway.chat(HI);
      expect(await response.text()).toContain('from the other');
    } finally {
      await other.close();
    }
  });

  it('is never shared by two requests at a time', async () => {
    upstream.answer((call) => chat({ text: String((JSON.parse(call.body) as { user: string }).user) }));
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const response = await stage.gateway.chat({ ...HI, user: `user-${index}` });
        const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
        return choices[0]?.message.content === `user-${index}`;
      }),
    );
    expect(answers.every(Boolean)).toBe(true);
  });
});

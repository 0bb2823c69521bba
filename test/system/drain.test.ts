/** The way out: what runs is finished, what does not end is told so, the exit status is 0. */
import { afterEach, describe, expect, it } from 'vitest';
import { startTestGateway } from '../fakes/gateway.ts';
import { apiKey, defaultConfig } from '../fakes/objects.ts';
import { openAiEvent, openAiEvents } from '../fakes/openai-wire.ts';
import { after, chat, gated, neverEnding, pieces } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { endAll, type Running, start } from '../operator/embedded-process.ts';
import { makeFolder } from '../operator/folder.ts';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await endAll();
  await Promise.all(closing.splice(0).map((each) => each.close()));
});

const KEY = 'drain-key-0123456789abc';
const HI = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const EVENT = openAiEvent({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }],
});

async function upstreamOf(reply: Parameters<typeof startUpstream>[0]): Promise<Upstream> {
  const upstream = await startUpstream(reply);
  closing.push(upstream);
  return upstream;
}

function manifests(upstream: Upstream): string {
  return (
    defaultConfig('house', { provider: 'openai', api_key: 'k', custom_host: `${upstream.origin}/v1` }) +
    apiKey('drain', KEY)
  );
}

function ask({ origin }: { origin: string }, body: object = HI): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify(body),
  });
}

describe.each(['SIGTERM', 'SIGINT'] as const)('a process that gets %s', (signal) => {
  it('finishes what runs, says close, and exits with 0', async () => {
    const gate = gated(chat({ text: 'at last' }));
    const upstream = await upstreamOf(gate.reply);
    const running: Running = await start(makeFolder({ 'm/a.yaml': manifests(upstream) }), ['--manifests', 'm']);
    const answer = ask(running);
    await upstream.called(1);
    running.child.kill(signal);
    await expect.poll(async () => (await fetch(`${running.admin}/readyz`)).status).toBe(503);
    expect((await fetch(`${running.admin}/healthz`)).status).toBe(200);
    gate.open();
    const response = await answer;
    expect(await response.text()).toContain('at last');
    expect(response.headers.get('connection')).toBe('close');
    expect(await running.ended).toBe(0);
    await expect(ask(running)).rejects.toThrow();
  });

  it('finishes a stream to its end', async () => {
    const upstream = await upstreamOf(pieces(openAiEvents({ text: 'one two three four five' }), { gapMs: 60 }));
    const running = await start(makeFolder({ 'm/a.yaml': manifests(upstream) }), ['--manifests', 'm']);
    const response = await ask(running, { ...HI, stream: true });
    running.child.kill(signal);
    expect(await response.text()).toMatch(/five[\s\S]*\[DONE\]\n\n$/);
    expect(await running.ended).toBe(0);
  });

  it('twice, a second apart, does not wait any longer', async () => {
    const upstream = await upstreamOf(neverEnding(EVENT, { gapMs: 20 }));
    const running = await start(makeFolder({ 'm/a.yaml': manifests(upstream) }), ['--manifests', 'm']);
    const response = await ask(running, { ...HI, stream: true });
    const reading = response.text().catch(() => 'broken');
    running.child.kill(signal);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    running.child.kill(signal);
    expect(await running.ended).toBe(1);
    await reading;
  });
});

describe('a gateway that drains', () => {
  it('ends a stream past the limit with an error event', async () => {
    const upstream = await upstreamOf(neverEnding(EVENT, { gapMs: 10 }));
    const gateway = await startTestGateway({ manifests: manifests(upstream), drainMs: 200 });
    closing.push(gateway);
    const response = await gateway.chat({ ...HI, stream: true });
    const reading = response.text();
    await gateway.close();
    const text = await reading;
    expect(text).toContain('"code":"draining"');
    expect(text).not.toContain('[DONE]');
    await expect.poll(() => upstream.calls[0]?.abortedAt).toBeDefined();
  });

  it('keeps accepting for its grace, not ready from the first moment', async () => {
    const upstream = await upstreamOf(chat());
    const gateway = await startTestGateway({ manifests: manifests(upstream), graceMs: 400 });
    closing.push(gateway);
    const { origin, adminOrigin } = gateway;
    const closed = gateway.close();
    expect((await fetch(`${adminOrigin}/readyz`)).status).toBe(503);
    const response = await ask({ origin });
    expect(response.status).toBe(200);
    expect(response.headers.get('connection')).toBe('close');
    await response.text();
    await closed;
    await expect(ask({ origin })).rejects.toThrow();
  });

  it('is done at once where nothing runs', async () => {
    const gateway = await startTestGateway({ drainMs: 60_000 });
    const startedMs = performance.now();
    await gateway.close();
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('cuts what is no stream when its limit is over', async () => {
    const upstream = await upstreamOf(after(60_000, chat()));
    const gateway = await startTestGateway({ manifests: manifests(upstream), drainMs: 100 });
    closing.push(gateway);
    const asked = ask(gateway).then(
      (response) => response.status,
      () => 'cut',
    );
    await upstream.called(1);
    await gateway.close();
    expect(await asked).not.toBe(200);
  });
});

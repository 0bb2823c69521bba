/** The harness: a gateway that is fed with manifests. What the gateway itself does is tested elsewhere. */
import { afterEach, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts';
import { chat } from './replies.ts';
import { startUpstream } from './upstream.ts';

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.close();
});

async function gateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const started = await startTestGateway(options);
  running.push(started);
  return started;
}

function config(name: string, spec: string): string {
  return `apiVersion: modelgateway.dev/v1alpha1\nkind: GatewayConfig\nmetadata: {name: ${name}}\nspec: ${spec}\n---\n`;
}

const SAY = { model: 'echo', messages: [{ role: 'user', content: 'hello' }] };

describe('test gateway', () => {
  it('answers through the simulator, and tells its log and metrics', async () => {
    const own = await gateway({ manifests: config('sim', '{provider: simulator}') });
    const response = await own.chat(SAY, { 'x-gateway-config': 'sim' });
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'hello' } }] });
    expect(response.status).toBe(200);
    expect(await own.metric('modelgateway_requests_total')).toBe(1);
    expect(await own.metric('modelgateway_requests_total', { no: 'such' })).toBe(0);
    const lines = await own.logs();
    expect(lines.some((line) => JSON.stringify(line).includes('/v1/chat/completions'))).toBe(true);
  });

  it('swaps manifests live', async () => {
    const upstream = await startUpstream(chat({ text: 'from there' }));
    running.push(upstream);
    const own = await gateway({ manifests: config('c', '{provider: simulator}') });
    own.apply(config('c', `{provider: openai, custom_host: "${upstream.origin}/v1"}`));
    const answer = await (await own.chat(SAY, { 'x-gateway-config': 'c' })).json();
    expect(answer).toMatchObject({ choices: [{ message: { content: 'from there' } }] });
    expect(upstream.calls[0]?.path).toBe('/v1/chat/completions');
  });

  it('makes keys as an operator would', async () => {
    const manifests = `apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: other}\nspec: {type: workspace-service}\n`;
    const own = await gateway({ manifests: `${config('sim', '{provider: simulator}')}${manifests}` });
    const key = own.keyIn('default', 'other-api-key');
    const headers = { 'x-gateway-config': 'sim', 'x-gateway-api-key': key };
    expect((await own.chat(SAY, headers)).status).toBe(200);
    expect((await own.chat(SAY, { ...headers, 'x-gateway-api-key': '' })).status).toBe(401);
  });

  it('tells a test of its mistakes, unless they are what is tested', async () => {
    const own = await gateway();
    const bad = config('bad', '{provider: nobody, api_key: x}');
    expect(() => own.apply(bad)).toThrow(/GatewayConfig default\/bad/);
    expect(() => own.apply('kind: [')).toThrow(/test\.yaml/);
    const statuses = own.apply(bad, { allowComplaints: true });
    expect(statuses.find(({ name }) => name === 'bad')?.served).toBe('none');
  });

  it('can be empty, and closed twice', async () => {
    const own = await gateway({ empty: true });
    expect((await fetch(`${own.adminOrigin}/readyz`)).status).toBe(503);
    await Promise.all([own.close(), own.close()]);
    await expect(fetch(own.origin)).rejects.toThrow();
  });
});

/** A gateway whose configs keep answers, before one scripted upstream, with two tenants. */
import { randomUUID } from 'node:crypto';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../fakes/gateway.ts';
import type { OpenAiAnswer } from '../fakes/openai-wire.ts';
import { openAiChat } from '../fakes/openai-wire.ts';
import { chatStream, json, type Reply } from '../fakes/replies.ts';
import { type Call, startUpstream, type Upstream } from '../fakes/upstream.ts';

export const HI = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] } as const;
export const CACHED = { cache: { mode: 'simple' } } as const;

export interface CacheStage {
  readonly gateway: TestGateway;
  readonly upstream: Upstream;
  /** The config as `x-gateway-config`, with the upstream as its provider. */
  config(more?: object): Record<string, string>;
  /** A chat completion with `CACHED`; `headers` are added. */
  ask(body?: object, headers?: Readonly<Record<string, string>>, more?: object): Promise<Response>;
  /** The key of the other tenant, `team-b`. */
  readonly otherKey: string;
  close(): Promise<void>;
}

/** Each call is answered with a text of its own, as a stream where one is asked for. */
export function numbered(answer: OpenAiAnswer = {}): (call: Call, index: number) => Reply {
  return (call, index) => {
    const said = { text: `answer number ${index + 1}`, ...answer };
    const { stream } = JSON.parse(call.body) as { stream?: boolean };
    return stream === true ? chatStream(said) : json(200, openAiChat(said));
  };
}

const OTHER = 'other-tenant-key-0123456789';

export const OTHER_TENANT = `
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: team-b}
stringData: {api_key: ${OTHER}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: other, namespace: team-b}
spec: {type: workspace-service, secret_name: other}
`;

export async function startCacheStage(
  options: TestGatewayOptions | ((upstream: Upstream) => TestGatewayOptions) = {},
): Promise<CacheStage> {
  const upstream = await startUpstream(numbered());
  const { manifests = '', ...rest } = typeof options === 'function' ? options(upstream) : options;
  const all = [OTHER_TENANT, manifests].filter((text) => text !== '').join('\n---\n');
  const gateway = await startTestGateway({ manifests: all, requestHosts: [upstream.origin], ...rest });
  const config = (more: object = CACHED) => ({
    'x-gateway-config': JSON.stringify({
      provider: 'openai',
      api_key: 'upstream-key',
      custom_host: `${upstream.origin}/v1`,
      ...more,
    }),
  });
  return {
    gateway,
    upstream,
    config,
    otherKey: OTHER,
    ask: (body = HI, headers = {}, more = CACHED) => gateway.chat(body, { ...config(more), ...headers }),
    async close() {
      await gateway.close();
      await upstream.close();
    },
  };
}

export interface Told {
  readonly status: number;
  readonly cache: string | null;
  readonly text: string;
}

export async function toldBy(answer: Response | Promise<Response>): Promise<Told> {
  const response = await answer;
  const body = (await response.json()) as { choices?: { message: { content: string } }[] };
  return {
    status: response.status,
    cache: response.headers.get('x-gateway-cache-status'),
    text: body.choices?.[0]?.message.content ?? '',
  };
}

/** A question that no other test has asked. */
export function question(about: string = randomUUID()): {
  model: string;
  messages: { role: string; content: string }[];
} {
  return { model: 'm', messages: [{ role: 'user', content: about }] };
}

/** Texts of a stream's events, and whether it was finished. */
export async function streamed(
  answer: Response | Promise<Response>,
): Promise<{ text: string; done: boolean; raw: string; cache: string | null }> {
  const response = await answer;
  const raw = await response.text();
  const events = raw
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as { choices?: { delta?: { content?: string } }[] });
  return {
    text: events.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''),
    done: raw.endsWith('data: [DONE]\n\n'),
    raw,
    cache: response.headers.get('x-gateway-cache-status'),
  };
}

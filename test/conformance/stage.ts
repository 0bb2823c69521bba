/** One gateway before scripted upstreams, fed with manifests that may name them. */
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../fakes/gateway.ts';
import { chat } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';

export interface Stage {
  readonly gateway: TestGateway;
  /** What it was fed with. */
  readonly manifests: string;
  /** In the order in which they were asked for; each answers with a chat completion unless scripted. */
  readonly upstreams: readonly Upstream[];
  at(index: number): Upstream;
  close(): Promise<void>;
}

export const HI = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] } as const;
/** The same through Anthropic's dialect. */
export const HI_MESSAGE = { ...HI, max_tokens: 16 } as const;

/** An OpenAI-wire target at an upstream. */
export function target(upstream: Upstream, more: object = {}): object {
  return { provider: 'openai', api_key: 'upstream-key', custom_host: `${upstream.origin}/v1`, ...more };
}

export async function startStage(
  count: number,
  manifests: (upstreams: readonly Upstream[]) => string = () => '',
  options: (upstreams: readonly Upstream[]) => TestGatewayOptions = () => ({}),
): Promise<Stage> {
  const upstreams = await Promise.all(Array.from({ length: count }, () => startUpstream(chat())));
  const fed = manifests(upstreams);
  const gateway = await startTestGateway({ manifests: fed, ...options(upstreams) });
  return {
    gateway,
    manifests: fed,
    upstreams,
    at(index) {
      const upstream = upstreams[index];
      if (upstream === undefined) throw new Error(`there is no upstream ${index}`);
      return upstream;
    },
    async close() {
      await gateway.close();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    },
  };
}

/** Status and `error` of an answer. */
export async function failureOf(
  response: Response,
): Promise<{ status: number; code: unknown; type: unknown; message: string; param: unknown }> {
  const body = (await response.json()) as { error?: Record<string, unknown> };
  const { code, type, message, param } = body.error ?? {};
  return { status: response.status, code, type, message: String(message), param };
}

/** One gateway before an upstream of each wire format, and clients of both official SDKs. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startTestGateway, type TestGateway } from '../fakes/gateway.ts';
import { config } from '../fakes/objects.ts';
import { json } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';

export const WIRES = ['openai', 'anthropic'] as const;
export type Wire = (typeof WIRES)[number];

export const SDKS = ['openai', 'anthropic'] as const;
export type Sdk = (typeof SDKS)[number];
export const COMBINATIONS = SDKS.flatMap((sdk) => WIRES.map((wire) => [sdk, wire] as const));

export interface Stage {
  readonly gateway: TestGateway;
  readonly upstream: Readonly<Record<Wire, Upstream>>;
  /** Clients whose requests end at an upstream of that wire. They never try again by themselves. */
  openai(wire: Wire, headers?: Record<string, string>): OpenAI;
  anthropic(wire: Wire, headers?: Record<string, string>): Anthropic;
  close(): Promise<void>;
}

const NOTHING_SCRIPTED = json(500, { error: { message: 'nothing is scripted', type: 'server_error' } });

/**
 * Configs `openai` and `anthropic`; requests may name the upstreams' origins as their host. `more`: manifests besides, by
 * the base URL of each upstream.
 */
export async function startStage(more: (baseUrl: Readonly<Record<Wire, string>>) => string = () => ''): Promise<Stage> {
  const [openai, anthropic] = await Promise.all([startUpstream(NOTHING_SCRIPTED), startUpstream(NOTHING_SCRIPTED)]);
  const upstream = { openai, anthropic };
  const baseUrl = { openai: `${openai.origin}/v1`, anthropic: `${anthropic.origin}/v1` };
  const manifests = WIRES.map((wire) =>
    config(wire, { provider: wire, api_key: 'upstream-key', custom_host: baseUrl[wire] }),
  ).join('');
  const requestHosts = [openai.origin, anthropic.origin];
  const gateway = await startTestGateway({ manifests: manifests + more(baseUrl), requestHosts });
  const defaultHeaders = (wire: Wire, headers: Record<string, string> = {}) => ({
    'x-gateway-config': wire,
    ...headers,
  });
  return {
    gateway,
    upstream,
    openai: (wire, headers) =>
      new OpenAI({
        baseURL: `${gateway.origin}/v1`,
        apiKey: gateway.key,
        maxRetries: 0,
        defaultHeaders: defaultHeaders(wire, headers),
      }),
    anthropic: (wire, headers) =>
      new Anthropic({
        baseURL: gateway.origin,
        apiKey: gateway.key,
        maxRetries: 0,
        defaultHeaders: defaultHeaders(wire, headers),
      }),
    close: async () => {
      await gateway.close();
      await Promise.all([openai.close(), anthropic.close()]);
    },
  };
}

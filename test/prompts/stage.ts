/** A gateway that keeps prompts, before one scripted upstream. */
import { type Stage, startStage, target } from '../conformance/stage.ts';
import { apiKey, object, secret } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';

export const RENDERER_KEY = 'renderer-key-of-prompts';
export const OTHER_KEY = 'other-workspace-key-of-prompts';
const SCOPES = { scopes: ['prompts.render', 'completions.write'] };

export function prompt(name: string, spec: object, annotations?: Readonly<Record<string, string>>): string {
  return object('Prompt', name, spec, annotations === undefined ? {} : { annotations });
}

export function partial(name: string, string: string, more: object = {}): string {
  return object('PromptPartial', name, { string, ...more });
}

/** Of one message of a user. */
export function asking(content: unknown, more: object = {}): object {
  return { messages: [{ role: 'user', content }], ...more };
}

/** Keys that may render, and an Integration `main` that leads to the upstream. */
export function surroundings({ origin }: Upstream): string {
  const mapping = { target_field: 'api_key', secret_name: 'upstream', secret_key: 'key' };
  return [
    apiKey('renderer', RENDERER_KEY, SCOPES),
    apiKey('other', OTHER_KEY, SCOPES, 'other'),
    secret('upstream', { key: 'sk-main' }),
    object('Integration', 'main', {
      provider: 'openai',
      secret_mappings: [mapping],
      configurations: { custom_host: `${origin}/v1` },
    }),
    object('GatewayConfig', 'house', target({ origin } as Upstream)),
  ].join('');
}

export interface PromptStage extends Stage {
  /** Replaces the prompts, live. */
  become(prompts: string, allowComplaints?: boolean): void;
  render(reference: string, body: unknown, key?: string): Promise<Response>;
  /** `data` of a prompt that renders. */
  rendered(reference: string, variables?: object, root?: object): Promise<Record<string, unknown>>;
  complete(reference: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

export async function startPromptStage(prompts = ''): Promise<PromptStage> {
  const stage = await startStage(1, ([upstream]) => (upstream === undefined ? '' : surroundings(upstream)) + prompts);
  const path = (reference: string, call: string) => `/v1/prompts/${encodeURIComponent(reference)}/${call}`;
  const render: PromptStage['render'] = (reference, body, key = RENDERER_KEY) =>
    stage.gateway.post(path(reference, 'render'), body, { 'x-gateway-api-key': key });
  return {
    ...stage,
    become: (text, allowComplaints = false) =>
      void stage.gateway.apply(surroundings(stage.at(0)) + text, { allowComplaints }),
    render,
    async rendered(reference, variables = {}, root = {}) {
      const response = await render(reference, { ...root, variables });
      const body = (await response.json()) as { success?: boolean; data?: Record<string, unknown> };
      if (body.success !== true || body.data === undefined) throw new Error(JSON.stringify(body));
      return body.data;
    },
    complete: (reference, body, headers = {}) => stage.gateway.post(path(reference, 'completions'), body, headers),
  };
}

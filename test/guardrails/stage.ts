/** A gateway with guardrails before scripted upstreams. */
import { type Stage, startStage, target } from '../conformance/stage.ts';
import type { TestGatewayOptions } from '../fakes/gateway.ts';
import { config, defaultConfig, object, type Placing } from '../fakes/objects.ts';
import type { Upstream } from '../fakes/upstream.ts';

export const HI = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
export const BAD = { model: 'm', messages: [{ role: 'user', content: 'a forbidden word' }] };

/** Fails where a text holds the word. */
export const NO_WORD = { id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } };
export const NO_WORD_INLINE = { 'default.contains': { words: ['forbidden'], operator: 'none' } };
export const REDACT = { id: 'default.regexReplace', parameters: { rule: 'secret', redactText: '***' } };

export function guardrail(name: string, checks: object[], actions: object = {}, placing?: Placing): string {
  return object('Guardrail', name, { checks, actions }, placing);
}

export type Manifests = (upstreams: readonly Upstream[]) => string;

/** `house`, the default, is a target at the first upstream with `spec` besides. */
export function startGuarded(
  spec: object,
  manifests: Manifests | string = '',
  options: { readonly count?: number; readonly gateway?: (upstreams: readonly Upstream[]) => TestGatewayOptions } = {},
): Promise<Stage> {
  return startStage(
    options.count ?? 1,
    (upstreams) => {
      const [first] = upstreams;
      if (first === undefined) return '';
      const house = defaultConfig('house', target(first, spec) as object);
      return house + (typeof manifests === 'string' ? manifests : manifests(upstreams));
    },
    options.gateway,
  );
}

/** A config whose targets are the upstreams, one after the other. */
export function fallbackConfig(
  name: string,
  upstreams: readonly Upstream[],
  more: readonly object[],
  spec: object = {},
): string {
  const targets = upstreams.map((upstream, index) => target(upstream, more[index] ?? {}));
  return config(name, { strategy: { mode: 'fallback', on_status_codes: [246, 446] }, targets, ...spec });
}

export interface Told {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed, where it is JSON. */
  readonly body: unknown;
  readonly text: string;
}

export async function tell(response: Response): Promise<Told> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
}

export const LOOSE = { 'x-gateway-strict-vendor-compliance': 'false' };

export async function lineOf(stage: Stage): Promise<Record<string, unknown> | undefined> {
  return (await stage.gateway.logs()).findLast(({ msg }) => msg === 'request');
}

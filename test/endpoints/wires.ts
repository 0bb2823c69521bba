/** One gateway before one upstream, reached over either wire by the name of a config. */
import { type Stage, startStage, target } from '../conformance/stage.ts';
import type { TestGatewayOptions } from '../fakes/gateway.ts';
import { config } from '../fakes/objects.ts';
import type { Reply } from '../fakes/replies.ts';

export type Json = Record<string, unknown>;
export type Wire = 'openai' | 'anthropic';

export interface Wires extends Stage {
  /** POST by way of the config `name`; the upstream gives `reply`. */
  ask(path: string, name: string, body: unknown, reply: Reply, headers?: Record<string, string>): Promise<Response>;
  /** Body that the upstream saw last. */
  sent(): Json;
  /** Headers that the upstream saw last. */
  sentHeaders(): Readonly<Record<string, unknown>>;
}

/** Configs `openai` and `anthropic`, and `openai-open` and `anthropic-open` with strict compliance off. */
export async function startWires(more = '', options: TestGatewayOptions = {}): Promise<Wires> {
  const stage = await startStage(
    1,
    (upstreams) =>
      upstreams.flatMap((upstream) => (['openai', 'anthropic'] as const).map((wire) => both(wire, upstream))).join('') +
      more,
    () => options,
  );
  return {
    ...stage,
    ask(path, name, body, reply, headers = {}) {
      stage.at(0).answer(reply);
      return stage.gateway.post(path, body, { 'x-gateway-config': name, ...headers });
    },
    sent: () => stage.at(0).json(-1),
    sentHeaders: () => stage.at(0).calls.at(-1)?.headers ?? {},
  };
}

function both(wire: Wire, upstream: Parameters<typeof target>[0]): string {
  const open = target(upstream, { provider: wire, strict_vendor_compliance: false });
  return config(wire, target(upstream, { provider: wire })) + config(`${wire}-open`, open);
}

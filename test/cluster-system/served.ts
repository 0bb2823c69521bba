/** An upstream that knows whose request it serves, and requests that tell it. */
import { chat, type Reply } from '../fakes/replies.ts';
import { type Call, startUpstream, type Upstream } from '../fakes/upstream.ts';
import type { Admission } from '../limits/stores/windows.ts';
import type { Stage } from './stage.ts';
import type { Manifest } from './world.ts';

/** Tokens of every answer. */
export const TOKENS_SERVED = 40;
const USAGE = { prompt_tokens: 10, completion_tokens: TOKENS_SERVED - 10, total_tokens: TOKENS_SERVED };

export interface Tally {
  /** Of each request: what was answered. */
  readonly statuses: readonly number[];
  readonly admitted: number;
}

export class Served {
  readonly upstream: Upstream;

  constructor(upstream: Upstream) {
    this.upstream = upstream;
  }

  /** The default config of the tenant leads here. */
  config(): Manifest {
    const spec = { provider: 'openai', api_key: 'any', custom_host: `${this.upstream.origin}/v1` };
    const annotations = { 'modelgateway.dev/default': 'true' };
    return {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'GatewayConfig',
      metadata: { name: 'chat', annotations },
      spec,
    };
  }

  /** Calls of one caller, by the upstream's own record. */
  of(caller: string): readonly Call[] {
    return this.upstream.calls.filter((call) => saidIn(call)[0] === caller);
  }

  /** When they were admitted: after they were sent, and before they arrived here. */
  admissionsOf(caller: string): readonly Admission[] {
    return this.of(caller).map((call) => ({ fromMs: Number(saidIn(call)[1]), toMs: call.receivedAt, amount: 1 }));
  }
}

export async function startServed(reply: Reply = chat({ usage: USAGE })): Promise<Served> {
  return new Served(await startUpstream(reply));
}

function saidIn({ body }: Call): readonly string[] {
  const { messages } = JSON.parse(body) as { messages: readonly { content: string }[] };
  return (messages[0]?.content ?? '').split(' ');
}

/** One chat at a gateway, which reserves a little more than the answer uses. */
export async function askAs(origin: string, caller: string, key: string): Promise<{ status: number; text: string }> {
  const content = `${caller} ${performance.now()}`;
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'm', max_tokens: TOKENS_SERVED - 10, messages: [{ role: 'user', content }] }),
  });
  return { status: response.status, text: await response.text() };
}

/** `count` requests of a caller, at all gateways in turn, `width` at a time. */
export async function burst(
  { gateways }: Pick<Stage, 'gateways'>,
  caller: string,
  key: string,
  count: number,
  width = 16,
): Promise<Tally> {
  const statuses: number[] = [];
  const numbers = Array.from({ length: count }, (_, number) => number).values();
  const work = async () => {
    for (const number of numbers) {
      const origin = gateways[number % gateways.length]?.origin ?? '';
      statuses.push((await askAs(origin, caller, key)).status);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  return { statuses, admitted: statuses.filter((status) => status === 200).length };
}

/** A limit on the key of a caller. */
export function limitOn(
  kind: 'RateLimitPolicy' | 'UsageLimitPolicy',
  name: string,
  caller: string,
  spec: object,
): Manifest {
  const about = { conditions: [{ key: 'api_key', value: caller }], group_by: [{ key: 'api_key' }] };
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { name }, spec: { ...about, ...spec } };
}

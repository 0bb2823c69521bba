/** Real requests to gateways, for what they show of the configuration in force. */
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { callerKey, configName } from './bench-world.ts';
import type { RunningGateway } from './stage.ts';

export interface Shown {
  readonly status: number;
  /** Of a 200: the model that answered. */
  readonly model: string | undefined;
}

const agent = new Agent({ connections: 32 });
const BODY = JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hi' }] });

/** What the config of this number answers, asked for by the caller of its namespace. */
export async function ask({ origin }: RunningGateway, index: number): Promise<Shown> {
  const answer = await request(`${origin}/v1/chat/completions`, {
    method: 'POST',
    dispatcher: agent,
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': callerKey(index),
      'x-gateway-config': configName(index),
    },
    body: BODY,
  });
  const { model } = Object(await answer.body.json());
  return { status: answer.statusCode, model: typeof model === 'string' ? model : undefined };
}

export interface Patience {
  /** From an answer to the next question. */
  readonly pollMs: number;
  readonly timeoutMs: number;
}

/** Resolves when every gateway shows it, each asked again and again. Rejects after `timeoutMs`. */
export async function untilAllShow(
  gateways: readonly RunningGateway[],
  index: number,
  isMeant: (shown: Shown) => boolean,
  { pollMs, timeoutMs }: Patience,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  await Promise.all(
    gateways.map(async (gateway) => {
      for (let shown = await ask(gateway, index); !isMeant(shown); shown = await ask(gateway, index)) {
        if (performance.now() > deadlineMs) {
          throw new Error(`${gateway.process.name} still shows ${JSON.stringify(shown)} after ${timeoutMs} ms`);
        }
        await setTimeout(pollMs);
      }
    }),
  );
}

/** The way out: readiness off, a grace, no new connections, running requests to their end, then an error for the rest. */
import { setImmediate as endOfTurn, setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from './errors.ts';
import type { GatewayState } from './gateway-state.ts';
import type { RequestContext } from './request-context.ts';
import { breakOff } from './serve-exchange.ts';

const POLL_MS = 20;
/** What was ended with an error may still be on its way out. */
const LAST_WORDS_MS = 500;

export async function drainRequests(
  gateway: GatewayState,
  api: FastifyInstance,
  limits: { graceMs: number; drainMs: number },
): Promise<void> {
  gateway.draining = true;
  if (limits.graceMs > 0) await wait(limits.graceMs);
  const closed = api.close();
  await idle(gateway, limits.drainMs);
  if (gateway.running.size > 0) {
    for (const context of gateway.running.list()) endNow(context);
    await idle(gateway, LAST_WORDS_MS);
  }
  await endOfTurn();
  api.server.closeAllConnections();
  await closed;
}

function endNow(context: RequestContext): void {
  const { stream, shared } = context.routed?.reply ?? {};
  const running = stream ?? shared;
  if (running === undefined)
    breakOff(context, new GatewayError('draining', 'This replica is shutting down: try again.'));
  else running.cut(new GatewayError('draining', 'This replica is shutting down: the stream was cut.'));
}

async function idle(gateway: GatewayState, limitMs: number): Promise<void> {
  const until = performance.now() + limitMs;
  while (gateway.running.size + gateway.operator.running > 0 && performance.now() < until) await wait(POLL_MS);
}

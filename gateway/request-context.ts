/** Everything that the phases of one request share. Made once; the phases fill it in their order. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndpointRow } from './endpoints.ts';
import type { Caller, Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import type { Plan } from './plan/plan.ts';
import type { Json } from './providers/provider.ts';
import type { GatewayReply } from './reply.ts';
import type { RequestHeaders } from './resolve/request-headers.ts';
import type { Rostered } from './roster.ts';
import type { Routed } from './route/reply.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

export interface RequestContext extends Rostered {
  readonly gateway: GatewayState;
  readonly exchange: Exchange;
  readonly endpoint: EndpointRow;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The snapshot that serves this request from its first phase to its last. */
  readonly snapshot: ActiveSnapshot;
  /** Bytes of the body as they came. */
  bytes: Buffer;
  body: Json;
  caller: Caller;
  /** Our own control headers, checked. */
  control: RequestHeaders;
  /** The caller's own provider credential (direct mode). */
  bearer: string | undefined;
  /** The header that carried the gateway key. */
  gatewayKeyIn: string | undefined;
  plan: Plan;
  routed: Routed<GatewayReply> | undefined;
  /** `performance.now()` at which all attempts together must have answered. */
  deadlineAt: number;
  /** The caller closed the connection. */
  gone: boolean;
  /** What to do when the caller leaves: set by whoever waits for something. */
  onGone: (() => void) | undefined;
  /** The connection must not be used again after this answer. */
  closing(): boolean;
}

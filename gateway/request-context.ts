/** Everything that the phases of one request share. Made once; the phases fill it in their order. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CacheTurn } from './cache/cache-turn.ts';
import type { EndpointRow } from './endpoints.ts';
import type { Caller, Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import type { Inspection } from './guardrails/inspection.ts';
import type { Admission } from './limits/admission.ts';
import type { Plan } from './plan/plan.ts';
import type { Json } from './providers/provider.ts';
import type { GatewayReply } from './reply.ts';
import type { RequestHeaders } from './resolve/request-headers.ts';
import type { Addressed } from './resolve/target-upstream.ts';
import type { Rostered } from './roster.ts';
import type { Routed } from './route/reply.ts';
import type { ActiveSnapshot } from './snapshot/active-snapshot.ts';

export interface RequestContext extends Rostered {
  readonly gateway: GatewayState;
  readonly exchange: Exchange;
  endpoint: EndpointRow;
  /** The stored prompt that the path names. */
  readonly promptReference: string | undefined;
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
  /** The last target that was asked for, and where it leads. */
  addressed: Addressed | undefined;
  /** What is reserved for it; undefined: nothing limits this request. */
  admission: Admission | undefined;
  /** What its guardrails say; undefined: it has none. */
  inspection: Inspection | undefined;
  /** Its dealings with the cache, the last where each target has its own; undefined: none is kept. */
  cacheTurn: CacheTurn | undefined;
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

/** The way of a request, straight down. A phase fills the context or throws a GatewayError; the first throw is the answer. */
import { assertBounds } from './bounds.ts';
import { answer } from './phases/answer.ts';
import { identify } from './phases/identify.ts';
import { read } from './phases/read.ts';
import { resolve } from './phases/resolve.ts';
import { routeRequest } from './phases/route.ts';
import type { RequestContext } from './request-context.ts';

export interface Phase {
  readonly name: string;
  readonly does: string;
  /** A promise only where there is something to wait for. */
  run(context: RequestContext): void | Promise<void>;
}

export const PHASES: readonly Phase[] = [
  { name: 'authenticate', does: 'who calls, and may this key ask at all: 401 403', run: identify },
  { name: 'read', does: 'size, type, depth and shape of the body: 400 408 413 415', run: read },
  {
    name: 'bound',
    does: 'the bounds of the fields: 400',
    run: (context) => assertBounds(context.body, context.endpoint.bounds),
  },
  { name: 'resolve', does: 'what applies: config, provider, metadata: 400', run: resolve },
  {
    name: 'route',
    does: "strategy tree, breakers, attempts, retries: 408 502 503 504, the upstream's own",
    run: routeRequest,
  },
  { name: 'answer', does: 'the reply that routing came to, or the stream to its end', run: answer },
];

/** The way of a request, straight down. A phase fills the context or throws a GatewayError; the first throw is the answer. */
import { assertBounds } from './bounds.ts';
import { admit } from './phases/admit.ts';
import { answer } from './phases/answer.ts';
import { identify } from './phases/identify.ts';
import { inspectIn } from './phases/inspect-in.ts';
import { fillPrompt } from './phases/prompt.ts';
import { purge } from './phases/purge.ts';
import { read } from './phases/read.ts';
import { recall } from './phases/recall.ts';
import { remember } from './phases/remember.ts';
import { renderPrompt } from './phases/render.ts';
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
  { name: 'resolve', does: 'what applies: config, provider, metadata: 400', run: resolve },
  { name: 'prompt', does: 'the stored prompt that it is made of: 400 404', run: fillPrompt },
  {
    name: 'bound',
    does: 'the bounds of the fields: 400',
    run: (context) => assertBounds(context.body, context.endpoint.bounds),
  },
  { name: 'inspect in', does: 'may it be said: guardrails of the request: 446', run: inspectIn },
  { name: 'admit', does: 'may it, now: rate limits, budgets, requests in flight: 400 412 429', run: admit },
  { name: 'recall', does: 'said before? the cache of the whole config', run: recall },
  {
    name: 'route',
    does: "strategy tree, breakers, attempts, retries, guardrails of targets and answers: 246 408 446 502 503 504, the upstream's own",
    run: routeRequest,
  },
  { name: 'answer', does: 'the reply that routing came to, or the stream to its end', run: answer },
  { name: 'remember', does: 'keep it: the cache', run: remember },
];

/** Of a prompt that is only filled in. */
export const RENDER_PHASES: readonly Phase[] = [
  ...PHASES.slice(0, 2),
  { name: 'render', does: 'the stored prompt, filled in: 400 404', run: renderPrompt },
];

/** Of a cache that is to be emptied. */
export const PURGE_PHASES: readonly Phase[] = [
  ...PHASES.slice(0, 1),
  { name: 'purge', does: 'nothing is given any more of what was kept: 403 409 503', run: purge },
];

/** Of feedback: who gives it, what it says, and where it goes. */
export function feedbackPhases(record: Phase['run']): readonly Phase[] {
  return [...PHASES.slice(0, 2), { name: 'feedback', does: 'told to log, metrics and span: 400', run: record }];
}

/** An answer that nobody had to be called for, as the caller gets it. */
import type { Json, Usage } from '../providers/provider.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import { asksUsage } from '../request-dialect.ts';
import type { CacheEntry } from './entry.ts';
import { ANSWER_FORMS } from './forms/forms.ts';
import type { SharedStream } from './shared-stream.ts';

/** As much of an entry as an answer is made of. */
export type KeptAnswer = Pick<CacheEntry, 'status' | 'body' | 'provider' | 'model' | 'usage' | 'cost'>;

/** What somebody else's call came to. */
export interface Landed {
  /** undefined: its stream ended as it should, but is nothing that can be given again. */
  readonly answer: KeptAnswer | undefined;
  readonly found: 'equal' | 'similar';
  /** Of those who took part in the stream. */
  readonly usage: Usage | undefined;
}

const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
const WHOLE = { 'content-type': 'application/json' };

const RECALLED = {
  isRecalled: true,
  ok: true,
  failure: 'none',
  // Nobody was asked: that is nothing to a breaker.
  final: true,
  headers: undefined,
  contextTooSmall: false,
  attempt: undefined,
  upstream: undefined,
  budgetKey: undefined,
  error: undefined,
  stream: undefined,
} as const;

/** A whole body, or the events of a finished stream where the caller asked for one. undefined: it cannot be made one. */
export function recalledReply(context: RequestContext, answer: KeptAnswer): GatewayReply | undefined {
  const isStream = context.exchange.stream;
  const body = isStream ? replayed(context, answer) : answer.body;
  if (body === undefined) return undefined;
  const { status } = answer;
  return { ...RECALLED, status, answerStatus: status, body, upstreamHeaders: isStream ? EVENT_STREAM : WHOLE };
}

/** A part in a stream that runs for somebody else. */
export function sharedReply(shared: SharedStream): GatewayReply {
  const terms = { body: undefined, upstreamHeaders: EVENT_STREAM, streaming: true, shared };
  return { ...RECALLED, ...terms, status: 200, answerStatus: 200 };
}

function replayed({ body, endpoint }: RequestContext, answer: KeptAnswer): string | undefined {
  const whole = JSON.parse(answer.body.toString('utf8')) as Json;
  return ANSWER_FORMS.get(endpoint.type)?.replay(whole, asksUsage(body));
}

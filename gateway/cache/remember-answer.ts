/** What becomes of an answer once it has gone out: it is kept, and told to those who waited for it. */
import type { Json } from '../providers/provider.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import type { Answered } from './answer-cache.ts';
import { brokenOff } from './broken-off.ts';
import type { CacheTurn } from './cache-turn.ts';
import { ANSWER_FORMS, assemblerOf } from './forms/forms.ts';
import { isAnswer } from './is-answer.ts';

/** After the last byte, or where the caller has left. */
export function rememberAnswer(context: RequestContext, turn: CacheTurn): void {
  const { routed, exchange } = context;
  const reply = routed?.reply;
  if (turn.recalled !== undefined || reply?.shared !== undefined) return;
  const isAnother = turn.target !== undefined && routed?.target !== turn.target;
  if (reply === undefined || isAnother || !reply.ok) return turn.fail(reply?.error ?? brokenOff(context), reply);
  if (reply.stream !== undefined && turn.tap?.ended !== true) return turn.fail(brokenOff(context));
  const answered = answeredBy(context, turn, reply);
  const { answers } = context.gateway.cache;
  const why = answers.remember(turn.key, answered, turn.rule.maxAgeMs);
  if (why === undefined && turn.meaning !== undefined)
    answers.rememberMeaning(turn.meaning.question, turn.meaning.vector, turn.rule.maxAgeMs);
  if (answered.denied || answered.noStore) return turn.scatter();
  const isWhole = why === undefined || why === 'too_large';
  turn.land({ answer: isWhole ? answered : undefined, found: 'equal', usage: exchange.usage });
}

function answeredBy(context: RequestContext, turn: CacheTurn, reply: GatewayReply): Answered {
  const { exchange, endpoint, inspection } = context;
  const body = exchange.stream ? assembled(context, turn, reply) : wholeBytes(reply.body ?? '');
  return {
    status: reply.answerStatus,
    dialect: endpoint.dialect,
    body: body ?? Buffer.alloc(0),
    provider: reply.upstream?.provider.name ?? '',
    model: exchange.answeredModel,
    usage: exchange.usage,
    cost: exchange.bill?.cost,
    complete: body !== undefined && isAnswer(endpoint.type, body),
    denied: inspection?.hasFailed === true,
    noStore: turn.noStore,
  };
}

/** undefined: it is nothing that could be put together. */
function assembled(
  { exchange, endpoint, gateway }: RequestContext,
  { tap }: CacheTurn,
  reply: GatewayReply,
): Buffer | undefined {
  const form = ANSWER_FORMS.get(endpoint.type);
  const heard =
    reply.stream === undefined && form !== undefined
      ? assemblerOf(form, gateway.cache.answers.maxEntryBytes)
      : tap?.assembler;
  // A stream that was held to its end is all there.
  if (reply.stream === undefined) heard?.push(reply.body ?? '');
  const whole = heard?.whole(exchange.usage);
  return whole && Buffer.from(JSON.stringify(withoutResults(whole)));
}

/** What guardrails said of one request is told anew of each. */
function withoutResults({ hook_results: _, ...answer }: Json): Json {
  return answer;
}

function wholeBytes(body: Buffer | string): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** Puts an answer that is all there to its guardrails: a whole one, or a stream that was held. */
import { ANSWER_FORMS, assemblerOf } from '../cache/forms/forms.ts';
import { GatewayError } from '../errors.ts';
import { failedReply } from '../failed-reply.ts';
import type { Json } from '../providers/provider.ts';
import type { GatewayReply } from '../reply.ts';
import type { RequestContext } from '../request-context.ts';
import { asksUsage } from '../request-dialect.ts';
import { EventLines } from '../stream/event-lines.ts';
import { MAX_EVENT_BYTES } from '../stream/pass-through.ts';
import type { StreamAnswer } from '../stream/stream-answer.ts';
import { answerTexts } from './answer-texts.ts';
import type { Inspection } from './inspection.ts';
import type { GuardsRun } from './run-guards.ts';
import { answerSubject } from './subjects.ts';

export async function judgeWhole(inspection: Inspection, reply: GatewayReply): Promise<GatewayReply> {
  const answer = parsed(reply.body ?? '');
  if (answer === undefined) return unreadable(inspection, reply, 'answered with broken JSON');
  const run = await ask(inspection, reply, answer);
  if (run.denial !== undefined) return denied(reply, inspection.denial(run.denial, 'answer'));
  return run.transformed ? { ...reply, body: JSON.stringify(run.subject.body) } : reply;
}

/** The stream was held to its end: it goes on as it came, or not at all. */
export async function judgeHeldStream(
  inspection: Inspection,
  reply: GatewayReply,
  stream: StreamAnswer,
): Promise<GatewayReply> {
  const { context } = inspection;
  const events = stream.takeWhole() ?? '';
  noteStream(context, stream);
  const held: GatewayReply = { ...reply, stream: undefined, streaming: false, body: events };
  const answer = wholeOf(context, stream, events) ?? textsOf(context, events);
  const run = await ask(inspection, reply, answer);
  if (run.denial !== undefined) return denied(held, inspection.denial(run.denial, 'answer'));
  if (!run.transformed) return held;
  const rewritten = ANSWER_FORMS.get(context.endpoint.type)?.replay(run.subject.body, asksUsage(context.body));
  if (rewritten === undefined) return unreadable(inspection, held, 'sent a stream that cannot be rewritten');
  return { ...held, body: rewritten };
}

function ask(inspection: Inspection, reply: GatewayReply, answer: Json): Promise<GuardsRun> {
  return inspection.askAfter(answerSubject(inspection.context, answer, reply.upstream?.provider.name));
}

function noteStream({ exchange }: RequestContext, stream: StreamAnswer): void {
  exchange.usage = stream.usage;
  exchange.outputEvents = stream.contentEvents;
  exchange.answeredModel = stream.model;
}

/** As a caller without `stream` would have got it; undefined: it holds something that cannot be added up. */
function wholeOf({ endpoint }: RequestContext, stream: StreamAnswer, events: Buffer | string): Json | undefined {
  const form = ANSWER_FORMS.get(endpoint.type);
  if (form === undefined) return undefined;
  const assembler = assemblerOf(form, Number.POSITIVE_INFINITY);
  assembler.push(events);
  return assembler.whole(stream.usage);
}

/** Its texts alone. */
function textsOf({ endpoint }: RequestContext, events: Buffer | string): Json {
  const texts = answerTexts(endpoint.dialect);
  const lines = new EventLines(MAX_EVENT_BYTES);
  lines.push(Buffer.from(events), ({ data }) => {
    const event = data === undefined ? undefined : parsed(data);
    if (event !== undefined) texts.add(event);
  });
  return texts.body();
}

function denied(reply: GatewayReply, error: GatewayError): GatewayReply {
  const { status } = error;
  return { ...reply, status, ok: false, failure: 'status', error, answerStatus: status, isAnswered: true };
}

function unreadable({ context }: Inspection, reply: GatewayReply, what: string): GatewayReply {
  const { upstream, attempt, upstreamHeaders = {} } = reply;
  const provider = upstream?.provider.name ?? '';
  const error = new GatewayError('upstream_invalid', `${provider} ${what}.`, { provider });
  if (upstream === undefined || attempt === undefined) return denied(reply, error);
  attempt.errorCode = error.code;
  return failedReply(error, upstream, attempt, upstreamHeaders, context.gone);
}

function parsed(text: Buffer | string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text.toString());
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

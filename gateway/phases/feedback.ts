/** What a caller thinks of an answer. Nothing is stored here: it goes to the log, to metrics and to the span, with the trace's id. */
import { randomUUID } from 'node:crypto';
import { freeObject, text } from '#crds/config/values.ts';
import { z } from '#crds/config/words.ts';
import { problemsOf } from '#crds/problems.ts';
import { plainHeaders, sendBody } from '../answer.ts';
import { GatewayError } from '../errors.ts';
import { recordFeedback } from '../guardrails/feedback.ts';
import type { RequestContext } from '../request-context.ts';
import { traceIdOf } from '../telemetry/trace-context.ts';

const words = {
  value: z.int().min(-10).max(10),
  weight: z.number().min(0).max(1).default(1),
  metadata: freeObject('Kept with the feedback.').default({}),
};
const newFeedback = z.strictObject({ trace_id: text(256, 'Trace that it is about.'), ...words });
const changedFeedback = z.strictObject(words);

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `POST`. Throws `invalid_value` naming the field. */
export function createFeedback(context: RequestContext): void {
  const { trace_id: traceId, ...word } = parsed(context, newFeedback);
  const id = randomUUID();
  const { gateway, exchange } = context;
  recordFeedback(gateway, exchange, { source: 'caller', id, traceId: traceIdOf(traceId), ...word });
  answerWith(context, id, 'saved');
}

/** `PUT` to the id that was given before: the same feedback, in other words. */
export function updateFeedback(context: RequestContext): void {
  const id = (context.request.url ?? '').split('?', 1)[0]?.split('/').at(-1) ?? '';
  if (!UUID.test(id))
    throw new GatewayError('invalid_value', 'The id must be one that POST /v1/feedback gave.', { param: 'id' });
  const word = parsed(context, changedFeedback);
  const { gateway, exchange } = context;
  recordFeedback(gateway, exchange, { source: 'caller', id, isUpdate: true, traceId: undefined, ...word });
  answerWith(context, id, 'updated');
}

function parsed<T>({ body }: RequestContext, schema: z.ZodType<T>): T {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const [first] = problemsOf(error, '');
  throw new GatewayError('invalid_value', `${first?.path ?? 'The body'} ${first?.message ?? 'is not valid'}.`, {
    ...(first === undefined ? {} : { param: first.path }),
  });
}

function answerWith(context: RequestContext, id: string, done: 'saved' | 'updated'): void {
  const answer = { status: 'success', message: `Feedback successfully ${done}`, feedback_ids: [id] };
  sendBody(context, 200, plainHeaders(context), JSON.stringify(answer));
}

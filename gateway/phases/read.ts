/** What is asked. */
import { parseJsonBody } from '../json-body.ts';
import { assertJsonRequest, readBody } from '../read-body.ts';
import type { RequestContext } from '../request-context.ts';

export async function read(context: RequestContext): Promise<void> {
  assertJsonRequest(context.request);
  context.bytes = await readBody(context);
  const body = parseJsonBody(context.bytes);
  context.body = body;
  context.exchange.stream = context.endpoint.streams && body['stream'] === true;
  context.exchange.requestedModel = typeof body['model'] === 'string' ? body['model'] : undefined;
}

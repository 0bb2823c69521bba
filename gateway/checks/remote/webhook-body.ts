/** What webhooks and logs are sent: never headers, which hold credentials. */
import type { Json } from '../../providers/provider.ts';
import type { Subject } from '../subject.ts';

export function subjectForWebhook(subject: Subject): Json {
  const { side, body, last } = subject;
  const half = { json: body, text: last };
  const about = side === 'request' ? { request: half } : { request: { json: subject.request ?? {} }, response: half };
  return {
    ...about,
    eventType: side === 'request' ? 'beforeRequestHook' : 'afterRequestHook',
    requestType: subject.endpointType,
    provider: subject.provider ?? null,
    model: subject.model ?? null,
    metadata: subject.metadata,
    stream: subject.stream,
  };
}

import { createHmac } from 'node:crypto';
import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';
import { CheckError, defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import type { CheckMeans } from '../means.ts';
import { endpointUrl, requestHeaders, timeout } from '../parameters.ts';
import type { Subject } from '../subject.ts';
import { parseReply, readReply, StatusError, unknownShape } from './post-json.ts';
import { subjectForWebhook } from './webhook-body.ts';

const NAME = 'The webhook';
const SIGNATURE = 'x-gateway-signature';

export const webhook = defineCheck({
  id: 'default.webhook',
  does: 'Asks a service of yours: it answers `{verdict, data, transformedData}`, and may put another body in the place of this one.',
  example: { webhookURL: 'https://checks.internal/verdict', timeout: 2000, retries: 1 },
  mutates: () => true,
  parameters: z.strictObject({
    webhookURL: endpointUrl('Where the service answers.'),
    headers: requestHeaders.default({}),
    secret: z
      .string()
      .min(16)
      .max(1024)
      .optional()
      .describe(`Signs each call: ${SIGNATURE} is "t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a dot and the body>".`),
    timeout: timeout(3000),
    retries: z
      .int()
      .min(0)
      .max(3)
      .default(1)
      .describe('Further tries after a network error, 429 or 5xx, within the timeout.'),
    not,
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ webhookURL, headers, secret, timeout: timeoutMs, retries, not: turned }, means) {
    const ask = async (subject: Subject, signal: AbortSignal): Promise<Finding> => {
      const body = JSON.stringify(subjectForWebhook(subject));
      const request = { method: 'POST', url: webhookURL, body, timeoutMs, signal } as const;
      const call = () =>
        means.call({ ...request, headers: { ...headers, ...JSON_HEADERS, ...signature(means, secret, body) } });
      const reply = await withRetries(() => readReply(NAME, call), retries, signal);
      return readVerdict(reply, subject, turned);
    };
    return ask;
  },
});

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' };

/** The time is signed too: an old call cannot be sent again. */
function signature(means: CheckMeans, secret: string | undefined, body: string): Record<string, string> {
  if (secret === undefined) return {};
  const seconds = Math.floor(means.now() / 1000);
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return { [SIGNATURE]: `t=${seconds},v1=${digest}` };
}

async function withRetries<T>(ask: () => Promise<T>, retries: number, signal: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries >= retries || signal.aborted || !isPassing(error)) throw error;
    }
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof StatusError) return error.status === 429 || error.status >= 500;
  return error instanceof CheckError && error.cause !== undefined;
}

function readVerdict(reply: unknown, subject: Subject, turned: boolean): Finding {
  if (!isJson(reply) || typeof reply.verdict !== 'boolean') throw unknownShape(NAME, '{verdict: true or false}');
  const finding = found(reply.verdict, turned, isJson(reply.data) ? { webhook: reply.data } : {});
  const body = transformedBody(reply.transformedData, subject);
  return body === undefined ? finding : { ...finding, rewrites: [{ path: [], value: body }] };
}

/** `transformedData: {request: {json}}` or `{response: {json}}`; the side that this is not about is ignored. */
function transformedBody(transformed: unknown, { side }: Subject): Json | undefined {
  const half = isJson(transformed) ? transformed[side] : undefined;
  const body = isJson(half) ? half.json : undefined;
  if (body === undefined || body === null) return undefined;
  const parsed = typeof body === 'string' ? parseReply(NAME, body) : body;
  if (!isJson(parsed)) throw unknownShape(NAME, `{transformedData: {${side}: {json: an object}}}`);
  return parsed;
}

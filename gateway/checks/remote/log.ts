import { z } from '#crds/config/words.ts';
import type { Json } from '../../providers/provider.ts';
import { defineCheck, everyCheck } from '../check.ts';
import { endpointUrl, requestHeaders, timeout } from '../parameters.ts';
import type { Subject } from '../subject.ts';
import { asking, StatusError } from './post-json.ts';
import { subjectForWebhook } from './webhook-body.ts';

const NAME = 'The log service';

export const log = defineCheck({
  id: 'default.log',
  does: 'Always passes: writes a log line with the sizes of the subject, or sends the whole of it to `logURL`.',
  example: { logURL: 'https://logs.internal/llm' },
  parameters: z.strictObject({
    logURL: endpointUrl('Where it is sent.').optional(),
    headers: requestHeaders.default({}),
    timeout: timeout(3000),
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ logURL, headers, timeout: timeoutMs }, means) {
    if (logURL === undefined)
      return (subject) => {
        means.record(sizes(subject));
        return { verdict: true, data: { logged: true } };
      };
    return async (subject, signal) => {
      const body = JSON.stringify(subjectForWebhook(subject));
      const call = {
        method: 'POST',
        url: logURL,
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      } as const;
      const { status } = await asking(NAME, () => means.call({ ...call, timeoutMs, signal }));
      if (status < 200 || status > 299) throw new StatusError(NAME, status);
      return { verdict: true, data: { sent: true } };
    };
  },
});

/** No content: log lines are read by more people than prompts. */
function sizes({ side, endpointType, model, provider, texts, stream }: Subject): Json {
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  return { check: 'default.log', side, endpointType, model, provider, stream, texts: texts.length, characters };
}

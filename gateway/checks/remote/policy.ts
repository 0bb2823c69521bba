import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import { endpointUrl, requestHeaders, timeout } from '../parameters.ts';
import { saidOutright } from './classify.ts';
import { textsToSend, transcript } from './conversation.ts';
import { postJson, unknownShape } from './post-json.ts';

/** What services call it, lower case. */
const ALLOWED = new Set(['allow', 'allowed', 'pass', 'none', 'detect', 'log']);
const BLOCKED = new Set(['block', 'blocked', 'deny', 'denied', 'fail']);

export const policy = defineCheck({
  id: '<vendor>.policy',
  does: 'Asks a service whether a policy that it keeps is observed. Sends `{policyId, content, direction}`; `{action: ALLOW | BLOCK}`, `{verdict}` or `{flagged}` come back.',
  example: { policyId: 'outbound-7', apiEndpoint: 'https://policies.internal/v1/check' },
  parameters: z.strictObject({
    policyId: z.string().min(1).max(253).describe('Id of the policy at the service.'),
    apiEndpoint: endpointUrl('Where the service answers; no default is known for any vendor.'),
    headers: requestHeaders.default({}),
    timeout: timeout(10_000),
    not,
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ policyId, apiEndpoint, headers, timeout: timeoutMs, not: turned }, means) {
    const endpoint = { name: 'The policy service', url: apiEndpoint, headers, timeoutMs };
    return async (subject, signal): Promise<Finding> => {
      const texts = textsToSend(subject);
      if (texts.length === 0) return found(true, turned, { policyId });
      const direction = subject.side === 'request' ? 'IN' : 'OUT';
      const reply = await postJson(means, endpoint, { policyId, content: transcript(texts), direction }, signal);
      const allowed = saidOutright(reply) ?? actionOf(reply);
      if (allowed === undefined) throw unknownShape(endpoint.name, '{action: ALLOW or BLOCK}, {verdict} or {flagged}');
      return found(allowed, turned, { policyId, allowed });
    };
  },
});

function actionOf(reply: unknown): boolean | undefined {
  const action = isJson(reply) && typeof reply.action === 'string' ? reply.action.toLowerCase() : '';
  if (ALLOWED.has(action)) return true;
  return BLOCKED.has(action) ? false : undefined;
}

import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { type CheckData, defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import { endpointUrl, requestHeaders, timeout, words } from '../parameters.ts';
import { textsToSend, transcript } from './conversation.ts';
import { readLabels } from './labels.ts';
import { postJson, unknownShape } from './post-json.ts';

export const classify = defineCheck({
  id: '<vendor>.classify',
  does: 'Asks a classifying service; passes where it neither says no nor gives a label that counts. Sends `{input, side, model}`; `{verdict}`, `{flagged}` or labels with scores come back.',
  example: { apiEndpoint: 'https://classifier.internal/classify', labels: ['toxic'], threshold: 0.8 },
  parameters: z.strictObject({
    apiEndpoint: endpointUrl('Where the service answers; no default is known for any vendor.'),
    headers: requestHeaders.default({}),
    labels: words('Labels that fail; all that reach the threshold where nothing is said.').optional(),
    threshold: z.number().min(0).max(1).default(0.5).describe('The score from which a label counts.'),
    timeout: timeout(10_000),
    not,
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ apiEndpoint, headers, labels, threshold, timeout: timeoutMs, not: turned }, means) {
    const endpoint = { name: 'The classifier', url: apiEndpoint, headers, timeoutMs };
    const counting = labels && new Set(labels.map((label) => label.toLowerCase()));
    return async (subject, signal): Promise<Finding> => {
      const texts = textsToSend(subject);
      if (texts.length === 0) return found(true, turned, { labels: [] });
      const body = { input: transcript(texts), side: subject.side, model: subject.model ?? null };
      const reply = await postJson(means, endpoint, body, signal);
      const said = saidOutright(reply);
      if (said !== undefined) return found(said, turned, { said });
      const all = readLabels(reply);
      if (all === undefined) throw unknownShape(endpoint.name, '{verdict}, {flagged} or labels with scores');
      const hits = all.filter(({ label, score }) => score >= threshold && (counting?.has(label.toLowerCase()) ?? true));
      const data: CheckData = { labels: hits, threshold };
      return found(hits.length === 0, turned, data);
    };
  },
});

/** `verdict: true` and `flagged: false` both mean that nothing is wrong. */
export function saidOutright(reply: unknown): boolean | undefined {
  if (!isJson(reply)) return undefined;
  if (typeof reply.verdict === 'boolean') return reply.verdict;
  return typeof reply.flagged === 'boolean' ? !reply.flagged : undefined;
}

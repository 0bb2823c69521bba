import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import { endpointUrl, requestHeaders, timeout } from '../parameters.ts';
import { type Rewrite, rewriteText } from '../rewrite.ts';
import type { SubjectText } from '../subject.ts';
import { textsToSend } from './conversation.ts';
import { postJson, unknownShape } from './post-json.ts';

const NAME = 'The guardrail service';
const ACTIONS = new Set(['GUARDRAIL_INTERVENED', 'NONE']);

export const bedrockGuardrails = defineCheck({
  id: 'default.bedrockGuardrails',
  does: 'Applies a guardrail of Amazon Bedrock (ApplyGuardrail): fails where it intervenes, or with `redact` passes with what it only masked.',
  example: {
    apiEndpoint: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    guardrailIdentifier: 'gr-7d2k',
    guardrailVersion: '3',
  },
  mutates: ({ redact }) => redact,
  parameters: z
    .strictObject({
      apiEndpoint: endpointUrl('The runtime endpoint, without a path.'),
      headers: requestHeaders.default({}),
      guardrailIdentifier: z.string().min(1).max(2048).describe('Id or ARN of the guardrail.'),
      guardrailVersion: z
        .string()
        .regex(/^(?:DRAFT|[1-9]\d{0,7})$/, { error: 'must be DRAFT or a number' })
        .default('DRAFT')
        .describe('Its version.'),
      redact: z.boolean().default(false).describe('Pass with the masked texts where it blocked nothing.'),
      timeout: timeout(10_000),
      not,
      ...everyCheck,
    })
    .refine((given) => !(given.redact && given.not), { path: ['not'], error: 'must be false where redact is true' }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile(
    { apiEndpoint, headers, guardrailIdentifier, guardrailVersion, redact, timeout: timeoutMs, not: turned },
    means,
  ) {
    const path = `/guardrail/${encodeURIComponent(guardrailIdentifier)}/version/${guardrailVersion}/apply`;
    const endpoint = { name: NAME, url: new URL(path, apiEndpoint).href, headers, timeoutMs };
    return async (subject, signal): Promise<Finding> => {
      const texts = textsToSend(subject);
      if (texts.length === 0) return found(true, turned, { action: 'NONE' });
      const source = subject.side === 'request' ? 'INPUT' : 'OUTPUT';
      const content = texts.map(({ text }) => ({ text: { text } }));
      const reply = await postJson(means, endpoint, { source, content }, signal);
      if (!isJson(reply) || typeof reply.action !== 'string' || !ACTIONS.has(reply.action))
        throw unknownShape(NAME, '{action: GUARDRAIL_INTERVENED or NONE}');
      const policies = interveningPolicies(reply.assessments);
      const masked = redact && reply.action !== 'NONE' && !isBlocked(reply.assessments);
      if (masked)
        return { verdict: true, data: { action: 'MASKED', policies }, rewrites: maskedTexts(texts, reply.outputs) };
      return found(reply.action === 'NONE', turned, { action: reply.action, policies });
    };
  },
});

/** E.g. `topicPolicy`: never what was found. */
function interveningPolicies(assessments: unknown): readonly string[] {
  const policies = Array.isArray(assessments) ? assessments.filter(isJson).flatMap(Object.keys) : [];
  return [...new Set(policies)].filter((name) => name.endsWith('Policy'));
}

/** Whether any single finding was more than masked; what it does not say counts as blocked. */
function isBlocked(assessments: unknown): boolean {
  const actions = [...actionsOf(assessments)];
  return actions.length === 0 || actions.some((action) => action !== 'ANONYMIZED' && action !== 'NONE');
}

function* actionsOf(node: unknown): Generator<unknown> {
  if (Array.isArray(node)) for (const item of node) yield* actionsOf(item);
  else if (isJson(node)) {
    if ('action' in node) yield node.action;
    for (const value of Object.values(node)) yield* actionsOf(value);
  }
}

/** It answers with one output per text. Throws CheckError for any other number: nobody knows what belongs where. */
function maskedTexts(texts: readonly SubjectText[], outputs: unknown): readonly Rewrite[] {
  if (!Array.isArray(outputs) || outputs.length !== texts.length) throw unknownShape(NAME, 'one output for each text');
  return texts.map((text, index) => {
    const output = outputs[index];
    if (!isJson(output) || typeof output.text !== 'string') throw unknownShape(NAME, '{outputs: [{text}]}');
    return rewriteText(text, output.text);
  });
}

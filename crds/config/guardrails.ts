import { freeObject, MAX_ITEMS, text } from './values.ts';
import { z } from './words.ts';

/** What a verdict adds to the feedback of a request. */
export const feedbackSchema = z
  .strictObject({
    value: z.number().describe('Value of the feedback, e.g. -5.').optional(),
    weight: z.number().describe('Weight of the feedback.').optional(),
    metadata: freeObject('Stored with the feedback.').optional(),
  })
  .describe('Feedback that is recorded for the request.');

export const feedbackAction = z.strictObject({ feedback: feedbackSchema.optional() });

export const denyAction = z.strictObject({
  feedback: feedbackSchema.optional(),
  deny: z.boolean().describe('Whether the request ends here.').optional(),
});

/** A check's parameters under the check's id: any further key, but its value is an object. */
const parameters = z.record(z.string(), z.unknown(), {
  error: ({ code }) =>
    code === 'invalid_type'
      ? 'must be an object: a further key is the id of a check, its value the parameters'
      : undefined,
});

function guardrailItem(action: typeof feedbackAction | typeof denyAction) {
  const inline = z
    .object({
      id: text(253, 'Name of a guardrail.').optional(),
      deny: z.boolean().meta({ description: 'Whether a failed check ends the request.', absent: false }).optional(),
      async: z.boolean().meta({ description: 'Run beside the request, never against it.', absent: false }).optional(),
      on_fail: action.describe('What a failed check leads to.').optional(),
      on_success: action.describe('What a passed check leads to.').optional(),
    })
    .catchall(parameters);
  return z.union([text(253, 'Name of a guardrail.'), inline]);
}

export const inputGuardrails = z
  .array(guardrailItem(feedbackAction))
  .max(MAX_ITEMS)
  .describe(
    'Guardrails of the request: a name, or an object with id, deny, async, on_fail, on_success and checks by their id.',
  );

export const outputGuardrails = z
  .array(guardrailItem(denyAction))
  .max(MAX_ITEMS)
  .describe(
    'Guardrails of the answer: a name, or an object with id, deny, async, on_fail, on_success and checks by their id.',
  );

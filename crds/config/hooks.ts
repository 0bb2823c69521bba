import { denyAction, feedbackAction } from './guardrails.ts';
import { freeObject, MAX_ITEMS, text } from './values.ts';
import { z } from './words.ts';

const checkSchema = z.strictObject({
  id: text(253, 'Id of the check.'),
  parameters: freeObject('Parameters of the check.'),
});

const common = {
  id: text(253, 'Id of the hook.'),
  type: z
    .enum(['guardrail', 'mutator'])
    .describe('What results call it. Default: mutator where all of its checks rewrite, else guardrail.')
    .optional(),
  checks: z
    .array(checkSchema)
    .max(MAX_ITEMS)
    .describe('What is checked. Absent: the id is the name of a guardrail.')
    .optional(),
};

export const beforeRequestHooks = z
  .array(
    z.strictObject({
      ...common,
      on_fail: denyAction.describe('What a failed check leads to.').optional(),
      on_success: denyAction.describe('What a passed check leads to.').optional(),
    }),
  )
  .max(MAX_ITEMS)
  .describe('Hooks that see the request before it goes to a provider.');

export const afterRequestHooks = z
  .array(
    z.strictObject({
      ...common,
      async: z.boolean().describe('Run after the answer has gone, never against it.').optional(),
      on_fail: feedbackAction.describe('What a failed check leads to.').optional(),
      on_success: feedbackAction.describe('What a passed check leads to.').optional(),
    }),
  )
  .max(MAX_ITEMS)
  .describe('Hooks that see the answer before it goes to the caller.');

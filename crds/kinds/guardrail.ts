import { denyAction, feedbackAction } from '../config/guardrails.ts';
import { freeObject, MAX_ITEMS, text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import type { Kind } from './kind.ts';

const check = z.strictObject({
  id: text(253, 'Check of the catalogue, e.g. default.regexMatch; without a dot, default. is meant.'),
  parameters: freeObject('Parameters of the check.').default({}),
  is_enabled: z.boolean().describe('false: the check is left out.').default(true),
  name: text(255, 'Name for people.').optional(),
});

const actions = z.strictObject({
  deny: z
    .boolean()
    .describe('Whether a failed check ends the request with 446; else it is told with 246.')
    .default(false),
  async: z
    .boolean()
    .describe('Run beside the request, never against it: its verdict goes to logs and feedback.')
    .default(false),
  sequential: z.boolean().describe('Run the checks one after the other.').default(false),
  on_error: z
    .enum(['deny', 'allow'])
    .describe('Whether a check that errs or takes too long counts as failed.')
    .default('deny'),
  stream: z
    .enum(['buffer', 'watch'])
    .describe(
      'buffer: a stream is held and judged as a whole; watch: it runs, and a window that fails cuts it where deny is set. Default: buffer where deny is set, else watch. Checks that rewrite always hold a stream.',
    )
    .optional(),
  on_fail: denyAction.describe('What a failed check leads to; deny here is the same as above.').optional(),
  on_success: feedbackAction.describe('What passed checks lead to.').optional(),
});

/** Spec of a Guardrail: checks, and what their verdict leads to. */
export const guardrailSpec = z.strictObject({
  name: text(255, 'Name for people.').optional(),
  checks: z.array(check).min(1).max(MAX_ITEMS).describe('What is checked; all of it must pass.'),
  actions: actions
    .describe('What the verdict leads to.')
    .default({ deny: false, async: false, sequential: false, on_error: 'deny' }),
});

export type GuardrailSpec = z.infer<typeof guardrailSpec>;

export const guardrailKind: Kind = {
  kind: 'Guardrail',
  plural: 'guardrails',
  singular: 'guardrail',
  shortName: 'grd',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'Checks of what is asked or answered, named by the guardrail lists of GatewayConfigs, or a default of its workspace; in the organisation namespace a default of all.',
  specSchema: guardrailSpec,
  specShape: guardrailSpec,
  printerColumns: [
    { name: 'Deny', type: 'boolean', jsonPath: '.spec.actions.deny' },
    { name: 'Async', type: 'boolean', jsonPath: '.spec.actions.async', priority: 1 },
  ],
  celRules: [],
};

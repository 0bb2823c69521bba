import { metadataDefaults } from '../config/metadata.ts';
import { MAX_ITEMS, text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { rateLimits } from '../limits/rate-limit.ts';
import { usageLimits } from '../limits/usage-limit.ts';
import { usageStatusFields } from '../limits/usage-status.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import type { Kind } from './kind.ts';

function guardrailNames(description: string) {
  return z.array(text(253, 'Name of a guardrail.')).max(MAX_ITEMS).describe(description).optional();
}

/** Spec of a Workspace: what holds for a namespace as a whole. Only the organisation may say it. */
export const workspaceSpec = z.strictObject({
  name: text(255, 'Name for people.').optional(),
  description: text(1024, 'What the workspace is for.').optional(),
  defaults: z
    .strictObject({
      metadata: metadataDefaults('Added to the metadata of every request; wins over the key and the request.').default(
        {},
      ),
      input_guardrails: guardrailNames('Guardrails of every request of the workspace.'),
      output_guardrails: guardrailNames('Guardrails of every answer to the workspace.'),
    })
    .describe('What holds for every request of the workspace.')
    .default({ metadata: {} }),
  rate_limits: rateLimits.optional(),
  usage_limits: usageLimits.optional(),
  settings: z
    .strictObject({
      user_api_key_rotation_period: z
        .enum(['weekly', 'monthly'])
        .describe(
          'How often the keys of users are rotated; a key may not say otherwise. Absent: as the organisation has it.',
        )
        .optional(),
      user_api_key_ttl_days: z
        .int()
        .min(1)
        .max(3650)
        .describe('Days after which a key of a user ends. Absent: as the organisation has it.')
        .optional(),
    })
    .describe('What the organisation enforces here.')
    .default({}),
});

export type WorkspaceSpec = z.infer<typeof workspaceSpec>;

export const workspaceKind: Kind = {
  kind: 'Workspace',
  plural: 'workspaces',
  singular: 'workspace',
  shortName: 'gws',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'What holds for a workspace as a whole: metadata, limits, budgets, rules for keys. Lies in the organisation namespace and has the name of the namespace that it is about.',
  specSchema: workspaceSpec,
  specShape: workspaceSpec,
  statusShape: z.strictObject(usageStatusFields),
  printerColumns: [],
  celRules: [],
};

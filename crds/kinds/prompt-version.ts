import { text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { API_GROUP, API_VERSION, objectName } from '../object.ts';
import { MAX_PROMPT_NAME_CHARS } from '../prompts/version-name.ts';
import type { Kind } from './kind.ts';

const MAX_CONTENT_TEXT_CHARS = 1_048_576;

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Spec of a PromptVersion: what a prompt or partial was at one time. It never changes. */
export const promptVersionSpec = z.strictObject({
  kind: z.enum(['Prompt', 'PromptPartial']).describe('What it is a version of.'),
  prompt: objectName.max(MAX_PROMPT_NAME_CHARS).describe('Name of the Prompt or PromptPartial.'),
  version: z.int().min(1).max(999_999_999).describe('Its number, from 1.'),
  content: z
    .string()
    .min(2)
    .max(MAX_CONTENT_TEXT_CHARS)
    .refine(isObject, { error: 'must be a JSON object' })
    .describe('What it held, as JSON.'),
  description: text(4096, 'What changed.').optional(),
  created_by: z
    .enum(['manifest', 'api'])
    .describe('manifest: an edit of the object. api: a draft that came by the control plane.'),
});

export type PromptVersionSpec = z.infer<typeof promptVersionSpec>;

export const IMMUTABLE = 'never changes: edit the Prompt or PromptPartial, which makes a new version';

export const promptVersionKind: Kind = {
  kind: 'PromptVersion',
  plural: 'promptversions',
  singular: 'promptversion',
  shortName: 'gpv',
  group: API_GROUP,
  version: API_VERSION,
  description: 'One version of a Prompt or PromptPartial. Made by the operator, and never changed.',
  specSchema: promptVersionSpec,
  specShape: promptVersionSpec,
  printerColumns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Prompt', type: 'string', jsonPath: '.spec.prompt' },
    { name: 'Version', type: 'integer', jsonPath: '.spec.version' },
    { name: 'By', type: 'string', jsonPath: '.spec.created_by', priority: 1 },
  ],
  celRules: [{ rule: 'self == oldSelf', message: IMMUTABLE }],
};

import { text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { API_GROUP, API_VERSION, objectName } from '../object.ts';
import { labelProblem } from '../prompts/reference.ts';
import type { Kind } from './kind.ts';

const promptGroupShape = z.strictObject({
  type: z
    .enum(['label', 'collection'])
    .describe('label: what versions are called by. collection: where prompts are shown.'),
  name: text(255, 'The label itself, or the name of the collection for people.'),
  description: text(1024, 'What it is for.').optional(),
  color_code: text(32, 'Colour in which a label is shown, such as "#00ff88".').optional(),
  parent_collection_id: objectName.describe('The PromptGroup of the collection that this one lies in.').optional(),
});

/** Spec of a PromptGroup: a word by which prompts are sorted. Labels work without one, too. */
export const promptGroupSpec = promptGroupShape.superRefine(({ type, name }, context) => {
  const problem = type === 'label' ? labelProblem(name) : undefined;
  if (problem !== undefined) context.addIssue({ code: 'custom', path: ['name'], message: problem });
});

export type PromptGroupSpec = z.infer<typeof promptGroupShape>;

export const promptGroupKind: Kind = {
  kind: 'PromptGroup',
  plural: 'promptgroups',
  singular: 'promptgroup',
  shortName: 'gpg',
  group: API_GROUP,
  version: API_VERSION,
  description: 'A label or a collection of prompts, as the control plane lists them. Requests do not depend on it.',
  specSchema: promptGroupSpec,
  specShape: promptGroupShape,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Called', type: 'string', jsonPath: '.spec.name' },
  ],
  celRules: [],
};

import { text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import { templateProblems } from '../prompts/content.ts';
import { MAX_TEMPLATE_CHARS } from '../prompts/template.ts';
import type { Kind } from './kind.ts';
import { publicationColumns, publicationFields, publicationStatus } from './prompt-fields.ts';

const promptPartialShape = z.strictObject({
  name: text(255, 'Name for people.').optional(),
  string: text(MAX_TEMPLATE_CHARS, 'The text, a template.'),
  ...publicationFields,
});

/** Spec of a PromptPartial: a piece of text that prompts name as `{{>name}}`. */
export const promptPartialSpec = promptPartialShape.superRefine(({ string }, context) => {
  for (const { path, message } of templateProblems({ string }))
    context.addIssue({ code: 'custom', path: [...path], message });
});

export type PromptPartialSpec = z.infer<typeof promptPartialShape>;

export const promptPartialKind: Kind = {
  kind: 'PromptPartial',
  plural: 'promptpartials',
  singular: 'promptpartial',
  shortName: 'gpp',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'A piece of a prompt that others name as {{>name}} or {{>name@version}}. Each change of it is a version.',
  specSchema: promptPartialSpec,
  specShape: promptPartialShape,
  statusShape: publicationStatus,
  printerColumns: publicationColumns,
  celRules: [],
};

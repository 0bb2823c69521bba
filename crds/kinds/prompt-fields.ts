/** What prompts and partials have in common. */
import { text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { labelProblem, MAX_LABEL_CHARS } from '../prompts/reference.ts';
import type { PrinterColumn } from './kind.ts';

const MAX_LABELS = 32;

export const promptLabel = z
  .string()
  .min(1)
  .max(MAX_LABEL_CHARS)
  .superRefine((label, context) => {
    const problem = labelProblem(label);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

export const publicationFields = {
  version_description: text(4096, 'What changed, kept with the version.').optional(),
  labels: z
    .array(promptLabel.describe('A label, such as "production".'))
    .max(MAX_LABELS)
    .describe('Labels of the version that this text is: each is on one version at a time.')
    .optional(),
  publish: z.boolean().describe('false: a new version is a draft, and what is published stays so.').default(true),
  collection_id: text(253, 'Collection that it is shown in. Absent: default.').optional(),
};

const count = (description: string) => z.int().min(0).max(999_999_999).describe(description).optional();

export const publicationStatus = z.strictObject({
  live_version: count('The version that is published.'),
  latest_version: count('The newest version, drafts included.'),
});

/** The same object again where it says the same. */
export type PublicationStatus = z.infer<typeof publicationStatus>;

export const publicationColumns: readonly PrinterColumn[] = [
  { name: 'Live', type: 'integer', jsonPath: '.status.live_version' },
  { name: 'Latest', type: 'integer', jsonPath: '.status.latest_version' },
];

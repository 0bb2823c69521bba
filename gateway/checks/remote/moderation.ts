import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import { timeout, words } from '../parameters.ts';
import { textsToSend } from './conversation.ts';
import { asking, unknownShape } from './post-json.ts';
import { slugModel } from './slug-model.ts';

const NAME = 'The moderation';

export const moderation = defineCheck({
  id: 'default.moderation',
  does: 'Asks the moderation endpoint of a configured provider; passes where it flags nothing that counts.',
  example: { model: '@team-a/omni-moderation-latest', categories: ['hate', 'violence'] },
  parameters: z.strictObject({
    model: slugModel('The moderation model.'),
    categories: words('Categories that count, as the provider calls them; all where nothing is said.').optional(),
    threshold: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe("The score from which a category counts; the provider's own flags where nothing is said."),
    timeout: timeout(10_000),
    not,
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ model, categories, threshold, timeout: timeoutMs, not: turned }, means) {
    const counting = categories && new Set(categories);
    return async (subject, signal): Promise<Finding> => {
      const input = textsToSend(subject).map(({ text }) => text);
      if (input.length === 0) return found(true, turned, { flagged: [] });
      const reply = await asking(NAME, () => means.moderate({ model, input, timeoutMs, signal }));
      const flagged = flaggedBy(reply.results, threshold).filter((category) => counting?.has(category) ?? true);
      return found(flagged.length === 0, turned, { flagged });
    };
  },
});

/** Throws CheckError for results without the words that are needed: a missing score must not pass as a low one. */
function flaggedBy(results: unknown, threshold: number | undefined): readonly string[] {
  if (!Array.isArray(results) || results.length === 0) throw unknownShape(NAME, '{results: [...]}');
  const field = threshold === undefined ? 'categories' : 'category_scores';
  const flagged = results.flatMap((result) => {
    const words = isJson(result) ? result[field] : undefined;
    if (!isJson(words)) throw unknownShape(NAME, `{results: [{${field}}]}`);
    return Object.entries(words)
      .filter(([, value]) =>
        threshold === undefined ? value === true : typeof value === 'number' && value >= threshold,
      )
      .map(([category]) => category.slice(0, 128));
  });
  return [...new Set(flagged)];
}

import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import { timeout } from '../parameters.ts';
import { textsToSend, transcript } from './conversation.ts';
import { asking, unknownShape } from './post-json.ts';
import { slugModel } from './slug-model.ts';

const NAME = 'The guard model';
const SAFE = /^safe\b/i;
const UNSAFE = /^unsafe\b/i;
const CATEGORY = /\b[SO]\d{1,2}\b/gi;

export const llamaGuard = defineCheck({
  id: 'default.llamaGuard',
  does: 'Asks a guard model of the Llama Guard family, which answers `safe`, or `unsafe` and the categories (S1, S2, ...).',
  example: { model: '@team-a/llama-guard-3-8b', categories: ['S1', 'S10'] },
  parameters: z.strictObject({
    model: slugModel('The guard model.'),
    categories: z
      .array(z.string().regex(/^[SO]\d{1,2}$/, { error: 'must be a category such as "S1"' }))
      .min(1)
      .max(100)
      .optional()
      .describe('Categories that count; all where nothing is said.'),
    timeout: timeout(15_000),
    not,
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ model, categories, timeout: timeoutMs, not: turned }, means) {
    return async (subject, signal): Promise<Finding> => {
      const texts = textsToSend(subject);
      if (texts.length === 0) return found(true, turned, { categories: [] });
      const role = subject.side === 'request' ? 'user' : 'assistant';
      const asked = subject.side === 'request' ? [] : [{ role: 'user', content: '(not shown)' }];
      const messages = [...asked, { role, content: transcript(texts) }];
      const answer = await asking(NAME, () => means.complete({ model, messages, json: false, timeoutMs, signal }));
      const named = categoriesOf(answer.trim());
      const counting = named.filter((category) => categories?.includes(category) ?? true);
      // Unsafe without a category: it may be any of those that count.
      const safe = SAFE.test(answer.trim()) || (named.length > 0 && counting.length === 0);
      return found(safe, turned, { categories: named });
    };
  },
});

function categoriesOf(answer: string): readonly string[] {
  if (SAFE.test(answer)) return [];
  if (!UNSAFE.test(answer)) throw unknownShape(NAME, 'safe, or unsafe and categories');
  return [...new Set((answer.match(CATEGORY) ?? []).map((category) => category.toUpperCase()))];
}

import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { words } from '../parameters.ts';
import { allAnyNone, holdsFor } from '../quantity.ts';
import { looked } from '../scope.ts';

export const contains = defineCheck({
  id: 'default.contains',
  does: 'Passes where any, all or none of the words stand in the last message; what is forbidden may stand in no text of the body.',
  example: { words: ['refund', 'invoice'], operator: 'any' },
  parameters: z.strictObject({
    words: words('Words or phrases, found inside other words too.'),
    operator: allAnyNone.default('any').describe('How many of them must occur.'),
    caseSensitive: z.boolean().default(false).describe('Whether "Word" is another word than "word".'),
    not,
    ...everyCheck,
  }),
  compile({ words: listed, operator, caseSensitive, not: turned }) {
    const fold = caseSensitive ? unified : (text: string) => unified(text).toLowerCase();
    const wanted = listed.map((word) => ({ word, folded: fold(word) }));
    const forbids = (operator === 'none') !== turned;
    return (subject) => {
      const texts = looked(subject, forbids).map(fold);
      const hits = wanted.filter(({ folded }) => texts.some((text) => text.includes(folded)));
      return found(holdsFor(operator, hits.length, wanted.length), turned, {
        operator,
        found: hits.map(({ word }) => word),
        missing: wanted.filter((item) => !hits.includes(item)).map(({ word }) => word),
      });
    };
  },
});

/** Full-width letters and their like are the same words. */
function unified(text: string): string {
  return text.normalize('NFKC');
}

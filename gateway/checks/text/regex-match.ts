import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { compiledPattern, patternText, windowOf } from '../pattern.ts';
import { bounded, looked } from '../scope.ts';

export const regexMatch = defineCheck({
  id: 'default.regexMatch',
  does: 'Passes where the last message matches a pattern; with `not`, where no text of the body does.',
  example: { rule: '(?i)ticket-\\d+' },
  parameters: z.strictObject({ rule: patternText('What to look for.'), not, ...everyCheck }),
  compile({ rule, not: turned }) {
    const pattern = compiledPattern(rule);
    const window = windowOf(pattern);
    return (subject) => {
      const matched = bounded(looked(subject, turned), window).some((text) => pattern.test(text));
      return found(matched, turned, { rule, matched });
    };
  },
});

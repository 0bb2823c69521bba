import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { bounded } from '../scope.ts';
import { codeLanguagesOf, LANGUAGES } from './code-languages.ts';

const NAMES = LANGUAGES.map(({ name }) => name);

export const containsCode = defineCheck({
  id: 'default.containsCode',
  does: 'Heuristics: passes where the last message holds code, by the language of a fenced block or by what is typical of it.',
  example: { format: 'SQL' },
  parameters: z.strictObject({
    format: z.enum(NAMES).optional().describe('The language; any where nothing is said.'),
    not,
    ...everyCheck,
  }),
  compile({ format, not: turned }) {
    return (subject) => {
      // Arguments of tools are JSON by nature: nobody who forbids code means them.
      const texts = turned
        ? subject.texts.filter(({ part }) => part !== 'arguments').map(({ text }) => text)
        : [subject.last];
      const languages = [...new Set(bounded(texts).flatMap((text) => codeLanguagesOf(text, format)))];
      const holds = format === undefined ? languages.length > 0 : languages.includes(format);
      return found(holds, turned, { languages, ...(format !== undefined && { format }) });
    };
  },
});

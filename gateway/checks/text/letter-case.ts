import { z } from '#crds/config/words.ts';
import { type Check, defineCheck, everyCheck, found, not } from '../check.ts';
import { looked } from '../scope.ts';

interface Casing {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly word: 'upper' | 'lower';
  fold(text: string): string;
}

function casingCheck({ id, aliases, word, fold }: Casing): Check {
  return defineCheck({
    id,
    aliases,
    does: `Passes where the last message has no letter that could be ${word} case and is not; a text without letters passes.`,
    example: {},
    parameters: z.strictObject({ not, ...everyCheck }),
    compile({ not: turned }) {
      return (subject) => {
        const [text = ''] = looked(subject, false);
        return found(text === fold(text), turned, { case: word, characters: text.length });
      };
    },
  });
}

export const allUppercase = casingCheck({
  id: 'default.alluppercase',
  aliases: ['default.isAllUpperCase'],
  word: 'upper',
  fold: (text) => text.toUpperCase(),
});

export const allLowercase = casingCheck({
  id: 'default.alllowercase',
  aliases: ['default.isAllLowerCase'],
  word: 'lower',
  fold: (text) => text.toLowerCase(),
});

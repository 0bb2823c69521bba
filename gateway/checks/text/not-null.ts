import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import type { SubjectText } from '../subject.ts';

export const notNull = defineCheck({
  id: 'default.notNull',
  does: 'Passes where the last message or the answer says anything: a text that is not blank, or a call of a tool.',
  example: {},
  parameters: z.strictObject({ not, ...everyCheck }),
  compile({ not: turned }) {
    return ({ texts, last, side }) => {
      const turn = side === 'response' ? 0 : texts.at(-1)?.turn;
      const says = last.trim() !== '' || texts.some((text) => text.turn === turn && isCall(text));
      return found(says, turned, { empty: !says });
    };
  },
});

function isCall({ part, role }: SubjectText): boolean {
  return part === 'arguments' && role !== 'system';
}

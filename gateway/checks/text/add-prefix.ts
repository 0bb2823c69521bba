import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck } from '../check.ts';
import { rewriteText } from '../rewrite.ts';

export const addPrefix = defineCheck({
  id: 'default.addPrefix',
  does: 'Puts a text before the last message of a role.',
  example: { prefix: 'Answer in one sentence. ', applyToRole: 'user' },
  mutates: () => true,
  parameters: z.strictObject({
    prefix: z.string().min(1).max(65_536).describe('What is put before it, with the space that follows.'),
    applyToRole: z
      .enum(['user', 'assistant', 'system', 'developer', 'tool'])
      .optional()
      .describe("Whose message it is: the user's in a request and the assistant's in an answer where nothing is said."),
    ...everyCheck,
  }),
  compile({ prefix, applyToRole }) {
    return ({ texts, side }) => {
      const role = applyToRole ?? (side === 'request' ? 'user' : 'assistant');
      const ofRole = texts.filter((text) => text.role === role && text.part === 'text');
      const turn = side === 'request' ? ofRole.at(-1)?.turn : 0;
      const first = ofRole.find((text) => text.turn === turn && !text.repeats);
      const repeated = ofRole.find((text) => text.turn === turn && text.repeats && text.text === first?.text);
      const rewrites = [first, repeated]
        .filter((text) => text !== undefined)
        .map((text) => rewriteText(text, prefix + text.text));
      return { verdict: true, data: { role, prefixed: first !== undefined }, rewrites };
    };
  },
});

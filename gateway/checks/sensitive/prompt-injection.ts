import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { bounded } from '../scope.ts';
import { plainWords, signsOf } from './injection-signs.ts';

/** How much a text may weigh together before it fails. */
const LIMITS = { low: 2, medium: 1, high: 0.5 } as const;

export const promptInjection = defineCheck({
  id: 'default.promptInjection',
  does: 'Heuristics, not proof: fails where texts beside the system prompt try to override instructions, in words that are known from attacks; new words pass.',
  example: { sensitivity: 'medium' },
  parameters: z.strictObject({
    sensitivity: z.enum(['low', 'medium', 'high']).default('medium').describe('How little is enough to fail.'),
    not: not.describe('Passes where something is found.'),
    ...everyCheck,
  }),
  compile({ sensitivity, not: turned }) {
    const limit = LIMITS[sensitivity];
    return ({ texts }) => {
      const others = texts.filter(({ role }) => role !== 'system' && role !== 'developer').map(({ text }) => text);
      const signs = new Map(bounded(others).flatMap((text) => signsOf(plainWords(text))));
      const score = [...signs.values()].reduce((sum, weight) => sum + weight, 0);
      return found(score < limit, turned, { heuristic: true, score, limit, signs: [...signs.keys()] });
    };
  },
});

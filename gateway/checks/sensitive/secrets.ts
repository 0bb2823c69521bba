import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { bounded } from '../scope.ts';
import { gatewayKeyShapes, SECRET_SHAPES, secretFinder } from './secret-shapes.ts';
import { findSpans, withoutOverlaps } from './spans.ts';

export const secrets = defineCheck({
  id: 'default.secrets',
  does: 'Fails where a text holds what looks like a credential (keys of providers and of this gateway, private keys, tokens, passwords), or with `redact` passes and replaces it.',
  example: { redact: false },
  mutates: ({ redact }) => redact,
  parameters: z
    .strictObject({
      redact: z.boolean().default(false).describe('Replace what is found instead of failing.'),
      not: not.describe('Passes where something is found.'),
      ...everyCheck,
    })
    .refine((given) => !(given.redact && given.not), { path: ['not'], error: 'must be false where redact is true' }),
  compile({ redact, not: turned }, { keyPrefix }) {
    const find = secretFinder([...gatewayKeyShapes(keyPrefix), ...SECRET_SHAPES]);
    return ({ texts }) => {
      bounded(texts.map(({ text }) => text));
      const { counts, total, rewrites } = findSpans(texts, (text) => withoutOverlaps(find(text)), redact);
      if (redact) return { verdict: true, data: { secrets: counts, redacted: total }, rewrites };
      return found(total === 0, turned, { secrets: counts });
    };
  },
});

import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { bounded } from '../scope.ts';
import { DEFAULT_COUNTRY, isCountry } from './phone-numbers.ts';
import { FINDERS, PII_KINDS } from './pii-finders.ts';
import { sameLengthAscii } from './plain-digits.ts';
import { findSpans, type Span, withoutOverlaps } from './spans.ts';

export const pii = defineCheck({
  id: 'default.pii',
  does: 'Fails where a text holds personal data of a fixed form, or with `redact` passes and puts `[EMAIL_ADDRESS]` and the like in its place; names and addresses of people need a remote check.',
  example: { entities: ['EMAIL_ADDRESS', 'CREDIT_CARD'], redact: true },
  mutates: ({ redact }) => redact,
  parameters: z
    .strictObject({
      entities: z
        .array(z.enum(PII_KINDS))
        .min(1)
        .default([...PII_KINDS])
        .describe('What is looked for; everything where nothing is said.'),
      redact: z.boolean().default(false).describe('Replace what is found instead of failing.'),
      defaultCountry: z
        .string()
        .refine(isCountry, { error: 'must be a country of ISO 3166 such as "US"' })
        .default(DEFAULT_COUNTRY)
        .describe('Whose phone numbers are recognised without a country code.'),
      not: not.describe('Passes where something is found.'),
      ...everyCheck,
    })
    .refine((given) => !(given.redact && given.not), { path: ['not'], error: 'must be false where redact is true' }),
  compile({ entities, redact, defaultCountry, not: turned }) {
    // In the order of PII_KINDS: where two overlap, the more certain one is meant.
    const finders = PII_KINDS.filter((kind) => entities.includes(kind)).map((kind) => FINDERS[kind](defaultCountry));
    const spansOf = (text: string): readonly Span[] => {
      const plain = sameLengthAscii(text);
      const spans = finders.flatMap((find) => find(plain));
      return withoutOverlaps(spans);
    };
    return ({ texts }) => {
      bounded(texts.map(({ text }) => text));
      const { counts, total, rewrites } = findSpans(texts, spansOf, redact);
      if (redact) return { verdict: true, data: { entities: counts, redacted: total }, rewrites };
      return found(total === 0, turned, { entities: counts });
    };
  },
});

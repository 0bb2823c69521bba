import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { looked } from '../scope.ts';

export const endsWith = defineCheck({
  id: 'default.endsWith',
  does: 'Passes where the last message ends with a suffix, or with it and a full stop; spaces after it do not count.',
  example: { suffix: 'Thank you' },
  parameters: z.strictObject({
    suffix: z.string().min(1).max(1024).describe('How the text must end.'),
    not,
    ...everyCheck,
  }),
  compile({ suffix, not: turned }) {
    const wanted = suffix.normalize('NFC').trimEnd();
    return (subject) => {
      const text = (looked(subject, false)[0] ?? '').trimEnd().normalize('NFC');
      return found(text.endsWith(wanted) || text.endsWith(`${wanted}.`), turned, { suffix });
    };
  },
});

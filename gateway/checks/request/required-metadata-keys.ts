import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { words } from '../parameters.ts';
import { allAnyNone, holdsFor } from '../quantity.ts';

export const requiredMetadataKeys = defineCheck({
  id: 'default.requiredMetadataKeys',
  does: 'Passes where the metadata of the request have all, any or none of the keys.',
  example: { metadataKeys: ['team', 'environment'] },
  parameters: z.strictObject({
    metadataKeys: words('Keys of the metadata.'),
    operator: allAnyNone.default('all').describe('How many of them there must be.'),
    not,
    ...everyCheck,
  }),
  compile({ metadataKeys, operator, not: turned }) {
    return ({ metadata }) => {
      const present = metadataKeys.filter((key) => Object.hasOwn(metadata, key));
      const missing = metadataKeys.filter((key) => !Object.hasOwn(metadata, key));
      return found(holdsFor(operator, present.length, metadataKeys.length), turned, { operator, present, missing });
    };
  },
});

import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { words } from '../parameters.ts';
import { modelTest } from './model-pattern.ts';

export const modelWhitelist = defineCheck({
  id: 'default.modelWhitelist',
  does: 'Passes where the model that is asked for is listed; a request without a model does not.',
  example: { models: ['gpt-4o', '@team-a/*'] },
  parameters: z.strictObject({
    models: words('Models as callers name them; "*" at the end stands for anything.'),
    not,
    ...everyCheck,
  }),
  compile({ models, not: turned }) {
    const isListed = modelTest(models);
    return ({ model }) => {
      if (model === undefined) return { verdict: false, data: { model: null } };
      return found(isListed(model), turned, { model });
    };
  },
});

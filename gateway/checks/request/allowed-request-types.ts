import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';

const types = z
  .array(
    z.enum([
      'chatComplete',
      'complete',
      'embed',
      'messages',
      'createModelResponse',
      'rerank',
      'moderate',
      'imageGenerate',
      'imageEdit',
      'createSpeech',
      'createTranscription',
      'createTranslation',
      'uploadFile',
      'createBatch',
      'createFinetune',
      'proxy',
    ]),
  )
  .min(1);

export const allowedRequestTypes = defineCheck({
  id: 'default.allowedRequestTypes',
  does: 'Passes where the endpoint is of an allowed type, and of none that is blocked.',
  example: { allowedTypes: ['chatComplete', 'messages'] },
  parameters: z
    .strictObject({
      allowedTypes: types.describe('Types that pass; all where nothing is said.').optional(),
      blockedTypes: types.describe('Types that do not pass, whatever is allowed.').optional(),
      not,
      ...everyCheck,
    })
    .refine(({ allowedTypes, blockedTypes }) => allowedTypes !== undefined || blockedTypes !== undefined, {
      path: ['allowedTypes'],
      error: 'is required where there is no blockedTypes: a list',
    }),
  compile({ allowedTypes, blockedTypes, not: turned }) {
    const allowed: ReadonlySet<string> | undefined = allowedTypes && new Set(allowedTypes);
    const blocked: ReadonlySet<string> = new Set(blockedTypes);
    return ({ endpointType }) => {
      const passes = !blocked.has(endpointType) && (allowed === undefined || allowed.has(endpointType));
      return found(passes, turned, { type: endpointType });
    };
  },
});

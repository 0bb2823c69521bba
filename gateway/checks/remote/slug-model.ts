import { z } from '#crds/config/words.ts';

/** A model of an Integration: `@slug/model`. */
export function slugModel(description: string) {
  return z
    .string()
    .max(512)
    .regex(/^@[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/\S+$/, {
      error: 'must be an Integration and its model, such as "@team-a/gpt-4o-mini"',
    })
    .describe(description);
}

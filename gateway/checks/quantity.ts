/** `any`, `all` and `none` of a list. */
import { z } from '#crds/config/words.ts';

export const allAnyNone = z.enum(['any', 'all', 'none']);

const HOLDS: Readonly<Record<z.infer<typeof allAnyNone>, (hits: number, all: number) => boolean>> = {
  any: (hits) => hits > 0,
  all: (hits, all) => hits === all,
  none: (hits) => hits === 0,
};

/** Whether so many hits of so many items are what is asked. */
export function holdsFor(operator: z.infer<typeof allAnyNone>, hits: number, all: number): boolean {
  return HOLDS[operator](hits, all);
}

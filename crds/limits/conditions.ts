/** Which requests a policy is about, and how its counts are split. */
import { text } from '../config/values.ts';
import { z } from '../config/words.ts';

/** What depends on the request alone, and is known before a target is chosen. */
export const REQUEST_KEYS = ['api_key', 'config', 'prompt', 'endpoint_type', 'workspace_id'] as const;
/** What depends on the target whose turn it is. */
export const TARGET_KEYS = ['virtual_key', 'provider', 'model'] as const;
export const METADATA_PREFIX = 'metadata.';

const KEYS: readonly string[] = [...REQUEST_KEYS, ...TARGET_KEYS];
const MAX_CONDITIONS = 32;
const MAX_GROUPS = 8;
const MAX_VALUES = 256;

const conditionKey = z
  .string()
  .max(140)
  .refine((key) => KEYS.includes(key) || (key.startsWith(METADATA_PREFIX) && key.length > METADATA_PREFIX.length), {
    error: `must be one of ${KEYS.join(', ')} or metadata.<key>`,
  })
  .describe(`${KEYS.join(', ')} or metadata.<key>.`);

const value = text(253, 'A value; "*" stands for any.');
const oneOrMore = (description: string) =>
  z.union([value, z.array(value).min(1).max(MAX_VALUES)]).describe(description);

const condition = z.strictObject({
  key: conditionKey,
  value: oneOrMore('The value, one of several values, or "*" for any. A model may end in "/*".'),
  excludes: oneOrMore('Values that the condition does not hold for.').optional(),
});

export const conditions = z
  .array(condition)
  .min(1)
  .max(MAX_CONDITIONS)
  .describe('The policy applies where all of them hold.');

export const groupBy = z
  .array(z.strictObject({ key: conditionKey }))
  .min(1)
  .max(MAX_GROUPS)
  .describe('Each combination of these values is counted on its own. A request that lacks one is not counted at all.');

export type Condition = z.infer<typeof condition>;

/** One value or several, as a list. */
export function listed<T>(oneOrMany: T | readonly T[] | undefined): readonly T[] {
  if (oneOrMany === undefined) return [];
  return Array.isArray(oneOrMany) ? (oneOrMany as readonly T[]) : [oneOrMany as T];
}

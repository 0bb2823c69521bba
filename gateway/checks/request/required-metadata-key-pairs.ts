import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { compiledPattern, patternText } from '../pattern.ts';
import { allAnyNone, holdsFor } from '../quantity.ts';

const MATCH_TYPES = ['exact', 'contains', 'containsAll', 'regex'] as const;
type MatchType = (typeof MATCH_TYPES)[number];
type ValueTest = (value: string) => boolean;

const value = z.string().min(1).max(1024);
const pattern = patternText('A pattern.');

/** What compiles the wanted values of one key. */
const TESTS: Readonly<Record<MatchType, (wanted: readonly string[]) => ValueTest>> = {
  exact: (wanted) => (value) => wanted.includes(value),
  contains: (wanted) => (value) => wanted.some((part) => value.includes(part)),
  containsAll: (wanted) => (value) => wanted.every((part) => value.includes(part)),
  regex: (wanted) => {
    const patterns = wanted.map(compiledPattern);
    return (value) => patterns.some((compiled) => compiled.test(value));
  },
};

export const requiredMetadataKeyPairs = defineCheck({
  id: 'default.requiredMetadataKeyPairs',
  does: 'Passes where all, any or none of the pairs are in the metadata of the request, exactly, in part or by a pattern.',
  example: { metadataPairs: { environment: ['staging', 'production'] }, matchType: 'exact' },
  parameters: z
    .strictObject({
      metadataPairs: z
        .record(z.string().min(1).max(128), z.union([value, z.array(value).min(1).max(100)]))
        .refine((pairs) => Object.keys(pairs).length > 0, { error: 'must have at least 1 key' })
        .describe('Key of the metadata -> the value, or one of several.'),
      operator: allAnyNone.default('all').describe('How many of the pairs must hold.'),
      matchType: z
        .enum(MATCH_TYPES)
        .default('exact')
        .describe('The whole value, a part of it, all the parts that are listed, or a pattern in RE2 syntax.'),
      not,
      ...everyCheck,
    })
    .superRefine(({ metadataPairs, matchType }, context) => {
      if (matchType !== 'regex') return;
      for (const [key, wanted] of Object.entries(metadataPairs)) {
        for (const source of [wanted].flat()) {
          const message = pattern.safeParse(source).error?.issues[0]?.message;
          if (message !== undefined) context.addIssue({ code: 'custom', path: ['metadataPairs', key], message });
        }
      }
    }),
  compile({ metadataPairs, operator, matchType, not: turned }) {
    const pairs = Object.entries(metadataPairs).map(([key, wanted]) => ({
      key,
      test: TESTS[matchType]([wanted].flat()),
    }));
    return ({ metadata }) => {
      const holds = ({ key, test }: (typeof pairs)[number]) =>
        Object.hasOwn(metadata, key) && test(metadata[key] ?? '');
      const matched = pairs.filter(holds).map(({ key }) => key);
      const missing = pairs.map(({ key }) => key).filter((key) => !matched.includes(key));
      return found(holdsFor(operator, matched.length, pairs.length), turned, { operator, matchType, matched, missing });
    };
  },
});

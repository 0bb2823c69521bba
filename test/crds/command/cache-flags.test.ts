/** What the flags of the cache take. */
import { describe, expect, it } from 'vitest';
import { CACHE_FLAGS } from '#crds/command/cache-flags.ts';
import { parseFlags } from '#crds/command/parse-flags.ts';

function parse(...argv: string[]) {
  return parseFlags(CACHE_FLAGS, { argv, environment: {}, takesPaths: false });
}

describe('--cache-bytes', () => {
  it.each([
    ['0', 0],
    ['1000', 1000],
    ['512Ki', 524_288],
    ['64Mi', 67_108_864],
    ['2Gi', 2_147_483_648],
  ])('takes %s', (text, bytes) => {
    expect(parse(`--cache-bytes=${text}`)).toMatchObject({ values: { 'cache-bytes': bytes } });
  });

  it.each(['', '-1', '1.5Gi', '64MB', '64mi', 'many', '9999999999999999', '999999999999999Gi'])(
    'does not take %s',
    (text) => {
      expect(parse(`--cache-bytes=${text}`)).toMatchObject({ problem: expect.stringMatching(/^--cache-bytes: must/) });
    },
  );
});

describe('--embedding-model', () => {
  it.each([
    ['@openai/text-embedding-3-small', { slug: 'openai', model: 'text-embedding-3-small' }],
    ['@a/org/model:tag', { slug: 'a', model: 'org/model:tag' }],
  ])('takes %s', (text, model) => {
    expect(parse(`--embedding-model=${text}`)).toMatchObject({ values: { 'embedding-model': model } });
  });

  it.each(['openai/model', '@openai', '@openai/', '@/model', '@Open/model', '@openai/a b'])(
    'does not take %s',
    (text) => {
      expect(parse(`--embedding-model=${text}`)).toMatchObject({
        problem: expect.stringMatching(/^--embedding-model: must/),
      });
    },
  );
});

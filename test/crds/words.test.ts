import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nearest } from '#crds/config/spelling.ts';
import { unknownKey, z } from '#crds/config/words.ts';
import { formatPath, problemsOf } from '#crds/problems.ts';

const KEYS = ['retry', 'cache', 'targets', 'override_params', 'use_retry_after_headers', 'cooldown_interval', 'deny'];

describe('nearest', () => {
  test.each([
    ['retires', 'retry'],
    ['rety', 'retry'],
    ['Retry', 'retry'],
    ['target', 'targets'],
    ['overrideParams', 'override_params'],
    ['override-params', 'override_params'],
    ['overrride_parms', 'override_params'],
    ['use_retry_after_header', 'use_retry_after_headers'],
    ['cooldown', 'cooldown_interval'],
    ['zzz', undefined],
    ['', undefined],
    ['x'.repeat(10_000), undefined],
  ])('%s means %s', (word, meant) => expect(nearest(word, KEYS)).toBe(meant));

  test('a word of the list is itself', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KEYS), (word) => {
        expect(nearest(word, KEYS)).toBe(word);
      }),
    );
  });

  test('no list, no word', () => expect(nearest('retry', [])).toBeUndefined());
});

describe('words', () => {
  const say = (schema: z.ZodType, value: unknown): string[] => {
    const parsed = schema.safeParse(value);
    return parsed.success ? [] : problemsOf(parsed.error, 'spec').map(({ path, message }) => `${path} ${message}`);
  };

  test.each<[z.ZodType, unknown, string]>([
    [z.int(), 1.5, 'spec must be an integer, got the number 1.5'],
    [z.int(), undefined, 'spec is required: an integer'],
    [z.number(), 'x', 'spec must be a number, got a string'],
    [z.int().max(5), 9, 'spec must be at most 5, got 9'],
    [z.string().min(1), '', 'spec must not be empty'],
    [z.string().min(3), 'ab', 'spec must have at least 3 characters, got 2'],
    [z.array(z.int()).max(1), [1, 2], 'spec must have at most 1 item, got 2'],
    [z.literal('v1'), 'v2', 'spec must be "v1", got "v2"'],
    [z.enum(['a', 'b']), { a: 1 }, 'spec must be one of "a", "b", got an object'],
    [z.enum(['a', 'b']), 'x'.repeat(100), 'spec must be one of "a", "b", got a long string'],
    [z.iso.datetime({ offset: true }), 'tomorrow', 'spec must be a date and time such as "2027-01-01T00:00:00Z"'],
    [z.string().regex(/^a$/), 'b', 'spec must match /^a$/'],
    [z.union([z.string(), z.int()]), true, 'spec must be a string or an integer, got true or false'],
    [z.union([z.string(), z.strictObject({ id: z.string() })]), { id: 1 }, 'spec.id must be a string, got a number'],
    [z.strictObject({ 'a.b': z.int() }), { 'a.b': 'x' }, 'spec["a.b"] must be an integer, got a string'],
  ])('%#', (schema, value, message) => expect(say(schema, value)).toEqual([message]));

  test('an unknown key is cut where it is long', () => {
    expect(unknownKey('k'.repeat(500), KEYS)).toBe(`unknown key "${'k'.repeat(64)}"`);
  });

  test('a problem is told once', () => {
    const schema = z.int().superRefine((_value, context) => {
      for (let i = 0; i < 3; i++) context.addIssue({ code: 'custom', message: 'is wrong' });
    });
    expect(say(schema, 1)).toEqual(['spec is wrong']);
  });
});

describe('formatPath', () => {
  test.each([
    ['config', [], 'config'],
    ['config', ['targets', 0, 'retry'], 'config.targets[0].retry'],
    ['', ['targets', 0], 'targets[0]'],
    ['spec', ['query', 'metadata.tier', '$gt'], 'spec.query["metadata.tier"].$gt'],
    ['spec', ['a"b'], 'spec["a\\"b"]'],
  ])('%s %j', (root, path, text) => expect(formatPath(root, path)).toBe(text));
});

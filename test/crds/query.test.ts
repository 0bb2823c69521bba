import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_QUERY_DEPTH, parseQuery, QueryError } from '#crds/config/query.ts';
import { MAX_PATTERN_BYTES } from '#crds/config/re2.ts';

function refusal(query: unknown): QueryError {
  try {
    parseQuery(query);
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(query)}`);
}

describe('accepted queries', () => {
  const tier = { source: 'metadata', key: 'tier' };
  const size = { source: 'params', keys: ['a', 'b'] };
  const compare = (field: unknown, operator: string, operand: unknown) => ({
    kind: 'compare',
    field,
    comparison: { operator, operand },
  });
  test.each<[string, unknown, unknown]>([
    ['bare string', { 'metadata.tier': 'gold' }, compare(tier, '$eq', 'gold')],
    ['bare number of the body', { 'params.a.b': 5 }, compare(size, '$eq', 5)],
    ['bare boolean of the body', { 'params.a.b': true }, compare(size, '$eq', true)],
    ['bare null of the body', { 'params.a.b': null }, compare(size, '$eq', null)],
    ['a number of metadata is its text', { 'metadata.tier': 5 }, compare(tier, '$eq', '5')],
    ['a boolean of metadata is its text', { 'metadata.tier': { $ne: false } }, compare(tier, '$ne', 'false')],
    [
      'a list of metadata is texts',
      { 'metadata.tier': { $in: [1, 'x', true] } },
      compare(tier, '$in', ['1', 'x', 'true']),
    ],
    ['numbers are kept for order', { 'metadata.tier': { $gte: 5 } }, compare(tier, '$gte', 5)],
    ['an empty list', { 'params.a.b': { $nin: [] } }, compare(size, '$nin', [])],
    ['the path', { 'url.pathname': '/v1/embeddings' }, compare({ source: 'pathname' }, '$eq', '/v1/embeddings')],
    ['metadata keys may have dots', { 'metadata.a.b': 'x' }, compare({ source: 'metadata', key: 'a.b' }, '$eq', 'x')],
    [
      'several operators',
      { 'params.a.b': { $gt: 1, $lt: 9 } },
      { kind: 'all', queries: [compare(size, '$gt', 1), compare(size, '$lt', 9)] },
    ],
    [
      'several keys',
      { 'metadata.tier': 'gold', 'params.a.b': 1 },
      { kind: 'all', queries: [compare(tier, '$eq', 'gold'), compare(size, '$eq', 1)] },
    ],
    [
      '$or',
      { $or: [{ 'metadata.tier': 'gold' }, { 'params.a.b': 1 }] },
      { kind: 'any', queries: [compare(tier, '$eq', 'gold'), compare(size, '$eq', 1)] },
    ],
    [
      '$and beside a key, $or inside it',
      { 'params.a.b': 1, $and: [{ $or: [{ 'metadata.tier': 'x' }] }, { 'metadata.tier': 'y' }] },
      {
        kind: 'all',
        queries: [
          compare(size, '$eq', 1),
          {
            kind: 'all',
            queries: [{ kind: 'any', queries: [compare(tier, '$eq', 'x')] }, compare(tier, '$eq', 'y')],
          },
        ],
      },
    ],
  ])('%s', (_name, query, expected) => {
    expect(parseQuery(query)).toEqual(expected);
  });

  test('a key named like a property of every object is a key like any other', () => {
    const query = parseQuery(JSON.parse('{"metadata.__proto__": "x", "params.constructor": "y"}'));
    expect(query).toMatchObject({
      kind: 'all',
      queries: [{ field: { key: '__proto__' } }, { field: { keys: ['constructor'] } }],
    });
  });

  test('$regex is compiled, once', () => {
    const query = parseQuery({ 'params.model': { $regex: '^gpt-4' } });
    if (query.kind !== 'compare' || query.comparison.operator !== '$regex') throw new Error('not a $regex');
    expect(query.comparison.operand.test('gpt-4o')).toBe(true);
    expect(query.comparison.operand.test('not gpt-4o')).toBe(false);
  });
});

describe('refused queries', () => {
  test.each<[query: unknown, path: (string | number)[], message: RegExp]>([
    [undefined, [], /must be an object with keys like metadata/],
    [null, [], /must be an object/],
    ['metadata.tier', [], /must be an object/],
    [[], [], /must be an object/],
    [{}, [], /it is empty/],
    [{ tier: 'x' }, ['tier'], /unknown key "tier": use metadata\.<key>, params\.<key>, url\.pathname, \$and or \$or/],
    [{ metadata: 'x' }, ['metadata'], /unknown key "metadata"/],
    [{ 'metadata.': 'x' }, ['metadata.'], /unknown key "metadata\."/],
    [{ params: { a: 1 } }, ['params'], /unknown key "params"/],
    [{ '.x': 1 }, ['.x'], /unknown key "\.x"/],
    [{ 'headers.x': 1 }, ['headers.x'], /unknown key "headers\.x"/],
    [{ 'url.host': 'x' }, ['url.host'], /unknown key "url\.host"/],
    [{ 'Metadata.x': 'x' }, ['Metadata.x'], /unknown key "Metadata\.x"/],
    [{ 'params.a..b': 1 }, ['params.a..b'], /empty step/],
    [{ 'params.a.': 1 }, ['params.a.'], /empty step/],
    [{ $not: [] }, ['$not'], /unknown operator "\$not": use .*\$and or \$or/],
    [{ $eq: 1 }, ['$eq'], /unknown operator "\$eq": use metadata/],
    [{ 'metadata.x': {} }, ['metadata.x'], /object of operators.*it is empty/],
    [{ 'metadata.x': [1] }, ['metadata.x'], /object of operators/],
    [{ 'metadata.x': undefined }, ['metadata.x'], /must be a string/],
    [{ 'metadata.x': { $exists: true } }, ['metadata.x', '$exists'], /unknown operator "\$exists": use \$eq, \$ne/],
    [{ 'metadata.x': { eq: 1 } }, ['metadata.x', 'eq'], /unknown operator "eq": use \$eq/],
    [{ 'metadata.x': { constructor: 1 } }, ['metadata.x', 'constructor'], /unknown operator "constructor"/],
    [{ 'metadata.x': { $and: [] } }, ['metadata.x', '$and'], /unknown operator "\$and"/],
    [{ 'params.x': { $eq: { a: 1 } } }, ['params.x', '$eq'], /\$eq must be a string, number, boolean or null/],
    [{ 'params.x': { $ne: [1] } }, ['params.x', '$ne'], /\$ne must be a string/],
    [{ 'params.x': Number.NaN }, ['params.x'], /must be a string/],
    [{ 'params.x': { $in: 'a' } }, ['params.x', '$in'], /\$in must be an array/],
    [{ 'params.x': { $nin: [{}] } }, ['params.x', '$nin'], /\$nin must be an array of strings/],
    [{ 'params.x': { $gt: '5' } }, ['params.x', '$gt'], /\$gt must be a number, without quotes/],
    [{ 'params.x': { $gte: Number.POSITIVE_INFINITY } }, ['params.x', '$gte'], /\$gte must be a number/],
    [{ 'params.x': { $lt: null } }, ['params.x', '$lt'], /\$lt must be a number/],
    [{ 'params.x': { $lte: true } }, ['params.x', '$lte'], /\$lte must be a number/],
    [{ 'metadata.x': null }, ['metadata.x'], /"metadata\.x" is never null/],
    [{ 'metadata.x': { $nin: ['a', null] } }, ['metadata.x', '$nin'], /never null/],
    [{ 'url.pathname': { $ne: null } }, ['url.pathname', '$ne'], /"url\.pathname" is never null/],
    [{ $and: {} }, ['$and'], /\$and must be an array of at least one query/],
    [{ $or: [] }, ['$or'], /\$or must be an array of at least one query/],
    [{ $or: [{ 'metadata.x': 'a' }, 5] }, ['$or', 1], /must be an object/],
    [{ $or: [{ 'metadata.x': 'a' }, { tier: 1 }] }, ['$or', 1, 'tier'], /unknown key "tier"/],
    [{ $and: [{ $or: [{ 'params.x': { $gt: 'a' } }] }] }, ['$and', 0, '$or', 0, 'params.x', '$gt'], /number/],
  ])('%j', (query, path, message) => {
    const error = refusal(query);
    expect(error.path).toEqual(path);
    expect(error.message).toMatch(message);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('QueryError');
  });

  test.each<[string, unknown, RegExp]>([
    ['not a string', 5, /must be a string in RE2 syntax/],
    ['lookahead', '(?=a)', /no lookaround, no backreferences/],
    ['backreference', '(a)\\1', /RE2 syntax/],
    ['open group', '(a', /missing closing/],
    ['too long', 'x'.repeat(MAX_PATTERN_BYTES + 1), /at most 1024 bytes/],
    ['too long in bytes', 'é'.repeat(MAX_PATTERN_BYTES / 2 + 1), /at most 1024 bytes/],
    ['many large repeats', '\\pL{0,1000}'.repeat(80), /too large/],
    ['nested repeats', '((\\pL{30}){30})'.repeat(16), /too large/],
    ['one repeat over the limit of RE2', 'a{1001}', /too large/],
  ])('$regex: %s', (_name, operand, message) => {
    const error = refusal({ 'params.model': { $regex: operand } });
    expect(error.message).toMatch(message);
    expect(error.path).toEqual(['params.model', '$regex']);
  });

  test('the largest pattern that is allowed', () => {
    expect(() => parseQuery({ 'params.model': { $regex: 'x'.repeat(MAX_PATTERN_BYTES) } })).not.toThrow();
    expect(() => parseQuery({ 'params.model': { $regex: 'é'.repeat(MAX_PATTERN_BYTES / 2) } })).not.toThrow();
  });

  test('a huge pattern is refused before it costs anything', () => {
    const start = performance.now();
    refusal({ 'params.model': { $regex: '\\pL{0,1000}'.repeat(90) } });
    expect(performance.now() - start).toBeLessThan(250);
  });

  test('depth is bounded, to the level', () => {
    const nested = (levels: number): unknown =>
      levels === 1 ? { 'metadata.x': 'a' } : { [levels % 2 ? '$and' : '$or']: [nested(levels - 1)] };
    expect(() => parseQuery(nested(MAX_QUERY_DEPTH))).not.toThrow();
    const error = refusal(nested(MAX_QUERY_DEPTH + 1));
    expect(error.message).toMatch(/at most 16 levels deep/);
    expect(error.path).toHaveLength(MAX_QUERY_DEPTH * 2);
    let deep: unknown = { 'metadata.x': 'a' };
    for (let level = 0; level < 100_000; level += 1) deep = { $and: [deep] };
    expect(refusal(deep).message).toMatch(/levels deep/);
  });

  test('any JSON is accepted or refused with a QueryError, never anything else', () => {
    const word = fc.constantFrom(
      'metadata.a',
      'params.a.b',
      'url.pathname',
      '$and',
      '$or',
      '$eq',
      '$gt',
      '$in',
      '$regex',
      'x',
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(word, tie('value'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(value, (query) => {
        try {
          expect(parseQuery(query)).toHaveProperty('kind');
        } catch (error) {
          expect(error).toBeInstanceOf(QueryError);
          expect((error as QueryError).message).not.toBe('');
        }
      }),
      { numRuns: 500 },
    );
  });
});

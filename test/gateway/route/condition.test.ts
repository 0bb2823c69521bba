import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery } from '#crds/config/query.ts';
import type { Facts } from '#gateway/plan/plan.ts';
import { compileQuery, MAX_REGEX_TEXT } from '#gateway/route/condition.ts';
import { EMPTY_FACTS } from './world.ts';

const FACTS: Facts = {
  metadata: { tier: 'gold', count: '5', price: '-0.5e1', blank: '', hex: '0x10', paid: 'true', 'a.b': 'dotted' },
  params: {
    model: 'gpt-4o-mini',
    temperature: 0.5,
    text: '5',
    stream: false,
    nothing: null,
    user: { plan: { name: 'pro' }, tags: ['x', 'y'] },
  },
  headers: {},
  pathname: '/v1/chat/completions',
};

function holds(query: unknown, facts: Facts = FACTS): boolean {
  return compileQuery(parseQuery(query))(facts);
}

describe('one comparison', () => {
  test.each<[query: Record<string, unknown>, expected: boolean]>([
    // $eq and bare values
    [{ 'metadata.tier': 'gold' }, true],
    [{ 'metadata.tier': 'Gold' }, false],
    [{ 'metadata.tier': { $eq: 'gold' } }, true],
    [{ 'metadata.count': 5 }, true],
    [{ 'metadata.count': 5.5 }, false],
    [{ 'metadata.paid': true }, true],
    [{ 'metadata.a.b': 'dotted' }, true],
    [{ 'metadata.blank': '' }, true],
    [{ 'params.model': 'gpt-4o-mini' }, true],
    [{ 'params.temperature': 0.5 }, true],
    [{ 'params.temperature': '0.5' }, false],
    [{ 'params.text': 5 }, false],
    [{ 'params.stream': false }, true],
    [{ 'params.stream': 0 }, false],
    [{ 'params.nothing': null }, true],
    [{ 'params.user.plan.name': 'pro' }, true],
    [{ 'params.user.tags.1': 'y' }, true],
    [{ 'params.user': 'pro' }, false],
    [{ 'url.pathname': '/v1/chat/completions' }, true],
    [{ 'url.pathname': '/v1/chat' }, false],
    // missing values
    [{ 'metadata.absent': 'x' }, false],
    [{ 'params.absent': null }, false],
    [{ 'params.user.plan.absent': 'x' }, false],
    [{ 'params.model.length': 11 }, false],
    [{ 'params.nothing.x': 1 }, false],
    [{ 'metadata.absent': { $gt: 0 } }, false],
    [{ 'metadata.absent': { $lt: 0 } }, false],
    [{ 'metadata.absent': { $gte: 0 } }, false],
    [{ 'metadata.absent': { $lte: 0 } }, false],
    [{ 'metadata.absent': { $in: ['undefined', ''] } }, false],
    [{ 'metadata.absent': { $regex: '.*' } }, false],
    [{ 'metadata.absent': { $ne: 'x' } }, true],
    [{ 'metadata.absent': { $nin: ['x'] } }, true],
    [{ 'metadata.absent': { $nin: [] } }, true],
    [{ 'params.absent': { $ne: null } }, true],
    // own properties only
    [{ 'metadata.constructor': { $regex: '' } }, false],
    [{ 'metadata.toString': { $ne: 'x' } }, true],
    [{ 'params.__proto__': { $ne: null } }, true],
    [{ 'params.user.hasOwnProperty.name': 'hasOwnProperty' }, false],
    // $ne, $in, $nin
    [{ 'metadata.tier': { $ne: 'gold' } }, false],
    [{ 'metadata.tier': { $ne: 'silver' } }, true],
    [{ 'params.text': { $ne: 5 } }, true],
    [{ 'metadata.tier': { $in: ['silver', 'gold'] } }, true],
    [{ 'metadata.count': { $in: [4, 5] } }, true],
    [{ 'params.text': { $in: [5] } }, false],
    [{ 'params.nothing': { $in: [null] } }, true],
    [{ 'metadata.tier': { $in: [] } }, false],
    [{ 'metadata.tier': { $nin: ['silver', 'gold'] } }, false],
    [{ 'metadata.tier': { $nin: ['silver'] } }, true],
    // order: numbers only
    [{ 'params.temperature': { $gt: 0.4 } }, true],
    [{ 'params.temperature': { $gt: 0.5 } }, false],
    [{ 'params.temperature': { $gte: 0.5 } }, true],
    [{ 'params.temperature': { $lt: 0.5 } }, false],
    [{ 'params.temperature': { $lte: 0.5 } }, true],
    [{ 'params.text': { $gt: 4 } }, false],
    [{ 'params.stream': { $gte: 0 } }, false],
    [{ 'params.nothing': { $gte: 0 } }, false],
    [{ 'params.user': { $gte: 0 } }, false],
    [{ 'metadata.count': { $gt: 4 } }, true],
    [{ 'metadata.count': { $lt: 5 } }, false],
    [{ 'metadata.price': { $lt: 0 } }, true],
    [{ 'metadata.blank': { $gte: 0 } }, false],
    [{ 'metadata.hex': { $gt: 0 } }, false],
    [{ 'metadata.tier': { $gt: 0 } }, false],
    [{ 'url.pathname': { $gt: 0 } }, false],
    // $regex: unanchored, texts only
    [{ 'params.model': { $regex: '4o' } }, true],
    [{ 'params.model': { $regex: '^4o' } }, false],
    [{ 'params.model': { $regex: '^gpt-.*mini$' } }, true],
    [{ 'params.model': { $regex: 'GPT' } }, false],
    [{ 'params.model': { $regex: '(?i)GPT' } }, true],
    [{ 'params.temperature': { $regex: '5' } }, false],
    [{ 'params.user.tags': { $regex: 'x' } }, false],
    [{ 'url.pathname': { $regex: '/chat/' } }, true],
  ])('%j is %s', (query, expected) => {
    expect(holds(query)).toBe(expected);
  });
});

describe('together', () => {
  const yes = { 'metadata.tier': 'gold' };
  const no = { 'metadata.tier': 'silver' };
  test.each<[query: Record<string, unknown>, expected: boolean]>([
    [{ 'metadata.tier': 'gold', 'params.stream': false }, true],
    [{ 'metadata.tier': 'gold', 'params.stream': true }, false],
    [{ 'params.temperature': { $gt: 0.1, $lt: 0.9 } }, true],
    [{ 'params.temperature': { $gt: 0.1, $lt: 0.5 } }, false],
    [{ 'params.model': { $regex: 'gpt', $ne: 'gpt-4' } }, true],
    [{ $and: [yes, yes] }, true],
    [{ $and: [yes, no] }, false],
    [{ $or: [no, yes] }, true],
    [{ $or: [no, no] }, false],
    [{ $or: [no, { $and: [yes, { $or: [no, yes] }] }] }, true],
    [{ $and: [yes], 'params.stream': true }, false],
    [{ $and: [yes], $or: [no] }, false],
    [{ $and: [yes], $or: [no, yes] }, true],
  ])('%j is %s', (query, expected) => {
    expect(holds(query)).toBe(expected);
  });
});

test('a polluted prototype is not seen', () => {
  const metadata: Record<string, string> = Object.create({ tier: 'gold' });
  const params: Record<string, unknown> = Object.create({ user: { plan: 'pro' } });
  const facts = { ...EMPTY_FACTS, metadata, params };
  expect(holds({ 'metadata.tier': 'gold' }, facts)).toBe(false);
  expect(holds({ 'params.user.plan': 'pro' }, facts)).toBe(false);
});

test('an own key of a strange name is seen', () => {
  const params = JSON.parse('{"constructor": {"name": "x"}, "hasOwnProperty": 1}');
  const facts = { ...EMPTY_FACTS, params };
  expect(holds({ 'params.constructor.name': 'x' }, facts)).toBe(true);
  expect(holds({ 'params.hasOwnProperty': 1 }, facts)).toBe(true);
});

test('$regex looks at the beginning of a very long text only, in bounded time', () => {
  const at = (index: number) => ({
    ...EMPTY_FACTS,
    params: { prompt: `${'a'.repeat(index)}needle${'a'.repeat(2_000_000)}` },
  });
  expect(holds({ 'params.prompt': { $regex: 'needle' } }, at(100))).toBe(true);
  expect(holds({ 'params.prompt': { $regex: 'needle' } }, at(MAX_REGEX_TEXT))).toBe(false);
  const condition = compileQuery(parseQuery({ 'params.prompt': { $regex: '(a+)+$' } }));
  const start = performance.now();
  condition(at(10));
  expect(performance.now() - start).toBeLessThan(500);
});

describe('laws', () => {
  const scalar = fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: -3, max: 3 }), fc.boolean());
  const facts = fc
    .record({ x: scalar, y: scalar }, { requiredKeys: [] })
    .map((params): Facts => ({ ...EMPTY_FACTS, params }));
  const key = fc.constantFrom('params.x', 'params.y');

  test('$ne is not $eq, $nin is not $in, $in is $or of $eq', () => {
    fc.assert(
      fc.property(facts, key, fc.array(scalar, { minLength: 1, maxLength: 4 }), (seen, at, operands) => {
        const [first] = operands;
        expect(holds({ [at]: { $ne: first } }, seen)).toBe(!holds({ [at]: first }, seen));
        const isIn = holds({ [at]: { $in: operands } }, seen);
        expect(holds({ [at]: { $nin: operands } }, seen)).toBe(!isIn);
        expect(holds({ $or: operands.map((operand) => ({ [at]: operand })) }, seen)).toBe(isIn);
      }),
    );
  });

  test('for a number exactly one of <, =, > holds; for anything else none of the orders', () => {
    fc.assert(
      fc.property(facts, key, fc.integer({ min: -3, max: 3 }), (seen, at, operand) => {
        const value = seen.params[at.slice('params.'.length)];
        const results = ['$lt', '$gt', '$lte', '$gte'].map((operator) =>
          holds({ [at]: { [operator]: operand } }, seen),
        );
        if (typeof value !== 'number') expect(results).toEqual([false, false, false, false]);
        else expect(results).toEqual([value < operand, value > operand, value <= operand, value >= operand]);
      }),
    );
  });

  test('an integer in metadata compares like the same integer in the body', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (value, operand) => {
        const seen = { ...EMPTY_FACTS, metadata: { n: String(value) }, params: { n: value } };
        for (const query of [{ $gt: operand }, { $lte: operand }, { $eq: operand }, { $in: [operand] }])
          expect(holds({ 'metadata.n': query }, seen)).toBe(holds({ 'params.n': query }, seen));
      }),
    );
  });
});

/** JSON in answers: where it is found, whether it fits a schema, which keys it has. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { findFences } from '#gateway/checks/json/fences.ts';
import { findJson } from '#gateway/checks/json/find-json.ts';
import { answered, checkOf, find, verdict } from './subjects.ts';

describe('JSON in a text', () => {
  test.each<[text: string, values: unknown[]]>([
    ['{"a":1}', [{ a: 1 }]],
    ['  [1, 2]\n', [[1, 2]]],
    ['7', [7]],
    ['"text"', ['text']],
    ['null', [null]],
    ['', []],
    ['no JSON', []],
    ['```json\n{"a":1}\n```', [{ a: 1 }]],
    ['Sure!\n```JSON\n{"a":1}\n```\nand\n```json\n{"b":2}\n```', [{ a: 1 }, { b: 2 }]],
    ['```\n{"a":1}\n```', [{ a: 1 }]],
    ['```jsonc\n[]\n```', [[]]],
    ['```json\n{"a":1}', [{ a: 1 }]],
    ['```json{"a":1}```', [{ a: 1 }]],
    ['```python\nx = {"a":1}\n```', [{ a: 1 }]],
    ['It is {"a": "}"} I think', [{ a: '}' }]],
    ['{not} {"a": {"b": [1]}} {"c":1}', [{ a: { b: [1] } }]],
    ['{"a": "\\"}"}', [{ a: '"}' }]],
    ['{"a":1', []],
    ['{"a":1}}', [{ a: 1 }]],
  ])('%j', (text, values) => {
    expect(findJson(text)).toEqual(values);
  });

  it('is found whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom('', 'json', 'JSON'), (value, tag) => {
        const text = JSON.stringify(value);
        if (text.includes('```')) return;
        expect(findJson(text)).toEqual([JSON.parse(text)]);
        expect(findJson(`So:\n\`\`\`${tag}\n${text}\n\`\`\`\nDone.`)).toEqual([JSON.parse(text)]);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['brackets', '['.repeat(500_000)],
    ['braces', '{"a":'.repeat(100_000)],
    ['starts', '{ '.repeat(250_000)],
    ['quotes', '{"'.repeat(250_000)],
    ['fences', '```json\n{\n'.repeat(50_000)],
    ['ticks', '`'.repeat(500_000)],
    ['growing ticks', Array.from({ length: 900 }, (_, index) => `${'`'.repeat(index + 3)} x`).join('\n')],
  ])('is looked for in bounded time and depth in a text of many %s', (_what, text) => {
    const began = performance.now();
    expect(findJson(text)).toEqual([]);
    findFences(text);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('is refused where it is too deep to look into', () => {
    const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(findJson(deep(64))).toHaveLength(1);
    expect(findJson(deep(65)).filter((value) => JSON.stringify(value) === deep(65))).toEqual([]);
  });
});

describe('fences', () => {
  test.each<[text: string, fences: [tag: string, inside: string][]]>([
    ['', []],
    ['`a` ``b``', []],
    ['```\nx\n```', [['', 'x\n']]],
    ['```ts\nx\n```', [['ts', 'x\n']]],
    ['```Ts {1}\nx\n```', [['ts', 'x\n']]],
    ['```x```', [['', 'x']]],
    ['````\n```\n````', [['', '```\n']]],
    [
      '```a\n1\n``````b\n2\n```',
      [
        ['a', '1\n'],
        ['b', '2\n'],
      ],
    ],
    ['```\n', [['', '']]],
  ])('%j', (text, fences) => {
    expect(findFences(text).map(({ tag, inside }) => [tag, inside])).toEqual(fences);
  });
});

describe('default.jsonSchema', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: { type: 'string', pattern: '^[a-z]+$' },
      mail: { type: 'string', format: 'email' },
      tags: { type: 'array', uniqueItems: true, items: { $ref: '#/definitions/tag' } },
    },
    definitions: { tag: { enum: ['a', 'b'] } },
  };

  test.each<[text: string, passes: boolean]>([
    ['{"name":"ann"}', true],
    ['{"name":"ann","mail":"a@b.example","tags":["a","b"]}', true],
    ['```json\n{"name":"ann"}\n```', true],
    ['```json\n{}\n```\n```json\n{"name":"ann"}\n```', true],
    ['Here you are: {"name":"ann"}', true],
    ['{"name":"Ann"}', false],
    ['{"name":"ann","more":1}', false],
    ['{"name":"ann","mail":"nobody"}', false],
    ['{"name":"ann","tags":["a","a"]}', false],
    ['{"name":"ann","tags":["c"]}', false],
    ['[]', false],
    ['no JSON', false],
    ['', false],
  ])('%j: %s', async (text, passes) => {
    expect(await verdict('jsonSchema', { schema }, answered(text))).toBe(passes);
    expect(await verdict('jsonSchema', { schema, not: true }, answered(text))).toBe(!passes);
  });

  it('says where it does not fit, never what stands there', async () => {
    const { data } = await find('jsonSchema', { schema }, answered('{"name":"Canary"}'));
    expect(data).toEqual({ found: 1, problems: ['/name must match pattern "^[a-z]+$"'] });
    expect((await find('jsonSchema', { schema }, answered('x'))).data).toEqual({ found: 0, problems: [] });
  });

  it('sees own properties alone', async () => {
    const required = { schema: { type: 'object', required: ['toString', 'constructor'] } };
    expect(await verdict('jsonSchema', required, answered('{}'))).toBe(false);
    expect(await verdict('jsonSchema', { schema: { required: ['__proto__'] } }, answered('{"a":1}'))).toBe(false);
  });

  it('tries patterns in linear time (G20)', async () => {
    const hostile = { schema: { type: 'string', pattern: '^(a+)+$' } };
    const began = performance.now();
    expect(await verdict('jsonSchema', hostile, answered(JSON.stringify(`${'a'.repeat(50_000)}!`)))).toBe(false);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('ends schemas that would take for ever', async () => {
    const branching = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `d${index}`,
        { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    );
    const hostile = [
      [{ $ref: '#/$defs/d0', $defs: { ...branching, d60: { type: 'string' } } }, '1'],
      [{ uniqueItems: true }, JSON.stringify(Array.from({ length: 60_000 }, (_, index) => ({ index })))],
    ] as const;
    for (const [hostileSchema, text] of hostile) {
      const began = performance.now();
      await expect(find('jsonSchema', { schema: hostileSchema }, answered(text))).rejects.toThrow(/longer than 500 ms/);
      expect(performance.now() - began).toBeLessThan(5_000);
    }
    expect(await verdict('jsonSchema', { schema: { uniqueItems: true } }, answered('[{"a":1},{"a":2}]'))).toBe(true);
  });

  it('follows references of a schema to itself', async () => {
    const tree = {
      type: 'object',
      required: ['name'],
      properties: { children: { type: 'array', items: { $ref: '#' } } },
    };
    expect(
      await verdict('jsonSchema', { schema: tree }, answered('{"name":"a","children":[{"name":"b","children":[]}]}')),
    ).toBe(true);
    expect(await verdict('jsonSchema', { schema: tree }, answered('{"name":"a","children":[{"children":[]}]}'))).toBe(
      false,
    );
  });

  test.each<[what: string, schema: unknown, words: RegExp]>([
    ['a wrong keyword', { type: 'nothing' }, /must be a JSON Schema/],
    ['a pattern that is none', { pattern: '(' }, /RE2/],
    ['a pattern with lookahead', { properties: { a: { pattern: '(?=a)' } } }, /RE2/],
    ['keys by a pattern with lookahead', { patternProperties: { '(?!a)': {} } }, /RE2/],
    ['a reference to elsewhere', { $ref: 'https://x.example/schema' }, /must be a JSON Schema/],
    ['a reference to nothing', { $ref: '#/$defs/none' }, /must be a JSON Schema/],
    ['too much', { enum: Array.from({ length: 20_000 }, (_, index) => `v${index}`) }, /at most 65536 characters/],
    ['a list', [], /must be an object/],
  ])('refuses %s', (_what, wrong, words) => {
    expect(() => checkOf('jsonSchema', { schema: wrong })).toThrow(words);
    expect(() => checkOf('jsonSchema', { schema: wrong })).toThrow(/^parameters\.schema/);
  });

  it('keeps two schemas with one id apart', async () => {
    const one = checkOf('jsonSchema', { schema: { $id: 'x', type: 'string' } });
    const two = checkOf('jsonSchema', { schema: { $id: 'x', type: 'number' } });
    const { signal } = new AbortController();
    expect(
      [await one.run(answered('"a"'), signal), await two.run(answered('"a"'), signal)].map(
        ({ verdict: passes }) => passes,
      ),
    ).toEqual([true, false]);
  });
});

describe('default.jsonKeys', () => {
  test.each<[operator: string, text: string, passes: boolean]>([
    ['all', '{"a":1,"b":2,"c":3}', true],
    ['all', '{"a":1}', false],
    ['any', '{"b":1}', true],
    ['any', '{"c":1}', false],
    ['none', '{"c":1}', true],
    ['none', '{"c":{"a":1}}', true],
    ['none', '{"a":1}', false],
    ['none', 'no JSON', false],
    ['none', '["a"]', false],
    ['all', '```json\n{"a":1,"b":2}\n```', true],
    ['all', '```json\n{}\n```\n```json\n{"a":1,"b":2}\n```', true],
  ])('%s of a and b in %j: %s', async (operator, text, passes) => {
    expect(await verdict('jsonKeys', { keys: ['a', 'b'], operator }, answered(text))).toBe(passes);
    expect(await verdict('jsonKeys', { keys: ['a', 'b'], operator, not: true }, answered(text))).toBe(!passes);
  });

  it('knows no inherited key, and an own one whatever its name', async () => {
    expect(await verdict('jsonKeys', { keys: ['toString', 'constructor'], operator: 'any' }, answered('{}'))).toBe(
      false,
    );
    expect(await verdict('jsonKeys', { keys: ['__proto__'] }, answered('{"__proto__":1}'))).toBe(true);
  });

  it('says which are missing', async () => {
    expect((await find('jsonKeys', { keys: ['a', 'b'] }, answered('{"a":1}'))).data).toEqual({
      operator: 'all',
      objects: 1,
      present: ['a'],
      missing: ['b'],
    });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH, MAX_KEYS } from '#crds/http/json-object.ts';
import { GatewayError } from '#gateway/errors.ts';
import { parseJsonBody } from '#gateway/json-body.ts';

/** White space that makes a body large enough to be scanned before it is parsed. */
const PADDING = ' '.repeat(70_000);

function parse(text: string): unknown {
  return parseJsonBody(Buffer.from(text));
}

function codeOf(text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error.message).not.toContain('secret');
    return error.code;
  }
}

const nested = (depth: number) => `{"secret":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
const nestedObjects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;
const keysInItems = (count: number) => `{"l":[${'{"a":0},'.repeat(count - 2)}{"a":0}]}`;

describe.each([
  ['small', ''],
  ['large', PADDING],
])('a %s body', (_size, padding) => {
  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['a text', '"secret"'],
    ['a number', '1'],
    ['null', 'null'],
    ['a list', '[{"secret":1}]'],
    ['half of an object', '{"secret":'],
    ['two objects', '{} {"secret":1}'],
    ['a comma too many', '{"secret":1,}'],
    ['single quotes', "{'secret':1}"],
    ['a comment', '{/*secret*/}'],
    ['NaN', '{"secret":NaN}'],
    ['a raw line feed in a text', '{"secret":"\n"}'],
    ['a text that never ends', '{"secret":"x'],
    ['a text that ends in a backslash', '{"secret":"x\\'],
    ['closers alone', ']]]]}}}}'],
    ['a byte order mark', '\uFEFF{"secret":1}'],
    ['__proto__', '{"__proto__":{"secret":1}}'],
    ['__proto__ by escapes', '{"\\u005f_proto__":1}'],
    ['__proto__ far below', '{"a":[{"b":{"__proto__":null}}]}'],
    ['constructor.prototype', '{"constructor":{"prototype":{"secret":1}}}'],
  ])('of %s is invalid_json', (_what, text) => {
    expect(codeOf(padding + text)).toBe('invalid_json');
    expect(({} as Record<string, unknown>)['secret']).toBeUndefined();
  });

  it.each([
    ['an empty object', '{}', {}],
    ['white space around it', ' \r\n\t{"a":1}\n', { a: 1 }],
    ['brackets in texts', '{"a":"[[[[{{{{","b":"\\"}]"}', { a: '[[[[{{{{', b: '"}]' }],
    ['backslashes before a quote', '{"a":"\\\\","b":"\\\\\\""}', { a: '\\', b: '\\"' }],
    ['colons in texts', '{"a:b":"::"}', { 'a:b': '::' }],
    ['constructor as a plain key', '{"constructor":"x","prototype":1}', { constructor: 'x', prototype: 1 }],
    ['constructor with another object', '{"constructor":{"a":1}}', { constructor: { a: 1 } }],
    ['letters beyond ASCII', '{"ü":"😀","x":"\\ud83d\\ude00"}', { ü: '😀', x: '😀' }],
    ['a key twice', '{"a":1,"a":2}', { a: 2 }],
  ])('with %s is read', (_what, text, value) => {
    expect(parse(padding + text)).toEqual(value);
  });

  it.each([
    ['lists', nested],
    ['objects', nestedObjects],
  ])(`may be ${MAX_DEPTH} levels of %s deep, and no more`, (_what, make) => {
    expect(codeOf(padding + make(MAX_DEPTH))).toBeUndefined();
    expect(codeOf(padding + make(MAX_DEPTH + 1))).toBe('too_deep');
    expect(codeOf(padding + make(5_000))).toBe('too_deep');
  });

  it.each([
    ['side by side', keys],
    ['in items of a list', keysInItems],
  ])(`may have ${MAX_KEYS} keys %s, and no more`, (_what, make) => {
    expect(codeOf(padding + make(MAX_KEYS))).toBeUndefined();
    expect(codeOf(padding + make(MAX_KEYS + 1))).toBe('too_large');
  });
});

describe('a large body', () => {
  it('that is too deep is refused without being parsed, however it goes on', () => {
    expect(codeOf(`${PADDING}{"a":${'['.repeat(100)} this is no JSON`)).toBe('too_deep');
    expect(codeOf(`${PADDING}{${'"a":0,'.repeat(MAX_KEYS + 1)} this is no JSON`)).toBe('too_large');
  });

  it('may hold as many colons, quotes and brackets in its texts as it likes', () => {
    const text = JSON.stringify(':"[{\\'.repeat(60_000));
    expect(parse(`{"a":${text}}`)).toEqual({ a: JSON.parse(text) });
  });
});

describe('any object', () => {
  it('is read as JSON.parse reads it, small or large', () => {
    const object = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__' && key !== 'constructor'),
      fc.jsonValue({ maxDepth: 4 }),
    );
    fc.assert(
      fc.property(object, (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__') && !text.includes('constructor'));
        expect(parse(text)).toEqual(JSON.parse(text));
        expect(parse(PADDING + text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 100 },
    );
  });

  it('never makes anything but an object or an error of ours', () => {
    const anything = fc.oneof(fc.string(), fc.json(), fc.stringMatching(/^[[\]{}":,\\0-9a-z ]*$/));
    fc.assert(
      fc.property(anything, (text) => {
        const outcomes = [text, PADDING + text].map((body) => codeOf(body));
        expect(outcomes[0]).toBe(outcomes[1]);
      }),
      { numRuns: 200 },
    );
  });
});

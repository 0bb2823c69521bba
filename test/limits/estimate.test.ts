/** Prompt estimates: how far from the truth, and never far too low. */

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimatePrompt } from '#gateway/limits/estimate.ts';

const said = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const EMPTY = estimatePrompt(said(''));
const BASE64 = 'iVBORw0KGgo'.repeat(20_000);

const digest = createHash('sha512').update('x');
const [hex, base64] = [digest.copy().digest('hex').repeat(3), digest.copy().digest('base64').repeat(3)];

/** Texts with their tokens: the larger count of the encodings o200k_base and cl100k_base. */
const TEXTS: readonly (readonly [what: string, text: string, tokens: number])[] = [
  ['English', 'The quick brown fox jumps over the lazy dog. '.repeat(20), 201],
  ['German', 'Die Würde des Menschen ist unantastbar. Sie zu achten ist Verpflichtung aller staatlichen Gewalt. ', 28],
  ['Russian', 'Все люди рождаются свободными и равными в своем достоинстве и правах.', 35],
  ['Chinese', '人人生而自由,在尊严和权利上一律平等。', 22],
  ['Thai', 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ', 65],
  ['code', 'export function add(a: number, b: number): number {\n  return a + b;\n}\n', 20],
  ['signs', '{}[]()<>!@#$%^&*'.repeat(10), 100],
  ['single letters', 'a b c d e f g h i j k l m n o p '.repeat(5), 81],
  ['hexadecimal digits', hex, 189],
  ['base64', base64, 189],
  ['emoji', '😀🎉🦄🔥🌍'.repeat(5), 70],
];

describe('an estimate', () => {
  it.each(TEXTS)('of %s is hardly lower than its tokens, and no higher than twice', (_, text, tokens) => {
    const ratio = (estimatePrompt(said(text)) - EMPTY) / tokens;
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThanOrEqual(2);
  });

  it('counts each message a little, and all fields that a model reads', () => {
    expect(EMPTY).toBeGreaterThanOrEqual(4);
    expect(EMPTY).toBeLessThan(20);
    const text = 'word '.repeat(60);
    for (const body of [
      { prompt: text },
      { input: text },
      { system: text },
      { instructions: text },
      { tools: [{ type: 'function', function: { name: 'f', description: text, parameters: {} } }] },
      { functions: [{ name: 'f', description: text }] },
      { response_format: { type: 'json_schema', json_schema: { schema: { description: text } } } },
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: text } }] }] },
      { messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text }] }] }] },
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', data: text } }] }] },
    ]) {
      expect(estimatePrompt(body)).toBeGreaterThanOrEqual(100);
      expect(estimatePrompt(body)).toBeLessThan(160);
    }
  });

  it('takes no part in what models do not read', () => {
    expect(estimatePrompt({ model: 'm', user: 'x'.repeat(9_000), metadata: { a: 'x'.repeat(9_000) } })).toBe(0);
  });

  it.each([
    ['an image URL', { type: 'image_url', image_url: { url: `data:image/png;base64,${BASE64}` } }],
    ['a remote image', { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
    ['an image block', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: BASE64 } }],
    ['an image of the responses API', { type: 'input_image', image_url: `data:image/png;base64,${BASE64}` }],
  ])('of %s is the same whatever its size, and never that of base64 as text', (_, part) => {
    expect(estimatePrompt(said([part])) - EMPTY).toBe(1_600);
    expect(estimatePrompt(said([part, part])) - EMPTY).toBe(3_200);
  });

  it('of sound and files goes by their size, and is bounded', () => {
    const sound = { type: 'input_audio', input_audio: { data: BASE64, format: 'mp3' } };
    expect(estimatePrompt(said([sound])) - EMPTY).toBe(1 + BASE64.length / 500);
    const file = (data: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data: data } });
    expect(estimatePrompt(said([file(BASE64)])) - EMPTY).toBe(BASE64.length / 4);
    expect(estimatePrompt(said([file(BASE64.repeat(20))])) - EMPTY).toBe(300_000);
    const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: BASE64 } };
    expect(estimatePrompt(said([document])) - EMPTY).toBe(BASE64.length / 4);
  });

  it('of token ids is their number', () => {
    expect(estimatePrompt({ prompt: [1, 2, 3, 4] })).toBe(4);
    expect(estimatePrompt({ input: [[1, 2, 3], [4]] })).toBe(4);
    expect(estimatePrompt({ input: ['abc', 'def'] })).toBe(2);
  });

  it('is a whole number that grows with what is said, whatever is said', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.string({ unit: 'binary', maxLength: 200 }), (content, text) => {
        const one = estimatePrompt(said(content));
        const more = estimatePrompt({ ...said(content), system: text }) - one;
        expect(Number.isSafeInteger(one)).toBe(true);
        expect(more).toBeGreaterThanOrEqual(Math.floor(Buffer.byteLength(text) / 3));
        expect(more).toBeLessThanOrEqual(Buffer.byteLength(text));
      }),
    );
  });
});

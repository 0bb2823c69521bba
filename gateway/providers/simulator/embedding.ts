/** Vectors of the simulator: texts that share words are near each other, and equal texts are equal. */
import type { Json } from '../provider.ts';
import { countTokens, digestOf } from './answers.ts';

const DEFAULT_DIMENSIONS = 64;
const MAX_DIMENSIONS = 4096;

/** Unit vector: the sum of a fixed random vector for each word. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    for (let start = 0; start < dimensions; start += 32) {
      const digest = digestOf(`${word}\n${start}`);
      for (let at = start; at < Math.min(start + 32, dimensions); at++) {
        sum[at] = (sum[at] ?? 0) + (digest[at - start] ?? 0) - 127.5;
      }
    }
  }
  const length = Math.hypot(...sum);
  return sum.map((value) => value / length);
}

/** Texts of `input`: a string, strings, one list of tokens, or several. */
function inputsOf(input: unknown): string[] {
  if (!Array.isArray(input)) return [String(input ?? '')];
  if (input.every((item) => typeof item === 'number')) return [input.join(' ')];
  return input.map((item: unknown) => (Array.isArray(item) ? item.join(' ') : String(item)));
}

/** Answer of `/v1/embeddings`; honours `dimensions` and `encoding_format`. */
export function embeddingBody(body: Json): Json {
  const wanted = typeof body.dimensions === 'number' ? body.dimensions : DEFAULT_DIMENSIONS;
  const dimensions = Math.min(Math.max(1, Math.floor(wanted)), MAX_DIMENSIONS);
  const texts = inputsOf(body.input);
  const encode = (vector: Float32Array) =>
    body.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector);
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  return {
    object: 'list',
    model: String(body.model),
    data: texts.map((text, index) => ({ object: 'embedding', index, embedding: encode(vectorOf(text, dimensions)) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

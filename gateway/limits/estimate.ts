/**
 * How many tokens a prompt has, rather too many than too few, without a tokenizer. Held against OpenAI's (o200k and cl100k, the larger
 * of both): prose and code come out 0.8 to 1.5 times as long, indented data up to 3 times, text without words (identifiers, base64,
 * minified JSON) 0.9 to 2 times, other scripts 0.9 to 1.5 times; runs of emoji a third too short. Pictures, sounds and files are taken at
 * a flat amount: what a provider makes of them is not known here.
 */
import type { Json } from '../providers/provider.ts';

/** Of text in words. */
const BYTES_PER_TOKEN = 3;
/** Of text without words, or of single letters: in ASCII, and in other scripts. */
const DENSE_ASCII_BYTES = 1.5;
const DENSE_BYTES = 2;
/** Characters from one word to the next, on average: outside of these the text is none of words. */
const MIN_WORD_CHARS = 3;
const MAX_WORD_CHARS = 12;
/** Shorter ones are single words. */
const MIN_TEXT_CHARS = 16;
/** What is looked at of a longer text: so many blocks, evenly spread. */
const BLOCKS = 4;
const BLOCK_CHARS = 64;
const SPACE = 32;
/** What a key, or the frame of an item, costs besides its text. */
const FRAME_TOKENS = 2;
const MESSAGE_TOKENS = 4;
const IMAGE_TOKENS = 1_600;
/** Base64 characters per token of sound: a second of compressed speech has about 10 tokens in 10,000. */
const SOUND_CHARS_PER_TOKEN = 500;
/** Base64 characters per token of a file, and the most that providers read of one. */
const FILE_CHARS_PER_TOKEN = 4;
const MAX_FILE_TOKENS = 300_000;
/** `data:` URLs that are longer are no text. */
const MIN_DATA_URL = 256;

/** Fields of a body that models read. */
const PROMPT_FIELDS = [
  'messages',
  'system',
  'prompt',
  'suffix',
  'input',
  'instructions',
  'tools',
  'functions',
  'response_format',
] as const;

const IMAGE = (): number => IMAGE_TOKENS;

/** Parts of messages, by their `type`: those that are no text. */
const PARTS: ReadonlyMap<string, (part: Json) => number> = new Map<string, (part: Json) => number>([
  ['image', IMAGE],
  ['image_url', IMAGE],
  ['input_image', IMAGE],
  ['input_audio', (part) => 1 + Math.ceil(longest(part['input_audio'] ?? part) / SOUND_CHARS_PER_TOKEN)],
  ['file', (part) => fileTokens(longest(part['file'] ?? part))],
  ['input_file', (part) => fileTokens(longest(part))],
  ['document', (part) => documentTokens(part)],
]);

/** Tokens of the prompt in a request's body, of whatever dialect. */
export function estimatePrompt(body: Json): number {
  let tokens = 0;
  for (const field of PROMPT_FIELDS) {
    const value = body[field];
    if (value === undefined || value === null) continue;
    tokens += tokensOf(value);
    if (field === 'messages' && Array.isArray(value)) tokens += MESSAGE_TOKENS * value.length;
  }
  return tokens;
}

function tokensOf(value: unknown): number {
  if (typeof value === 'string') return textTokens(value);
  if (typeof value !== 'object' || value === null) return 1;
  return Array.isArray(value) ? itemsTokens(value) : objectTokens(value as Json);
}

function textTokens(text: string): number {
  if (text.length > MIN_DATA_URL && text.startsWith('data:')) return IMAGE_TOKENS;
  const bytes = Buffer.byteLength(text);
  if (text.length < MIN_TEXT_CHARS) return Math.ceil(bytes / BYTES_PER_TOKEN);
  const chars = wordChars(text);
  if (chars >= MIN_WORD_CHARS && chars <= MAX_WORD_CHARS) return Math.ceil(bytes / BYTES_PER_TOKEN);
  const isDenseAscii = chars > MAX_WORD_CHARS && bytes === text.length;
  return Math.ceil(bytes / (isDenseAscii ? DENSE_ASCII_BYTES : DENSE_BYTES));
}

/** Characters from the beginning of one word to that of the next, on average, in a sample of the text. */
function wordChars(text: string): number {
  const step = Math.max(BLOCK_CHARS, Math.ceil(text.length / BLOCKS));
  let chars = 0;
  let words = 1;
  for (let start = 0; start < text.length; start += step) {
    const end = Math.min(text.length, start + BLOCK_CHARS);
    let wasSpace = true;
    for (let at = start; at < end; at += 1) {
      const isSpace = text.charCodeAt(at) <= SPACE;
      if (isSpace && !wasSpace) words += 1;
      wasSpace = isSpace;
    }
    chars += end - start;
  }
  return chars / words;
}

/** A list of numbers is a list of tokens. */
function itemsTokens(items: readonly unknown[]): number {
  if (typeof items[0] === 'number') return items.length;
  let tokens = 0;
  for (const item of items) tokens += tokensOf(item);
  return tokens;
}

function objectTokens(object: Json): number {
  const { type } = object;
  const special = typeof type === 'string' ? PARTS.get(type) : undefined;
  if (special !== undefined) return special(object);
  let tokens = FRAME_TOKENS;
  for (const key in object) tokens += Math.ceil(key.length / BYTES_PER_TOKEN) + tokensOf(object[key]);
  return tokens;
}

function documentTokens(part: Json): number {
  const source = part['source'] as Json | undefined;
  if (source?.['type'] !== 'text' && source?.['type'] !== 'content') return fileTokens(longest(source));
  return FRAME_TOKENS + tokensOf({ ...part, type: undefined });
}

function fileTokens(chars: number): number {
  return chars === 0 ? IMAGE_TOKENS : Math.min(MAX_FILE_TOKENS, Math.ceil(chars / FILE_CHARS_PER_TOKEN));
}

/** Characters of the longest text of an object. */
function longest(object: unknown): number {
  if (typeof object !== 'object' || object === null) return 0;
  let chars = 0;
  for (const value of Object.values(object))
    if (typeof value === 'string' && value.length > chars) chars = value.length;
  return chars;
}

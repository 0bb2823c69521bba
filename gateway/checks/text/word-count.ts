import { countingCheck } from './count-range.ts';

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
const RUN = /\S+/g;
const HAS_WORD = /[\p{L}\p{N}]/u;
/** Scripts that put no spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const LAST_ASCII = 0x7f;

/** Of ASCII characters: 0 blank, 1 neither, 2 letter or digit. */
const KINDS = Uint8Array.from({ length: LAST_ASCII + 1 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return 0;
  return /[A-Za-z0-9]/.test(character) ? 2 : 1;
});

export const wordCount = countingCheck({
  id: 'default.wordCount',
  noun: 'Words',
  max: 99_999,
  unit: 'what stands between spaces and has a letter or a digit; Chinese, Japanese, Thai and their like are cut by a dictionary',
  count: (text) => asciiWords(text) ?? unicodeWords(text),
});

/** Most texts are, and then nothing is cut out of them. Undefined: it is not. */
function asciiWords(text: string): number | undefined {
  let words = 0;
  let isCounted = false;
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[text.charCodeAt(at)];
    if (kind === undefined) return undefined;
    if (kind === 0) isCounted = false;
    else if (kind === 2 && !isCounted) {
      isCounted = true;
      words++;
    }
  }
  return words;
}

function unicodeWords(text: string): number {
  let words = 0;
  for (const [run] of text.matchAll(RUN)) {
    if (UNSPACED.test(run)) words += segmentsOf(run);
    else if (HAS_WORD.test(run)) words++;
  }
  return words;
}

function segmentsOf(run: string): number {
  let words = 0;
  for (const { isWordLike } of segmenter.segment(run)) if (isWordLike) words++;
  return words;
}

import { countingCheck } from './count-range.ts';

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const HAS_WORD = /[\p{L}\p{N}]/u;

export const sentenceCount = countingCheck({
  id: 'default.sentenceCount',
  noun: 'Sentences',
  max: 99_999,
  unit: 'sentences as Unicode bounds them, where they have a letter or a digit',
  count(text) {
    let sentences = 0;
    for (const { segment } of segmenter.segment(text)) if (HAS_WORD.test(segment)) sentences++;
    return sentences;
  },
});

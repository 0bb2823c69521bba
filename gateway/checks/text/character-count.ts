import { countingCheck } from './count-range.ts';

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

export const characterCount = countingCheck({
  id: 'default.characterCount',
  noun: 'Characters',
  max: 9_999_999,
  unit: 'Unicode code points',
  count: (text) => (PAIR.test(text) ? text.length - (text.match(PAIRS)?.length ?? 0) : text.length),
});

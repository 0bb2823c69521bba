import type { RE2JS } from 're2js';
import { z } from '#crds/config/words.ts';
import { CheckError, defineCheck, everyCheck } from '../check.ts';
import { compiledPattern, patternText, windowOf } from '../pattern.ts';
import { rewriteText } from '../rewrite.ts';
import { bounded, MAX_TEXT } from '../scope.ts';

export const regexReplace = defineCheck({
  id: 'default.regexReplace',
  does: 'Replaces every match of a pattern in all texts of the body.',
  example: { rule: '\\bACME-\\d+\\b', redactText: '[project]' },
  mutates: () => true,
  parameters: z.strictObject({
    rule: patternText('What is replaced; empty matches are not.'),
    redactText: z.string().max(1024).default('[REDACTED]').describe('What stands there instead, word for word.'),
    ...everyCheck,
  }),
  compile({ rule, redactText }) {
    const pattern = compiledPattern(rule);
    const window = windowOf(pattern);
    return ({ texts }) => {
      bounded(
        texts.map(({ text }) => text),
        window,
      );
      let matches = 0;
      const rewrites = texts.flatMap((text) => {
        const result = replaceAll(text.text, pattern, redactText);
        matches += result.count;
        return result.count === 0 ? [] : [rewriteText(text, result.text)];
      });
      return { verdict: true, data: { rule, replaced: matches }, rewrites };
    };
  },
});

function replaceAll(text: string, pattern: RE2JS, replacement: string): { text: string; count: number } {
  if (!pattern.test(text)) return { text, count: 0 };
  const matcher = pattern.matcher(text);
  const parts: string[] = [];
  let [end, length, count] = [0, 0, 0];
  while (matcher.find()) {
    const [from, to] = [matcher.start(), matcher.end()];
    if (from === to) continue;
    parts.push(text.slice(end, from), replacement);
    length += from - end + replacement.length;
    if (length > MAX_TEXT) throw new CheckError(`The text would grow beyond ${MAX_TEXT} characters.`);
    end = to;
    count++;
  }
  return { text: parts.join('') + text.slice(end), count };
}

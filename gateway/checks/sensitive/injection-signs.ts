/** Words that are known from attacks on prompts. Our own patterns, all linear; `mark` is looked for first. */

import { anyMark } from './any-mark.ts';

interface Sign {
  readonly name: string;
  readonly weight: number;
  readonly marks: readonly string[];
  readonly pattern: RegExp;
}

const SIGNS: readonly Sign[] = [
  {
    name: 'ignore instructions',
    weight: 1,
    marks: ['ignor', 'disregard', 'forget', 'overrid', 'bypass'],
    pattern:
      /\b(?:ignor|disregard|forget|overrid|bypass)\w{0,4}\b(?: \w+){0,5} (?:instructions?|prompts?|rules|guidelines|directives?|polic(?:y|ies)|told)\b/,
  },
  {
    name: 'ignore everything before',
    weight: 1,
    marks: ['ignor', 'disregard', 'forget'],
    pattern:
      /\b(?:ignore|disregard|forget) (?:all|everything|anything)(?: (?:of|that|the|you|was|were|said|written|stated)){0,4} (?:above|before|previous|prior|earlier)\b/,
  },
  {
    name: 'reveal the system prompt',
    weight: 1,
    marks: ['prompt', 'instruction'],
    pattern:
      /\b(?:reveal|show|print|repeat|output|tell|display|leak|give)\b(?: \w+){0,5} (?:system|initial|hidden|original|secret) (?:prompt|instructions?|message)\b/,
  },
  {
    name: 'new instructions',
    weight: 0.5,
    marks: ['new '],
    pattern: /\b(?:your|these are|here are)(?: \w+){0,2} new (?:instructions?|rules|task|role|persona)\b/,
  },
  {
    name: 'another role',
    weight: 0.5,
    marks: ['you are now', 'act as', 'pretend', 'roleplay as', 'from now on'],
    pattern:
      /\b(?:you are now|act as|pretend (?:to be|you are)|roleplay as|from now on,? you)\b(?: \w+){0,6} (?:dan|unrestricted|unfiltered|jailbroken|evil|hacker|developer mode|without (?:any\s)?(?:restrictions?|limits?|filters?|rules)|no (?:restrictions?|limits?|rules))\b/,
  },
  {
    name: 'do anything now',
    weight: 1,
    marks: ['do anything now', 'jailbreak', 'developer mode', 'dan mode'],
    pattern:
      /\bdo anything now\b|\bjailbreak (?:mode|prompt)\b|\b(?:enable|activate|enter)(?: \w+){0,2} (?:developer|dan|god|jailbreak) mode\b/,
  },
  {
    name: 'forged turn',
    weight: 1,
    marks: ['<|im_', '[inst]', '<<sys', '<|start', '<|end', '</system', '<|eot'],
    pattern:
      /<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id|endoftext|system)\|>|\[\/?inst\]|<<\/?sys>>|<\/?system>/,
  },
  {
    name: 'forged heading',
    weight: 0.5,
    marks: ['system:', 'system prompt:', '# system', '# instruction'],
    pattern: /(?:^|\n) ?(?:#+ ?)?(?:system|instructions?)(?: prompt| message)?:/,
  },
  {
    name: 'no restrictions',
    weight: 0.5,
    marks: ['restriction', 'guideline', 'filter', 'safety'],
    pattern:
      /\b(?:without|no|remove|disable|turn off)(?: \w+){0,3} (?:restrictions?|guidelines|filters?|safety(?: \w+)?)\b/,
  },
];

const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\u{e0000}-\u{e007f}]/gu;
const BLANKS = /[^\S\n]+/g;
const DOUBLE_BLANKS = / {2}|[\t\r]/;
const UNUSUAL = /[^\t\n\r\x20-\x7e]/;
const MARKS = /\p{M}+/gu;

/** Lower case, compatible letters as one, accents and invisible characters left out, blanks as one space. */
export function plainWords(text: string): string {
  const isUnusual = UNUSUAL.test(text);
  const plain = isUnusual ? text.normalize('NFKD').replace(INVISIBLE, '').replace(MARKS, '') : text;
  const lower = plain.toLowerCase();
  return isUnusual || DOUBLE_BLANKS.test(lower) ? lower.replace(BLANKS, ' ') : lower;
}

/** Of a text that went through `plainWords`: each sign with its weight. */
export function signsOf(text: string): readonly (readonly [name: string, weight: number])[] {
  if (!ANY.test(text)) return [];
  return SIGNS.filter(({ marks, pattern }) => marks.some((mark) => text.includes(mark)) && pattern.test(text)).map(
    ({ name, weight }) => [name, weight] as const,
  );
}

const ANY = anyMark(SIGNS.flatMap(({ marks }) => marks));

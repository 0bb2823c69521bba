/** Which languages a text seems to hold code of: an honest guess. Our own patterns, all linear. */
import { findFences } from '../json/fences.ts';

interface Language {
  readonly name: string;
  /** Lower-case words after the fence. */
  readonly tags: readonly string[];
  /** Two of them make the language. */
  readonly signs: readonly RegExp[];
}

/** What a fenced block without a known language is. */
const OTHER = 'Other';

export const LANGUAGES: readonly Language[] = [
  {
    name: 'SQL',
    tags: ['sql', 'mysql', 'postgres', 'postgresql', 'plsql', 'sqlite', 'tsql'],
    signs: [
      /^\s*(?:select\b[^;]{1,400}?\bfrom\s+[\w"`(]|insert\s+into\b|update\s+\S+\s+set\b|delete\s+from\b|(?:create|alter|drop)\s+table\b)/im,
      /\bselect\s+\*|\bwhere\b[^\n]{0,200}[=<>]|\b(?:group|order)\s+by\b|\b(?:inner|left|right|outer)\s+join\b|\bvalues\s*\(|\bprimary\s+key\b|\blimit\s+\d|;\s*$/im,
    ],
  },
  {
    name: 'Python',
    tags: ['python', 'py', 'python3', 'py3', 'ipython'],
    signs: [
      /^[ \t]*(?:async )?def \w+\(/m,
      /^[ \t]*(?:from [\w.]+ )?import [\w.*, ]+$/m,
      /^[ \t]*(?:if|for|while|with|class|else|elif|try|except)\b[^\n]{0,200}:[ \t]*$/m,
      /\bself\.\w|\bprint\(|__\w+__/,
    ],
  },
  {
    name: 'TypeScript',
    tags: ['typescript', 'ts', 'tsx'],
    signs: [
      /\b(?:interface|type|enum) \w+(?:<\w+>)? ?[={]/,
      /\b(?:const|let|var|readonly) \w+: ?[\w<>[\]|]+ ?=/,
      /\): ?(?:Promise<|void|string|number|boolean|\w+\[\])/,
      /^import (?:type )?[^\n]{0,200} from ['"]/m,
    ],
  },
  {
    name: 'JavaScript',
    tags: ['javascript', 'js', 'jsx', 'mjs', 'cjs', 'node'],
    signs: [
      /\b(?:const|let|var) [\w${}, ]+ ?= ?[^=]/,
      /\bfunction\s?\w{0,100}\(|=> ?[{(\w]/,
      /\bconsole\.log\(|\brequire\(['"]|\bdocument\.\w+\(|\bawait \w/,
      /^(?:import|export) [^\n]{0,200}['"{]/m,
    ],
  },
  {
    name: 'Java',
    tags: ['java'],
    signs: [
      /\bpublic (?:static |final |abstract )?(?:class|interface|void|int|String)\b/,
      /\bSystem\.out\.print|\bString\[\] args/,
      /^import (?:java|org|com)\.[\w.]+;/m,
    ],
  },
  {
    name: 'C#',
    tags: ['csharp', 'c#', 'cs'],
    signs: [
      /^using [\w.]+;/m,
      /\bnamespace [\w.]+/,
      /\bConsole\.Write(?:Line)?\(|\bpublic (?:async )?(?:Task|string|override)\b/,
    ],
  },
  {
    name: 'C++',
    tags: ['c++', 'cpp', 'cc', 'hpp'],
    signs: [
      /#include ?<(?:iostream|vector|string|map|memory)>/,
      /\bstd::\w+|\busing namespace std\b/,
      /\bint main\(|\btemplate ?</,
    ],
  },
  { name: 'C', tags: ['c', 'h'], signs: [/#include ?<std\w+\.h>/, /\bint main\(|\b(?:printf|malloc|scanf)\(/] },
  { name: 'PHP', tags: ['php'], signs: [/<\?php/, /\$\w+ ?=[^=]|\becho\b|->\w+\(/] },
  {
    name: 'Ruby',
    tags: ['ruby', 'rb'],
    signs: [/^[ \t]*def \w+[?!]?(?:\(|$)/m, /^[ \t]*end$/m, /\bputs\b|\brequire ['"]|\.each do \|/],
  },
  {
    name: 'Swift',
    tags: ['swift'],
    signs: [
      /\bfunc \w+\([^\n)]{0,200}\) ?(?:->|\{)/,
      /\b(?:let|guard let|if let) \w+(?:: ?\w+)? ?=/,
      /^import (?:Foundation|UIKit|SwiftUI)/m,
    ],
  },
  {
    name: 'Kotlin',
    tags: ['kotlin', 'kt'],
    signs: [/\bfun \w+\(/, /\b(?:val|var) \w+(?:: ?\w+)? ?=/, /\bprintln\(|\bdata class\b/],
  },
  {
    name: 'Go',
    tags: ['go', 'golang'],
    signs: [/^package \w+$/m, /\bfunc (?:\(\w+ \*?\w+\) )?\w+\(/, /\w ?:= ?\w|\bfmt\.\w+\(/],
  },
  {
    name: 'Rust',
    tags: ['rust', 'rs'],
    signs: [
      /\bfn \w+(?:<[^>\n]{0,100}>)?\(/,
      /\blet mut \w|\bprintln!\(|\bimpl\b[^\n]{0,100}\{/,
      /\buse (?:std|crate)::|&(?:mut |str\b)/,
    ],
  },
  {
    name: 'Shell',
    tags: ['bash', 'sh', 'shell', 'zsh', 'console'],
    signs: [
      /^#!\/\S+/m,
      /^\s*(?:\$ )?(?:sudo|apt(?:-get)?|curl|grep|chmod|export|echo|cd|mkdir|rm -) \S/m,
      /\bthen$|^fi$|^done$|\$\{?\w+\}?|\| ?(?:grep|awk|sed|xargs)\b/m,
    ],
  },
  {
    name: 'HTML',
    tags: ['html', 'htm', 'xhtml'],
    signs: [
      /<!doctype html|<html\b|<body\b|<head\b/i,
      /<(?:div|span|p|a|script|style|table|ul|h[1-6]|form|input)\b[^<>\n]{0,400}>/i,
      /<\/(?:div|span|p|a|script|style|table|ul|h[1-6]|form|body|html)>/i,
    ],
  },
  {
    name: 'CSS',
    tags: ['css', 'scss', 'less'],
    signs: [
      /^[ \t]*[.#@]?[\w-]+[^{}\n]{0,200}\{/m,
      /^[ \t]*(?:color|margin|padding|display|width|height|font-[a-z]+|background(?:-[a-z]+)?)\s*:[^;\n]{1,200};/m,
    ],
  },
  { name: 'XML', tags: ['xml', 'svg', 'xsd'], signs: [/<\?xml /, /<\/[\w:.-]+>/] },
  {
    name: 'JSON',
    tags: ['json', 'jsonc', 'json5'],
    signs: [/^\s*[[{]/, /"[^"\n]{1,100}"\s*:\s*["\d{[tfn-]/, /[\]}]\s*$/],
  },
  {
    name: 'YAML',
    tags: ['yaml', 'yml'],
    signs: [/^(?:apiVersion|kind|---)\b/m, /^\w[\w-]*:\s*(?:\S[^\n]*)?\n[ \t]+(?:- )?[\w-]+:/m, /^[ \t]+- \w+:/m],
  },
  {
    name: 'Dockerfile',
    tags: ['dockerfile', 'docker'],
    signs: [/^FROM [\w./:-]+/m, /^(?:RUN|COPY|CMD|ENTRYPOINT|WORKDIR|EXPOSE) \S/m],
  },
  { name: OTHER, tags: [], signs: [] },
];

const BY_TAG: ReadonlyMap<string, string> = new Map(
  LANGUAGES.flatMap(({ name, tags }) => tags.map((tag) => [tag, name] as const)),
);
/** Fences of prose. */
const NO_CODE = new Set(['text', 'txt', 'plain', 'plaintext', 'markdown', 'md']);
const NEEDED_SIGNS = 2;

/** Names of LANGUAGES, each once; `Other` for a fenced block of no language that we know. `wanted`: others do not matter. */
export function codeLanguagesOf(text: string, wanted?: string): readonly string[] {
  const candidates = wanted === undefined ? LANGUAGES : LANGUAGES.filter(({ name }) => name === wanted);
  const fences = findFences(text);
  if (fences.length === 0) return guess(text, candidates);
  const names = new Set<string>();
  for (const { tag, inside } of fences) {
    if (NO_CODE.has(tag)) continue;
    const known = BY_TAG.get(tag);
    const guessed = known === undefined ? guess(inside, candidates) : [known];
    for (const name of guessed.length === 0 ? [OTHER] : guessed) names.add(name);
  }
  return [...names];
}

function guess(text: string, candidates: readonly Language[]): readonly string[] {
  return candidates.filter(({ signs }) => signs.length > 0 && hasSigns(text, signs)).map(({ name }) => name);
}

/** The last sign is not looked for where it could not help any more. */
function hasSigns(text: string, signs: readonly RegExp[]): boolean {
  let missing = signs.length - NEEDED_SIGNS;
  for (const sign of signs) if (!sign.test(text) && --missing < 0) return false;
  return true;
}

/** What credentials look like. Our own patterns, all linear; `marks` are looked for first, since most texts have none. */
import { DEFAULT_KEY_PREFIX, isMisspelt, issuedKeyPattern } from '#crds/keys/key-form.ts';
import { anyMark } from './any-mark.ts';
import type { Span } from './spans.ts';

export interface SecretShape {
  readonly kind: string;
  readonly marks: readonly string[];
  /** Global. */
  readonly pattern: RegExp;
  /** Where the pattern is not all there is to it. */
  readonly isReal?: (match: string) => boolean;
}

export const SECRET_SHAPES: readonly SecretShape[] = [
  {
    kind: 'PRIVATE_KEY',
    marks: ['PRIVATE KEY'],
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
  },
  { kind: 'AWS_ACCESS_KEY', marks: ['AKIA', 'ASIA'], pattern: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/g },
  {
    kind: 'AWS_SECRET_KEY',
    marks: ['ecret', 'ECRET'],
    pattern: /\baws.{0,20}secret.{0,20}[:=]\s{0,5}["']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/gi,
  },
  { kind: 'JWT', marks: ['eyJ'], pattern: /(?<![\w-])eyJ[\w-]{8,4096}\.eyJ[\w-]{8,8192}\.[\w-]{16,2048}/g },
  {
    kind: 'MODEL_PROVIDER_KEY',
    marks: ['sk-'],
    pattern: /\bsk-(?:[a-z]{2,10}\d{0,2}-){0,3}[\w-]{20,250}/g,
    isReal: isMixed,
  },
  {
    kind: 'MODEL_PROVIDER_KEY',
    marks: ['gsk_', 'hf_', 'xai-', 'pplx-', 'nvapi-', 'r8_', 'fw_'],
    pattern: /\b(?:gsk_|hf_|xai-|pplx-|nvapi-|r8_|fw_)[\w-]{20,250}/g,
    isReal: isMixed,
  },
  { kind: 'GOOGLE_API_KEY', marks: ['AIza'], pattern: /\bAIza[\w-]{35}(?![\w-])/g },
  {
    kind: 'GIT_TOKEN',
    marks: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-'],
    pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}|glpat-[\w-]{20,250})/g,
  },
  { kind: 'PACKAGE_TOKEN', marks: ['npm_', 'pypi-'], pattern: /\b(?:npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,250})/g },
  {
    kind: 'SLACK_TOKEN',
    marks: ['xox', 'xapp-', 'hooks.slack.com'],
    pattern: /\b(?:xox[abeoprs]-[\w-]{10,250}|xapp-[\w-]{20,250})|hooks\.slack\.com\/services\/[\w/]{20,200}/g,
  },
  { kind: 'PAYMENT_KEY', marks: ['_live_', '_test_'], pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}/g },
  { kind: 'MAIL_KEY', marks: ['SG.'], pattern: /\bSG\.[\w-]{16,64}\.[\w-]{16,64}/g },
  {
    kind: 'CONNECTION_STRING',
    marks: ['://'],
    pattern: /\b[a-z][a-z0-9+]{1,20}:\/\/[^\s:/@]{1,128}:[^\s:/@]{3,256}@[\w.-]{1,253}/gi,
  },
  {
    kind: 'PASSWORD',
    marks: ['=', ':'],
    pattern:
      /\b(?:password|passwd|api[_-]?key|access[_-]?token|client[_-]?secret)["']?\s{0,3}[:=]\s{0,3}["']?(?![<{$*])[^\s"',;]{8,256}/gi,
    isReal: isMixed,
  },
];

/** Keys of this program: of the installation's prefix, and of the one that is usual. */
export function gatewayKeyShapes(keyPrefix: string): readonly SecretShape[] {
  return [...new Set([keyPrefix, DEFAULT_KEY_PREFIX])].map((prefix) => ({
    kind: 'GATEWAY_KEY',
    marks: [prefix],
    pattern: new RegExp(issuedKeyPattern(prefix).source, 'g'),
    isReal: (match) => !isMisspelt(match, prefix),
  }));
}

/** Words of a sentence have no digits, numbers no letters: what was drawn at random has both. */
function isMixed(match: string): boolean {
  const random = match.replace(/^[^:=]*[:=]/, '');
  return /\d/.test(random) && /[A-Za-z]/.test(random);
}

export function secretFinder(shapes: readonly SecretShape[]): (text: string) => readonly Span[] {
  const any = anyMark(shapes.flatMap(({ marks }) => marks));
  return (text) => {
    if (!any.test(text)) return NONE;
    const spans: Span[] = [];
    for (const { kind, marks, pattern, isReal } of shapes) {
      if (!marks.some((mark) => text.includes(mark))) continue;
      for (const { index, 0: match } of text.matchAll(pattern)) {
        if (isReal !== undefined && !isReal(match)) continue;
        spans.push({ kind, start: index, end: index + match.length });
      }
    }
    return spans;
  };
}

const NONE: readonly Span[] = [];

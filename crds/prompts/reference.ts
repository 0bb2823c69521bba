/** How a version of a prompt or partial is named: `name`, `name@12`, `name@latest`, `name@production`. */

export type VersionSelector =
  | { readonly by: 'published' | 'latest' }
  | { readonly by: 'version'; readonly version: number }
  | { readonly by: 'label'; readonly label: string };

export interface PromptReference {
  /** Or UID. */
  readonly name: string;
  readonly selector: VersionSelector;
}

/** Every workspace has these. */
export const UNIVERSAL_LABELS = ['production', 'staging', 'development'] as const;
export const MAX_LABEL_CHARS = 64;

const LABEL = /^[A-Za-z0-9_.-]{1,64}$/;
const PARTIAL = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?(?:@[A-Za-z0-9_.-]{1,64})?$/;
const PUBLISHED: VersionSelector = { by: 'published' };
const LATEST: VersionSelector = { by: 'latest' };
/** What could be taken for something else behind an `@`. */
const WORDS: Readonly<Record<string, VersionSelector>> = { latest: LATEST, default: PUBLISHED };

export function isPartialReference(text: string): boolean {
  return text.length <= 320 && PARTIAL.test(text);
}

/** Why a text cannot be a label: words that follow the name of its field. */
export function labelProblem(text: string): string | undefined {
  if (!LABEL.test(text)) return 'must be 1 to 64 letters, digits, "_", "-" and "."';
  return Object.hasOwn(WORDS, text) || /^\d+$/.test(text)
    ? 'must be neither "latest", "default" nor a number'
    : undefined;
}

/** What is no name or label is one that nobody has: never throws. */
export function parseReference(text: string): PromptReference {
  const at = text.lastIndexOf('@');
  if (at === -1) return { name: text, selector: PUBLISHED };
  const word = text.slice(at + 1);
  return { name: text.slice(0, at), selector: selectorOf(word) };
}

function selectorOf(word: string): VersionSelector {
  if (/^\d{1,9}$/.test(word)) return { by: 'version', version: Number(word) };
  return (Object.hasOwn(WORDS, word) ? WORDS[word] : undefined) ?? { by: 'label', label: word };
}

/** What is published of a prompt or partial. */
export interface Publication {
  /** undefined: nothing is. */
  readonly live: number | undefined;
  /** The newest of all, drafts included; 0: there is none. */
  readonly latest: number;
  readonly labels: Readonly<Record<string, number>>;
}

/** undefined: nothing has that label, or nothing is published. Whether there is such a version is not asked. */
export function selectedVersion(selector: VersionSelector, { live, latest, labels }: Publication): number | undefined {
  if (selector.by === 'version') return selector.version;
  if (selector.by === 'label') return Object.hasOwn(labels, selector.label) ? labels[selector.label] : undefined;
  return selector.by === 'published' ? live : latest;
}

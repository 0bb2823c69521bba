/** What the object of a version is called: nobody else's name, and the same for the same version, always. */

import { hash } from 'node:crypto';
import { API_GROUP } from '../object.ts';

export type Versioned = 'Prompt' | 'PromptPartial';

const PREFIXES: Readonly<Record<Versioned, string>> = { Prompt: 'prompt', PromptPartial: 'partial' };
/** Names of Kubernetes end here. */
const MAX_NAME_CHARS = 253;
/** Longest name of a prompt, so that its versions have names too. */
export const MAX_PROMPT_NAME_CHARS = MAX_NAME_CHARS - 'partial..v999999999'.length;

/** e.g. `prompt.greeting.v12`. */
export function versionName(kind: Versioned, name: string, version: number): string {
  return `${PREFIXES[kind]}.${name}.v${version}`;
}

/** On every version, with the value of `versionsOf`: what finds the versions of one prompt. */
export const VERSIONS_LABEL = `${API_GROUP}/versions-of`;

/** Of a prompt whose name is too long for a label, too. */
export function versionsOf(kind: Versioned, name: string): string {
  return hash('sha256', `${kind} ${name}`).slice(0, 32);
}
